package dev.mcpresident

import java.util.concurrent.CompletableFuture
import java.util.concurrent.ForkJoinPool
import java.util.concurrent.RejectedExecutionException
import java.util.concurrent.TimeUnit

/**
 * Where the host's own code runs for one source: what it chained to futures, observers, progress. Its threads come when
 * there is work and end with the source.
 */
internal class Callbacks {
    private val pool = ForkJoinPool(
        MAX_THREADS,
        { pool -> ForkJoinPool.defaultForkJoinWorkerThreadFactory.newThread(pool).apply { name = "mcp-resident-callback" } },
        null,
        true,
        0,
        MAX_THREADS,
        1,
        null,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
    )

    fun run(action: () -> Unit) {
        try {
            pool.execute { harmless(action) }
        } catch (_: RejectedExecutionException) {
            // The source is closed: nobody is told any more.
        }
    }

    fun end() {
        pool.shutdown()
    }

    internal companion object {
        /** How many of the host's functions run at the same time. */
        private const val MAX_THREADS = 64
        private const val IDLE_SECONDS = 1L

        /** A host's function that fails ends nothing, and is reported. */
        fun harmless(action: () -> Unit) {
            try {
                action()
            } catch (failure: Throwable) {
                Thread.currentThread().run { uncaughtExceptionHandler.uncaughtException(this, failure) }
            }
        }
    }
}

/** Calls one function of the host with events or progress, in order. */
internal class Observer(private val callbacks: Callbacks, private val tell: (String) -> Unit) {
    private val waiting = ArrayDeque<String>()
    /** Null while nothing waits; done when nothing waits any more. */
    private var telling: CompletableFuture<Void?>? = null
    private var over = false

    fun add(told: String) {
        synchronized(this) {
            if (over || waiting.size == MAX_WAITING) return
            waiting.addLast(told)
            if (telling != null) return
            telling = CompletableFuture()
        }
        callbacks.run(::work)
    }

    /** Takes nothing further, and what waits is forgotten. */
    fun end(): Unit = synchronized(this) {
        over = true
        waiting.clear()
    }

    /** Is done when everything that was added has been told. */
    fun drained(): CompletableFuture<Void?> = synchronized(this) { telling } ?: CompletableFuture.completedFuture(null)

    private fun work() {
        while (true) {
            var done: CompletableFuture<Void?>? = null
            val next = synchronized(this) {
                waiting.removeFirstOrNull().also {
                    if (it == null) {
                        done = telling
                        telling = null
                    }
                }
            }
            if (next == null) {
                done?.complete(null)
                return
            }
            Callbacks.harmless { tell(next) }
        }
    }

    private companion object {
        /** How many wait for the function; the others are left out (SPEC 6.5). */
        private const val MAX_WAITING = 4_096
    }
}
