package dev.mcpresident

import java.util.concurrent.CompletableFuture
import java.util.concurrent.CompletionStage
import java.util.concurrent.ForkJoinPool
import uniffi.mcp_resident.NativeDelivery
import uniffi.mcp_resident.NativeQueue
import uniffi.mcp_resident.NativeSource
import uniffi.mcp_resident.shutDown

/** How an operation ended well: a source, a result, or a value as JSON. */
internal class Outcome(val source: NativeSource? = null, val result: ToolResult? = null, val value: String? = null)

/**
 * Takes what arrives from the native half, on one thread, as long as somebody uses it. There is one for each open source: it
 * is made by the load and ends with the close, when its last use is released.
 */
internal class Hub(private val waitFor: WaitFor?) {
    val queue = NativeQueue()
    private val waiting = HashMap<ULong, CompletableFuture<Outcome>>()
    private val progress = HashMap<ULong, (String) -> Unit>()
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
            if (told != null) progress[operation] = told
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
        Observer(source, subscription, tell).also { observers[subscription] = it }
    }

    /** Is done when every observer has been told of everything. */
    fun drained(): CompletableFuture<Void> = synchronized(this) {
        val tails = observers.values.map { it.tail }
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
            is NativeDelivery.Called -> ended(delivery.operation) {
                it.complete(Outcome(result = ToolResult(delivery.output, delivery.isError, delivery.metadata, delivery.raw)))
            }
            is NativeDelivery.Done -> ended(delivery.operation) { it.complete(Outcome(value = delivery.value)) }
            is NativeDelivery.Failed -> ended(delivery.operation) {
                it.completeExceptionally(McpException(delivery.code, delivery.detail, delivery.server))
            }
            is NativeDelivery.Progress -> {
                val told = synchronized(this) { progress[delivery.operation] }
                harmless { told?.invoke(delivery.params) }
            }
            is NativeDelivery.Event -> synchronized(this) { observers[delivery.subscription] }?.add(delivery.event)
            is NativeDelivery.Question -> ask(delivery.question, Request(delivery.request))
            is NativeDelivery.QuestionEnded -> {
                val asked = synchronized(this) { questions[delivery.question] }
                if (asked != null) callbacks.execute { harmless { asked.cancel(true) } }
            }
            is NativeDelivery.Missed -> {}
        }
    }

    /** Completes on the executor: what a host has chained to a future is the host's code. */
    private fun ended(operation: ULong, complete: (CompletableFuture<Outcome>) -> Unit) {
        val done = synchronized(this) {
            progress.remove(operation)
            waiting.remove(operation)
        }
        if (done != null) callbacks.execute { complete(done) }
    }

    /** On a thread of its own: a person may take minutes. */
    private fun ask(question: ULong, request: Request) {
        retain()
        val answering = Thread {
            val asked: CompletionStage<Answer> = try {
                waitFor!!.ask(request)
            } catch (failure: Throwable) {
                CompletableFuture.failedFuture(failure)
            }
            val future = asked.toCompletableFuture()
            synchronized(this) { questions[question] = future }
            future.whenComplete { answer, _ ->
                synchronized(this) { questions.remove(question) }
                queue.answer(question, request.id, answer?.form ?: "null")
                release()
            }
        }
        answering.name = "mcp-resident-question"
        answering.isDaemon = true
        answering.start()
    }

    /** Tells one function of events, in order, on the executor. */
    private inner class Observer(
        private val source: NativeSource,
        private val subscription: ULong,
        private val tell: (String) -> Unit,
    ) : AutoCloseable {
        @Volatile private var over = false

        /** Changed by the hub's thread only. */
        @Volatile var tail: CompletableFuture<Void> = CompletableFuture.completedFuture(null)
            private set

        fun add(event: String) {
            tail = tail.thenRunAsync({ if (!over) harmless { tell(event) } }, callbacks)
        }

        override fun close() {
            over = true
            source.unsubscribe(subscription)
            synchronized(this@Hub) { observers.remove(subscription) }
        }
    }

    internal companion object {
        private const val FOR_EVER_MS: ULong = 3_600_000u
        /** A little more than the limit of a whole close. */
        private const val EXIT_LIMIT_MS: ULong = 7_000u
        private val living = HashSet<Hub>()

        /** Where the host's functions run. */
        val callbacks: ForkJoinPool = ForkJoinPool.commonPool()

        init {
            // Servers of a program that forgot to close them end with it.
            Runtime.getRuntime().addShutdownHook(Thread {
                shutDown(EXIT_LIMIT_MS)
                synchronized(living) { living.toList() }.forEach { it.queue.shut() }
            })
        }

        /** A host's function that fails ends nothing. */
        fun harmless(action: () -> Unit) {
            try {
                action()
            } catch (failure: Exception) {
                Thread.currentThread().run { uncaughtExceptionHandler.uncaughtException(this, failure) }
            }
        }
    }
}

/** Cancelling it cancels what it stands for. */
private class CancellingFuture<T>(private val onCancel: () -> Unit) : CompletableFuture<T>() {
    override fun cancel(mayInterruptIfRunning: Boolean): Boolean {
        onCancel()
        return super.cancel(mayInterruptIfRunning)
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
        } catch (failed: Exception) {
            second.completeExceptionally(failed)
        }
    }
    return second
}
