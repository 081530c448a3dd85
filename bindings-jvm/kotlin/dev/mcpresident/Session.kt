package dev.mcpresident

import java.time.Duration
import java.util.concurrent.CompletableFuture
import kotlinx.coroutines.future.await
import uniffi.mcp_resident.NativeExchange
import uniffi.mcp_resident.NativeSession

/**
 * What a session chooses. What is left out is what sessions want (SPEC 7.3).
 *
 * @property baseDir what relative paths of both files are relative to
 * @property projectTrust what of the project's file may be started
 * @property userConfig the user's file; one that is not there has no servers
 * @property projectConfig the project's file, laid over the user's
 * @property exposure how tools are shown whose server says nothing about it: `direct`, `hidden` or `deferred`
 * @property exchangeWait how long an exchange waits for servers that are new or changed; 10 s when it is left out
 * @property load everything else; its `baseDir` and `wait` mean nothing
 */
public class SessionOptions @JvmOverloads constructor(
    @JvmField public var baseDir: String,
    @JvmField public var projectTrust: ProjectTrust = ProjectTrust.NOTHING,
    @JvmField public var userConfig: String? = null,
    @JvmField public var projectConfig: String? = null,
    @JvmField public var exposure: String? = null,
    @JvmField public var exchangeWait: Duration? = null,
    @JvmField public var load: LoadOptions = LoadOptions(),
) {
    internal fun form(): String = Json.write(
        load.members() + mapOf(
            "baseDir" to baseDir,
            "projectTrust" to projectTrust.form,
            "userConfig" to userConfig,
            "projectConfig" to projectConfig,
            "exposure" to exposure,
            "exchangeWaitMs" to exchangeWait?.toMillis(),
        ),
    )
}

/** What of a project's file may be started. */
public class ProjectTrust private constructor(internal val form: Any) {
    public companion object {
        /** Everything. */
        @JvmField
        public val ALL: ProjectTrust = ProjectTrust("all")

        /** Nothing. */
        @JvmField
        public val NOTHING: ProjectTrust = ProjectTrust("nothing")

        /** What has one of these fingerprints, which a person allowed. */
        @JvmStatic
        public fun only(fingerprints: Collection<String>): ProjectTrust = ProjectTrust(fingerprints.toList())
    }
}

/** The tools of one exchange. They stay as they are, whatever servers do meanwhile. */
public class Exchange internal constructor(private val native: NativeExchange, private val source: McpSource) {
    /** The tools to declare to the model, in an order that changes as little as it can. */
    public val tools: List<Tool> = native.tools().map(source::hold)

    /** A tool by its name for models, hidden and deferred ones included. */
    public fun tool(name: String): Tool? = native.tool(name)?.let(source::hold)
}

/**
 * The servers of a user and a project, used over many exchanges with a model, until it is closed. Each operation is a
 * suspending function for Kotlin and, with `Async` behind its name, a future for Java.
 *
 * @property source the servers: their states, events and problems, and what can be done to each
 */
public class Session private constructor(
    private val native: NativeSession,
    public val source: McpSource,
) : AutoCloseable {
    /** JSON: what the project's file would start and is not trusted: a list of `name`, `launchLine` and `fingerprint`. */
    public val untrustedJson: String get() = native.untrusted()

    /** Begins an exchange: waits for servers that are new or changed, and pins the tools that there are then. */
    public suspend fun exchange(): Exchange = exchangeAsync().await()

    /** Reads the files again. What changed counts from the next exchange on. JSON as of [McpSource.reload]. */
    public suspend fun reload(): String = reloadAsync().await()

    /** Decides anew what of the project's file may be started, and reads the files again. */
    public suspend fun trust(choice: ProjectTrust): String = trustAsync(choice).await()

    /** Ends the session: nothing of its servers is left afterwards. Closing again is harmless. */
    public suspend fun shut(): Unit = source.shut()

    /** As [exchange]. */
    @JvmOverloads
    public fun exchangeAsync(cancellation: Cancellation? = null): CompletableFuture<Exchange> =
        source.begin(cancellation) { native.exchange(it.queue) }.then { Exchange(it.exchange!!, source) }

    /** As [reload]. */
    public fun reloadAsync(): CompletableFuture<String> = source.begin(null) { native.reload(it.queue) }.then { it.value!! }

    /** As [trust]. */
    public fun trustAsync(choice: ProjectTrust): CompletableFuture<String> =
        source.begin(null) { native.trust(it.queue, Json.write(choice.form)) }.then { it.value!! }

    /** As [shut]. */
    public fun closeAsync(): CompletableFuture<Void?> = source.closeAsync()

    /** Closes, and waits for it: for `use` and try-with-resources. */
    override fun close() {
        source.close()
    }

    public companion object {
        /**
         * Reads the files of a session and connects their servers in the background (SPEC section 7). A file or an entry that
         * cannot be used is among the source's problems.
         */
        public suspend fun open(options: SessionOptions): Session = openAsync(options).await()

        /** The same as a future. */
        @JvmStatic
        @JvmOverloads
        public fun openAsync(options: SessionOptions, cancellation: Cancellation? = null): CompletableFuture<Session> {
            val waitFor = options.load.waitFor
            val hub = Hub(waitFor)
            val opened = McpSource.started(hub) {
                hub.begin(cancellation) { hub.queue.session(options.form(), waitFor != null) }
            }
            return opened.then { Session(it.session!!, McpSource.of(it.session.source(), hub)) }
        }
    }
}
