package dev.mcpresident

import java.lang.ref.Cleaner
import java.lang.ref.WeakReference
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.function.BiConsumer
import java.util.function.Consumer
import kotlinx.coroutines.future.await
import uniffi.mcp_resident.NativeSource
import uniffi.mcp_resident.NativeTool

/**
 * The servers of a configuration, kept usable until it is closed. It may be used from any thread.
 *
 * Each operation is a suspending function for Kotlin and, with `Async` behind its name, a future for Java.
 */
public class McpSource private constructor(
    private val native: NativeSource,
    private val lease: HubLease,
) : AutoCloseable {
    init {
        cleaner.register(this, lease)
    }

    private var version: ULong? = null
    private var list: List<Tool> = emptyList()
    private var byName: Map<String, Tool> = emptyMap()
    private val others = HashMap<ULong, WeakReference<Tool>>()

    /** The tools of all servers, as they are now. */
    public val tools: List<Tool> get() = synchronized(this) {
        renew()
        list
    }

    /** The tool that a model knows by this name. */
    public fun tool(name: String): Tool? = synchronized(this) {
        renew()
        byName[name]
    }

    /** How the newest attempt of each server ended: `connected`, `failed`, `disabled`. */
    @Suppress("UNCHECKED_CAST")
    public val status: Map<String, String> get() = Json.parse(native.status()) as Map<String, String>
    /** The names of all servers, in the order of the configuration. */
    public val servers: List<String> get() = native.servers()
    /** JSON: what is wrong in the configuration. */
    public val problemsJson: String get() = native.problems()

    /** A server's state: `stopped`, `starting`, `running` or `error`. */
    public fun state(server: String): String = guarded { native.state(server) }

    /** JSON: what is known of a server. */
    public fun infoJson(server: String): String = guarded { native.info(server) }

    /** What is known of a server: `state`, `status`, `processId`, `lastError` and more. */
    public fun info(server: String): Map<*, *> = Json.parse(infoJson(server)) as Map<*, *>

    /** JSON: the newest events after a sequence, oldest first; 0 gives all that are kept. */
    @JvmOverloads
    public fun eventsJson(after: Long = 0): String = native.events(after.toULong())

    /** JSON: `[server, tool]` behind a name for models. */
    public fun ownerOfJson(name: String): String? = native.ownerOf(name)

    /** The name for models of a server's tool. */
    public fun nameOf(server: String, tool: String): String? = native.nameOf(server, tool)

    /** Connects a server, unless that is done or under way. */
    public suspend fun start(server: String) {
        startAsync(server).await()
    }

    /** Disconnects a server and waits until nothing of it is left. Its tools stay listed. */
    public suspend fun stop(server: String) {
        stopAsync(server).await()
    }

    /** Disconnects a server and connects it again. Calls that run fail at once. */
    public suspend fun restart(server: String) {
        restartAsync(server).await()
    }

    /** Lists a server's tools again, or those of all that are connected. */
    public suspend fun refresh(server: String? = null) {
        refreshAsync(server).await()
    }

    /**
     * Takes a new configuration in the place of the one that is there; without one, reads the file again that was loaded.
     * What is started in the same way keeps its connection; this waits for the others as the load did. A configuration that
     * cannot be used as a whole is an error, and changes nothing (SPEC 2.22). JSON: `added`, `removed`, `restarted` and
     * `adjusted`, each the names of servers.
     *
     * @param config as for a load
     */
    public suspend fun reload(config: String? = null): String = reloadAsync(config).await()

    /** Waits until a server is in one of these states, for at most so long, and tells which. */
    public suspend fun waitFor(server: String, states: Collection<String>, timeout: Duration): String =
        waitForAsync(server, states, timeout).await()

    /** Disconnects every server and waits until nothing of them is left. Closing again is harmless. */
    public suspend fun shut() {
        closeAsync().await()
    }

    /** As [start]. */
    @JvmOverloads
    public fun startAsync(server: String, cancellation: Cancellation? = null): CompletableFuture<Void?> =
        begin(cancellation) { native.start(it.queue, server) }.then { null }

    /** As [stop]. */
    public fun stopAsync(server: String): CompletableFuture<Void?> = begin(null) { native.stop(it.queue, server) }.then { null }

    /** As [restart]. */
    @JvmOverloads
    public fun restartAsync(server: String, cancellation: Cancellation? = null): CompletableFuture<Void?> =
        begin(cancellation) { native.restart(it.queue, server) }.then { null }

    /** As [refresh]. */
    @JvmOverloads
    public fun refreshAsync(server: String? = null): CompletableFuture<Void?> =
        begin(null) { native.refresh(it.queue, server) }.then { null }

    /** As [reload]. */
    @JvmOverloads
    public fun reloadAsync(config: String? = null, cancellation: Cancellation? = null): CompletableFuture<String> =
        begin(cancellation) { native.reload(it.queue, config) }.then { it.value!! }

    /** As [waitFor]. */
    public fun waitForAsync(server: String, states: Collection<String>, timeout: Duration): CompletableFuture<String> =
        begin(null) { native.waitFor(it.queue, server, states.toList(), timeout.inMilliseconds()) }
            .then { Json.parse(it.value!!) as String }

    /** As [shut]. It is not cut short, which would leave processes behind. */
    public fun closeAsync(): CompletableFuture<Void?> = begin(null) { native.shut(it.queue) }.thenCompose {
        val last = lease.retire()
        val drained = last?.drained() ?: CompletableFuture.completedFuture<Void>(null)
        drained.handle<Void?> { _, _ ->
            last?.release()
            null
        }
    }

    /** Closes, and waits for it: for `use` and try-with-resources. */
    override fun close() {
        closeAsync().join()
    }

    /** Calls [observer] with server and state at each change, in order, on a thread of this library's. Closing what it returns ends that. */
    public fun onStateChange(observer: BiConsumer<String, String>): AutoCloseable = observe("states") { event ->
        val members = Json.parse(event) as Map<*, *>
        observer.accept(members["server"] as String, members["to"] as String)
    }

    /** Calls [observer] with the server's name when its part of the list changed. */
    public fun onToolsChange(observer: Consumer<String>): AutoCloseable =
        observe("tools") { observer.accept((Json.parse(it) as Map<*, *>)["server"] as String) }

    /** Calls [observer] with the JSON of each event, in order. */
    public fun onEvent(observer: Consumer<String>): AutoCloseable = observe("events", observer::accept)

    internal fun use(): Hub = lease.use()

    internal fun begin(cancellation: Cancellation?, start: (Hub) -> ULong): CompletableFuture<Outcome> {
        val used = use()
        return try {
            used.begin(cancellation) { start(used) }
        } catch (failure: McpException) {
            CompletableFuture.failedFuture(failure)
        } finally {
            used.release()
        }
    }

    private fun observe(interest: String, tell: (String) -> Unit): AutoCloseable {
        val used = use()
        try {
            // With the source: while it is observed it is not collected, which would close it.
            return used.observe(native, interest) { event -> this.let { tell(event) } }
        } finally {
            used.release()
        }
    }

    /** The tool of an exchange, the same object as in the list where it is there; others are remembered while somebody has them. */
    internal fun hold(tool: NativeTool): Tool = synchronized(this) {
        renew()
        val id = tool.facts().id
        val known = list.firstOrNull { it.id == id } ?: others[id]?.get()
        if (known != null) tool.close()
        others.values.removeIf { it.get() == null }
        known ?: Tool(tool, this).also { others[id] = WeakReference(it) }
    }

    private fun renew() {
        val now = native.toolsVersion()
        if (now == version) return
        val known = list.associateBy { it.id }
        list = native.tools().map { tool -> known[tool.facts().id]?.also { tool.close() } ?: Tool(tool, this) }
        byName = list.associateBy { it.name }
        version = now
    }

    public companion object {
        private val cleaner = Cleaner.create()

        /**
         * Connects every server of a configuration and lists its tools. A server that cannot be connected is `failed` and costs
         * the others nothing. Cancelling the coroutine ends the load and leaves nothing of it.
         *
         * @param config the path of an `mcp.json`, or its content as JSON that begins with `{`
         */
        public suspend fun load(config: String, options: LoadOptions = LoadOptions()): McpSource = loadAsync(config, options).await()

        /** The same as a future. */
        @JvmStatic
        @JvmOverloads
        public fun loadAsync(
            config: String,
            options: LoadOptions = LoadOptions(),
            cancellation: Cancellation? = null,
        ): CompletableFuture<McpSource> {
            val hub = Hub(options.waitFor)
            return started(hub) { hub.begin(cancellation) { hub.queue.load(config, options.form(), options.waitFor != null) } }
                .then { McpSource(it.source!!, HubLease(hub)) }
        }

        /** Connects every server that is not disabled, lists its tools, and disconnects. JSON: a list of entries. */
        public suspend fun listTools(config: String, options: LoadOptions = LoadOptions()): String = listToolsAsync(config, options).await()

        /** The same as a future. */
        @JvmStatic
        @JvmOverloads
        public fun listToolsAsync(config: String, options: LoadOptions = LoadOptions()): CompletableFuture<String> {
            val hub = Hub(options.waitFor)
            val listed = started(hub) { hub.begin(null) { hub.queue.inventory(config, options.form(), options.waitFor != null) } }
            return listed.then { hub.release().let { _ -> it.value!! } }
        }

        /** The source of a session, whose deliveries arrive there. */
        internal fun of(native: NativeSource, hub: Hub): McpSource = McpSource(native, HubLease(hub))

        /** What fails gives the hub back. */
        internal fun started(hub: Hub, start: () -> CompletableFuture<Outcome>): CompletableFuture<Outcome> {
            val work = try {
                start()
            } catch (failure: McpException) {
                CompletableFuture.failedFuture(failure)
            }
            work.whenComplete { _, failure -> if (failure != null) hub.release() }
            return work
        }
    }
}
