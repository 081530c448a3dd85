package dev.mcpresident

import java.util.concurrent.CancellationException
import java.util.concurrent.CompletableFuture
import uniffi.mcp_resident.NativeDelivery
import uniffi.mcp_resident.NativeExchange
import uniffi.mcp_resident.NativeQueue
import uniffi.mcp_resident.NativeSession
import uniffi.mcp_resident.NativeSource
import uniffi.mcp_resident.shutDown

/** How an operation ended well: an object, a result, or a value as JSON. */
internal class Outcome(
    val source: NativeSource? = null,
    val session: NativeSession? = null,
    val exchange: NativeExchange? = null,
    val result: ToolResult? = null,
    val value: String? = null,
)

/**
 * Takes what arrives from the native half, on one thread, as long as somebody uses it. There is one for each open source: it
 * is made by the load and ends with the close, when its last use is released.
 */
internal class Hub(private val waitFor: WaitFor?) {
    val queue = NativeQueue()
    private val callbacks = Callbacks()
    private val waiting = HashMap<ULong, CompletableFuture<Outcome>>()
    /** Of events by subscription, and of progress by operation; no two of these ids are the same. */
    private val observers = HashMap<ULong, Observer>()
    private val questions = HashMap<ULong, CompletableFuture<*>>()
    private var users = 1

    init {
        synchronized(living) { living.add(this) }
        Thread(::run, "mcp-resident").apply { isDaemon = true }.start()
    }

    fun retain() {
        synchronized(this) { users++ }
    }

    /** Gives up a use. With the last one the queue is shut, and its thread ends. */
    fun release() {
        val last = synchronized(this) { --users == 0 }
        if (last) {
            synchronized(living) { living.remove(this) }
            queue.shut()
            callbacks.end()
        }
    }

    /** Starts an operation. Cancelling the future that comes back cancels it; a [cancellation] leaves it its outcome. */
    fun begin(cancellation: Cancellation?, told: ((String) -> Unit)? = null, start: () -> ULong): CompletableFuture<Outcome> {
        val done: CompletableFuture<Outcome>
        val operation: ULong
        synchronized(this) {
            // Under the lock, so that the outcome finds who waits for it.
            operation = guarded(start)
            done = CancellingFuture { queue.cancel(operation) }
            waiting[operation] = done
            if (told != null) observers[operation] = Observer(callbacks, told)
            users++
        }
        val cancel: () -> Unit = { queue.cancel(operation) }
        cancellation?.begin(cancel)
        done.whenComplete { _, _ ->
            cancellation?.end(cancel)
            release()
        }
        return done
    }

    fun observe(source: NativeSource, interest: String, tell: (String) -> Unit): AutoCloseable = synchronized(this) {
        val subscription = guarded { source.subscribe(queue, interest) }
        val observer = Observer(callbacks, tell)
        observers[subscription] = observer
        AutoCloseable {
            observer.end()
            source.unsubscribe(subscription)
            synchronized(this) { observers.remove(subscription) }
        }
    }

    /** Is done when every observer has been told of everything. */
    fun drained(): CompletableFuture<Void> = synchronized(this) {
        val tails = observers.values.map { it.drained() }
        observers.clear()
        CompletableFuture.allOf(*tails.toTypedArray())
    }

    private fun run() {
        while (!queue.isShut()) {
            for (delivery in queue.next(FOR_EVER_MS)) hand(delivery)
        }
    }

    private fun hand(delivery: NativeDelivery) {
        when (delivery) {
            is NativeDelivery.Loaded -> ended(delivery.operation) { it.complete(Outcome(source = delivery.source)) }
            is NativeDelivery.Opened -> ended(delivery.operation) { it.complete(Outcome(session = delivery.session)) }
            is NativeDelivery.Exchanged -> ended(delivery.operation) { it.complete(Outcome(exchange = delivery.exchange)) }
            is NativeDelivery.Called -> ended(delivery.operation) {
                it.complete(Outcome(result = ToolResult(delivery.output, delivery.isError, delivery.metadata, delivery.raw)))
            }
            is NativeDelivery.Done -> ended(delivery.operation) { it.complete(Outcome(value = delivery.value)) }
            is NativeDelivery.Failed -> ended(delivery.operation) {
                it.completeExceptionally(McpException(delivery.code, delivery.detail, delivery.server))
            }
            is NativeDelivery.Progress -> observer(delivery.operation)?.add(delivery.params)
            is NativeDelivery.Event -> observer(delivery.subscription)?.add(delivery.event)
            is NativeDelivery.Question -> ask(delivery.question, delivery.request)
            is NativeDelivery.QuestionEnded -> {
                val asked = synchronized(this) { questions[delivery.question] }
                if (asked != null) callbacks.run { asked.cancel(true) }
            }
            is NativeDelivery.Missed -> {}
        }
    }

