package dev.mcpresident

import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.function.Consumer
import kotlinx.coroutines.future.await
import uniffi.mcp_resident.NativeTool

/**
 * What a call gave: the text for a model, and everything that came with it.
 *
 * @property output the text for a model
 * @property isError whether the call failed, for whatever reason
 * @property metadataJson `server`, `tool`, `error` when it failed, `fullOutput` and `files` when something was cut or saved (SPEC 2.23), as JSON
 * @property raw the whole result as the JSON text that the server sent; null when it sent none
 */
public class ToolResult internal constructor(
    public val output: String,
    public val isError: Boolean,
    public val metadataJson: String,
    public val raw: String?,
) {
    /** The same as [metadataJson], read. */
    public val metadata: Map<*, *> by lazy { Json.parse(metadataJson) as Map<*, *> }

    /** Why it failed, such as `tool`, `dropped` or `timeout`; null when it did not. */
    public val errorKind: String? get() = (metadata["error"] as Map<*, *>?)?.get("kind") as String?

    override fun toString(): String = "ToolResult(isError=$isError, output=${output.take(60)})"
}

/**
 * What a caller may say about one call.
 *
 * @property timeout how long the server may be silent; progress starts it anew; null takes the server's own
 * @property onProgress is told of the `params` of each notification as JSON, in order and before the result
 * @property cancellation ends the call with a result of kind `cancelled`
 */
public class CallOptions @JvmOverloads constructor(
    @JvmField public var timeout: Duration? = null,
    @JvmField public var onProgress: Consumer<String>? = null,
    @JvmField public var cancellation: Cancellation? = null,
)

/** One tool of one server, under the name that a model sees. It is the same object as long as its definition is. */
public class Tool internal constructor(
    private val native: NativeTool,
    /** Who has only a tool still has its source, which is closed when it is collected. */
    private val owner: McpSource,
) {
    private val facts = native.facts()

    /** The name for a model: at most 64 characters of `[A-Za-z0-9_-]`, unique in its source. */
    public val name: String get() = facts.name
    /** What the tool does, in the server's words. */
    public val description: String get() = facts.description
    /** The tool's title for people. */
    public val title: String? get() = facts.title
    /** The server's name in the configuration. */
    public val server: String get() = facts.server
    /** The tool's own name on its server. */
    public val serverTool: String get() = facts.serverTool
    /** JSON: the schema of arguments for a model, a closed object. */
    public val inputSchema: String get() = native.schema("input") ?: "{}"
    /** JSON: the schema of arguments as the server gave it. */
    public val serverSchema: String get() = native.schema("server") ?: "{}"
    /** JSON: the schema of structured content, when the server gave one. */
    public val outputSchema: String? get() = native.schema("output")
    /** JSON: the server's hints about the tool, which are claims and not facts. */
    public val annotations: String? get() = native.schema("annotations")

    /**
     * Calls the tool. What a server did never fails the call: every failure is a result with [ToolResult.isError].
     * Cancelling the coroutine cancels the call.
     *
     * @param arguments null, the JSON text of an object, a [Json.Raw], or a map
     */
    public suspend fun execute(arguments: Any? = null, options: CallOptions = CallOptions()): ToolResult =
        executeAsync(arguments, options).await()

    /** The same as a future. Cancelling it cancels the call. */
    @JvmOverloads
    public fun executeAsync(arguments: Any? = null, options: CallOptions = CallOptions()): CompletableFuture<ToolResult> {
        val given = arguments as? String ?: arguments?.let(Json::write)
        val told = options.onProgress?.let { { params: String -> it.accept(params) } }
        val hub = owner.use()
        try {
            val call = hub.begin(options.cancellation, told) {
                native.execute(hub.queue, given, options.timeout?.inMilliseconds(), told != null)
            }
            // The owner stays until the call has ended.
            return call.then { owner.let { _ -> it.result!! } }
        } finally {
            hub.release()
        }
    }

    internal val id: ULong get() = facts.id
}
