package dev.mcpresident

import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CompletionStage

/**
 * What a host chooses. Without any of it nothing restarts, nothing is followed, and everything is inherited.
 *
 * @property waitFor asks a person on behalf of a server; only with it are servers told that they may ask
 * @property resident one switch for hosts that run for days: restart, live list, safe environment, expansion in all fields
 * @property autoRestart whether a lost server is started again by itself
 * @property maxRetries with [autoRestart]: attempts in a row
 * @property backoff with [autoRestart]: the wait before the second attempt
 * @property liveToolList whether a list that a server says it changed is fetched again
 * @property defaultInheritEnv the variables that servers without their own `inheritEnv` inherit
 * @property expand which fields are expanded: `headers` or `all`
 * @property wait for how many servers the load waits: `all`, `ready`, `none`
 * @property waitAtMost in place of [wait]: for all servers, but no longer than this
 * @property baseDir what relative paths are relative to
 * @property cacheDir where listings of lazy servers are kept
 * @property spillDir where results are saved that are longer than `maxOutputBytes`, or no text, until the close (SPEC 2.23)
 * @property logDir where `mcp.log` is written: what happens to servers, what they log, and their standard error (SPEC 2.24)
 * @property environment the variables that servers see; unset, those of the JVM
 * @property secretCommands whether values that begin with `!` are run as commands
 * @property limits limits by the keys of SPEC section 4; the unit is in the key's name
 * @property guardian whether a host that is killed takes its servers with it; on unless this says no
 * @property replayRepeatableCalls sends a call again that was running when the connection was lost, when its tool says that this does no harm
 * @property validateArguments checks the arguments of each call with its tool's own schema before anything is sent (SPEC 2.21)
 * @property clientName how this host introduces itself
 * @property clientVersion with [clientName]: its version
 */
public class LoadOptions @JvmOverloads constructor(
    @JvmField public var resident: Boolean? = null,
    @JvmField public var waitFor: WaitFor? = null,
    @JvmField public var autoRestart: Boolean? = null,
    @JvmField public var maxRetries: Int? = null,
    @JvmField public var backoff: Duration? = null,
    @JvmField public var liveToolList: Boolean? = null,
    @JvmField public var defaultInheritEnv: List<String>? = null,
    @JvmField public var expand: String? = null,
    @JvmField public var wait: String? = null,
    @JvmField public var waitAtMost: Duration? = null,
    @JvmField public var baseDir: String? = null,
    @JvmField public var cacheDir: String? = null,
    @JvmField public var environment: Map<String, String>? = null,
    @JvmField public var secretCommands: Boolean? = null,
    @JvmField public var limits: Map<String, Long>? = null,
    @JvmField public var guardian: Boolean? = null,
    @JvmField public var replayRepeatableCalls: Boolean? = null,
    @JvmField public var validateArguments: Boolean? = null,
    @JvmField public var clientName: String? = null,
    @JvmField public var clientVersion: String? = null,
    @JvmField public var spillDir: String? = null,
    @JvmField public var logDir: String? = null,
) {
    internal fun form(): String = Json.write(members())

    internal fun members(): Map<String, Any?> =
        linkedMapOf(
            "resident" to resident,
            "autoRestart" to restart(),
            "liveToolList" to liveToolList,
            "defaultInheritEnv" to defaultInheritEnv,
            "expand" to expand,
            "wait" to (waitAtMost?.toMillis() ?: wait),
            "baseDir" to baseDir,
            "cacheDir" to cacheDir,
            "spillDir" to spillDir,
            "logDir" to logDir,
            // The JVM keeps a copy of the environment of its own; what a host sees is what its servers see.
            "environment" to (environment ?: System.getenv()),
            "secretCommands" to secretCommands,
            "limits" to limits,
            "guardian" to guardian,
            "replayRepeatableCalls" to replayRepeatableCalls,
            "validateArguments" to validateArguments,
            "clientInfo" to clientName?.let { mapOf("name" to it, "version" to (clientVersion ?: "")) },
        )

    private fun restart(): Any? =
        if (autoRestart == false || (maxRetries == null && backoff == null)) autoRestart
        else mapOf("maxRetries" to maxRetries, "backoffMs" to backoff?.toMillis())
}

/** With parts of one, so that nothing is rounded to none. */
internal fun Duration.inMilliseconds(): Double = seconds * 1e3 + nano / 1e6

/** What a server asks a person. [form] is all of it as JSON. */
public class Request internal constructor(@JvmField public val form: String) {
    private val members = Json.parse(form) as Map<*, *>

    /** Names the question. */
    public val id: String get() = members["id"] as String
    /** `input` or `authorization`. */
    public val kind: String get() = members["kind"] as String
    /** The server's own words. */
    public val prompt: String get() = members["prompt"] as String
    /** Where the person is to go, for `authorization`. Show it whole, and open it only when the person agrees. */
    public val url: String? get() = members["url"] as String?
    /** For `input`, an object whose `schema` says which answer fits. */
    public val data: Map<*, *>? get() = members["data"] as Map<*, *>?
    /** When the question ends without an answer, in milliseconds since 1970. */
    public val expiresAt: Long get() = members["expiresAt"] as Long
}

/** A person's answer. */
public class Answer private constructor(ok: Boolean, data: Any?, reason: String?) {
    internal val form: String = Json.write(mapOf("ok" to ok, "data" to data, "reason" to reason))

    public companion object {
        /** The person agreed; [data] are the values for a form. */
        @JvmStatic
        @JvmOverloads
        public fun accept(data: Any? = null): Answer = Answer(true, data, null)

        /** The person did not agree: `declined`, `cancelled` or `expired`. */
        @JvmStatic
        @JvmOverloads
        public fun refuse(reason: String = "declined"): Answer = Answer(false, null, reason)
    }
}

/**
 * Asks a person, and may take as long as the person does. It is called on a thread of its own, so it may block and return a
 * future that is done. What it returns is cancelled when no answer is needed any more. One that fails has not agreed.
 */
public fun interface WaitFor {
    public fun ask(request: Request): CompletionStage<Answer>

    public companion object {
        /** From a function that blocks until there is an answer. */
        @JvmStatic
        public fun blocking(ask: java.util.function.Function<Request, Answer>): WaitFor =
            WaitFor { request -> CompletableFuture.completedFuture(ask.apply(request)) }
    }
}

/** Cancels whatever it is given to: loads, starts, restarts, calls. A cancelled call still has a result. Works from any thread. */
public class Cancellation {
    private val running = HashSet<() -> Unit>()
    private var cancelled = false

    /** Cancels what runs with it, and what is started with it later. */
    public fun cancel() {
        val due = synchronized(running) {
            cancelled = true
            running.toList()
        }
        due.forEach { it() }
    }

    internal fun begin(cancel: () -> Unit) {
        val late = synchronized(running) {
            running.add(cancel)
            cancelled
        }
        if (late) cancel()
    }

    internal fun end(cancel: () -> Unit) {
        synchronized(running) { running.remove(cancel) }
    }
}
