package dev.mcpresident

import uniffi.mcp_resident.NativeFailure

/**
 * A failure of loading, starting, restarting, listing or closing. A failed call is a [ToolResult] instead.
 *
 * @property code the stable code, the same in every language; one of [ErrorCode]
 * @property server the server that failed, or null when no server did
 */
public class McpException(public val code: String, message: String, public val server: String? = null) : RuntimeException(message)

/** The codes of [McpException]; SPEC section 5. */
public object ErrorCode {
    public const val CONFIG: String = "config"
    public const val UNKNOWN_SERVER: String = "unknown_server"
    public const val DISABLED: String = "disabled"
    public const val SPAWN: String = "spawn"
    public const val CONNECT: String = "connect"
    public const val NEEDS_AUTH: String = "needs_auth"
    public const val PROTOCOL: String = "protocol"
    public const val DROPPED: String = "dropped"
    public const val TIMEOUT: String = "timeout"
    public const val CANCELLED: String = "cancelled"
    public const val CLOSED: String = "closed"
    public const val FORKED: String = "forked"
    public const val INTERNAL: String = "internal"

    /** All of them, in the order of SPEC's table. */
    @JvmField
    public val ALL: List<String> = listOf(
        CONFIG, UNKNOWN_SERVER, DISABLED, SPAWN, CONNECT, NEEDS_AUTH, PROTOCOL, DROPPED, TIMEOUT, CANCELLED, CLOSED, FORKED, INTERNAL,
    )
}

/** What the native half throws, as this package throws it. */
internal inline fun <T> guarded(call: () -> T): T = try {
    call()
} catch (failure: NativeFailure.Failed) {
    throw McpException(failure.code, failure.detail, failure.server)
}