    private fun observer(id: ULong) = synchronized(this) { observers[id] }

    /** Completes as a callback, since what a host has chained to a future is the host's code; and when all progress was told. */
    private fun ended(operation: ULong, complete: (CompletableFuture<Outcome>) -> Unit) {
        val done: CompletableFuture<Outcome>?
        val progress: Observer?
        synchronized(this) {
            done = waiting.remove(operation)
            progress = observers.remove(operation)
        }
        if (done == null) return
        if (progress == null) callbacks.run { complete(done) } else progress.drained().thenRun { callbacks.run { complete(done) } }
    }

    /** On a thread of its own: a person may take minutes. */
    private fun ask(question: ULong, form: String) {
        retain()
        val answering = Thread {
            var id = ""
            val asked: CompletableFuture<Answer> = try {
                val request = Request(form)
                id = request.id
                waitFor!!.ask(request).toCompletableFuture()
            } catch (failure: Throwable) {
                CompletableFuture.failedFuture(failure)
            }
            synchronized(this) { questions[question] = asked }
            asked.whenComplete { answer, failure ->
                synchronized(this) { questions.remove(question) }
                // A host that fails has not agreed.
                queue.answer(question, id, answer?.form ?: "null")
                release()
                if (failure != null && failure !is CancellationException) Callbacks.harmless { throw failure }
            }
        }
        answering.name = "mcp-resident-question"
        answering.isDaemon = true
        answering.start()
    }

    internal companion object {
        private const val FOR_EVER_MS: ULong = 3_600_000u
        /** A little more than the limit of a whole close. */
        private const val EXIT_LIMIT_MS: ULong = 7_000u
        private val living = HashSet<Hub>()

        init {
            // Servers of a program that forgot to close them end with it.
            Runtime.getRuntime().addShutdownHook(Thread {
                shutDown(EXIT_LIMIT_MS)
                synchronized(living) { living.toList() }.forEach { it.queue.shut() }
            })
        }
    }
}

/**
 * A source's hold of its hub, apart from the source: the cleaner lets go of the hub when a source is collected that was not
 * closed.
 */
internal class HubLease(private var hub: Hub?) : Runnable {
    /** A use of the hub, which the caller releases. A closed source answers through one that lasts for the answer. */
    fun use(): Hub = synchronized(this) { hub?.also { it.retain() } } ?: Hub(null)

    /** Takes the hub away. Only the first caller gets it. */
    fun retire(): Hub? = synchronized(this) { hub.also { hub = null } }

    override fun run() {
        retire()?.release()
    }
}

/** Cancelling it cancels what it stands for. */
private class CancellingFuture<T>(private val onCancel: () -> Unit) : CompletableFuture<T>() {
    override fun cancel(mayInterruptIfRunning: Boolean): Boolean {
        // First, since what is cancelled ends at once with an outcome of its own.
        val cancelled = super.cancel(mayInterruptIfRunning)
        onCancel()
        return cancelled
    }
}

/** A future of another value, whose cancellation reaches the first one. */
internal fun <T, R> CompletableFuture<T>.then(convert: (T) -> R): CompletableFuture<R> {
    val first = this
    val second = CancellingFuture<R> { first.cancel(true) }
    first.whenComplete { value, failure ->
        if (failure != null) second.completeExceptionally(failure)
        else try {
            second.complete(convert(value))
        } catch (failed: Throwable) {
            second.completeExceptionally(failed)
        }
    }
    return second
}
