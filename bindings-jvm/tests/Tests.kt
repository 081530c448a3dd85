// Tests of what only the JVM can show. Prints `N passed, M failed`.

import dev.mcpresident.Answer
import dev.mcpresident.CallOptions
import dev.mcpresident.Cancellation
import dev.mcpresident.ErrorCode
import dev.mcpresident.Json
import dev.mcpresident.LoadOptions
import dev.mcpresident.McpException
import dev.mcpresident.McpSource
import dev.mcpresident.WaitFor
import java.io.File
import java.math.BigInteger
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.TimeUnit
import java.util.function.Consumer
import kotlin.concurrent.thread
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield

private fun fake(script: String = "{}") = Json.write(
    mapOf("mcpServers" to mapOf("s" to mapOf("command" to System.getenv("MCP_RESIDENT_FIXTURES"), "args" to listOf("fake", "--script", script)))),
)

private suspend fun <T> loaded(options: LoadOptions = LoadOptions(), use: suspend (McpSource) -> T): T {
    val source = McpSource.load(fake(), options)
    return try {
        use(source)
    } finally {
        source.shut()
    }
}

private suspend fun codeOf(work: suspend () -> Unit): String? = try {
    work()
    null
} catch (failure: McpException) {
    failure.code
}

private fun threadsNamed(prefix: String) = File("/proc/self/task").listFiles()!!.count { task ->
    runCatching { File(task, "comm").readText().startsWith(prefix) }.getOrDefault(false)
}

private val tests: Map<String, suspend () -> Unit> = mapOf(
    "two hundred calls from eight threads" to {
        loaded { source ->
            val echo = source.tool("s_echo")!!
            val right = java.util.concurrent.atomic.AtomicInteger()
            (0 until 8).map { thread ->
                thread {
                    repeat(25) { call ->
                        val text = "$thread/$call"
                        if (echo.executeAsync(mapOf("text" to text)).join().output == text) right.incrementAndGet()
                    }
                }
            }.forEach { it.join() }
            check(right.get() == 200) { right }
        }
    },
    "fifty calls in flight when the server is killed" to {
        loaded(LoadOptions(resident = true)) { source ->
            val calls = (0 until 50).map { source.tool("s_sleep")!!.executeAsync(mapOf("ms" to 60_000)) }
            // Answered behind the others, so all of them have been sent.
            source.tool("s_echo")!!.execute(mapOf("text" to "sent"))
            ProcessHandle.of(source.info("s")["processId"] as Long).get().destroyForcibly()
            calls.forEach { check(it.get(30, TimeUnit.SECONDS).errorKind == "dropped") { it } }
            check(source.tool("s_echo")!!.execute(mapOf("text" to "back")).output == "back")
        }
    },
    "cancelling a coroutine, a future and by token" to {
        loaded { source ->
            val sleep = source.tool("s_sleep")!!
            coroutineScope {
                val call = launch { sleep.execute(mapOf("ms" to 60_000)) }
                yield()
                call.cancelAndJoin()
            }
            val future = sleep.executeAsync(mapOf("ms" to 60_000))
            future.cancel(true)
            check(future.isCancelled)
            val token = Cancellation()
            val call = sleep.executeAsync(mapOf("ms" to 60_000), CallOptions(cancellation = token))
            token.cancel()
            check(call.get(30, TimeUnit.SECONDS).errorKind == "cancelled")
        }
        val token = Cancellation().also { it.cancel() }
        val load = McpSource.loadAsync(fake("""{"never_answer": ["initialize"]}"""), LoadOptions(), token)
        val failure = runCatching { load.get(30, TimeUnit.SECONDS) }.exceptionOrNull()!!.cause
        check((failure as McpException).code == ErrorCode.CANCELLED) { failure }
    },
    "observers are told before the close returns, and may fail" to {
        val source = McpSource.load(fake())
        val states = CopyOnWriteArrayList<String>()
        Thread.setDefaultUncaughtExceptionHandler { _, _ -> }
        source.onStateChange { _, state ->
            states.add(state)
            throw IllegalStateException("an observer's own")
        }
        var ended = 0
        source.onEvent { ended++ }.close()
        source.restart("s")
        source.close()
        source.close()
        check(states == listOf("stopped", "starting", "running", "stopped") && ended == 0) { states }
    },
    "progress is told before the result, and may fail" to {
        loaded { source ->
            val notices = java.util.concurrent.atomic.AtomicInteger()
            val told = Consumer<String> {
                notices.incrementAndGet()
                throw StackOverflowError("the host's own")
            }
            val result = source.tool("s_sleep")!!.execute(mapOf("ms" to 60, "progress_ms" to 10), CallOptions(onProgress = told))
            check(!result.isError && notices.get() >= 2) { notices }
        }
    },
    "a timeout that is given is never the server's own" to {
        loaded { source ->
            for (timeout in listOf(Duration.ofSeconds(-1), Duration.ZERO, Duration.ofNanos(1), Duration.ofMillis(1))) {
                val result = source.tool("s_sleep")!!.execute(mapOf("ms" to 60_000), CallOptions(timeout))
                check(result.errorKind == "timeout") { "$timeout: ${result.metadataJson}" }
            }
            check(codeOf { source.waitFor("s", listOf("stopped"), Duration.ofSeconds(-1)) } == ErrorCode.TIMEOUT)
        }
    },
    "deep values stay text" to {
        val deep = "[{\"]\":".repeat(400) + "0" + "}]".repeat(400)
        check(Json.write(Json.parse(deep)) == deep)
    },
    "a source that nobody closed ends when it is collected" to {
        fun forget() {
            McpSource.loadAsync(fake()).join()
        }
        forget()
        val end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30)
        while (threadsNamed("mcp-") > 0) {
            System.gc()
            check(System.nanoTime() < end) { threadsNamed("mcp-") }
            Thread.yield()
        }
    },
    "persons are asked" to {
        val persons = mapOf(
            "agrees" to WaitFor { CompletableFuture.completedFuture(Answer.accept(mapOf("name" to "Ada ${it.prompt}"))) },
            "at leisure" to WaitFor { CompletableFuture.supplyAsync { Answer.accept(mapOf("name" to "Ada ${it.prompt}")) } },
            "declines" to WaitFor.blocking { Answer.refuse() },
            "throws" to WaitFor { throw IllegalStateException("the host's own") },
        )
        for ((name, person) in persons) loaded(LoadOptions(waitFor = person)) { source ->
            val output = source.tool("s_elicit")!!.execute("""{"message":"who?"}""").output
            check(("Ada who?" in output) == name.startsWith("a")) { "$name: $output" }
        }
    },
    "progress comes before the result" to {
        loaded { source ->
            val seen = CopyOnWriteArrayList<String>()
            val result = source.tool("s_sleep")!!.execute(mapOf("ms" to 20, "progress_ms" to 5), CallOptions(onProgress = Consumer { seen.add(it) }))
            check(result.output == "slept" && seen.isNotEmpty()) { seen }
        }
    },
    "errors have a code" to {
        loaded { source -> check(codeOf { source.restart("nobody") } == ErrorCode.UNKNOWN_SERVER) }
        check(codeOf { McpSource.load("/nowhere/mcp.json") } == ErrorCode.CONFIG)
        val source = McpSource.load(fake())
        source.shut()
        check(codeOf { source.start("s") } == ErrorCode.CLOSED)
        check(source.tool("s_echo")!!.execute(mapOf("text" to "x")).errorKind == "closed")
        check(uniffi.mcp_resident.errorCodes() == ErrorCode.ALL)
    },
    "values are exact and tools stay the same" to {
        loaded { source ->
            val raw = """{"content":[{"type":"text","text":"\u0000"}],"structuredContent":{"big":18446744073709551616,"f":1e2}}"""
            check(source.tool("s_raw")!!.execute("""{"result":$raw}""").raw == raw)
            val value = (Json.parse(raw) as Map<*, *>)["structuredContent"] as Map<*, *>
            check(value["big"] == BigInteger.TWO.pow(64)) { value }
            val odd = "\u0000\u00e9\ud83d\ude00"
            check(source.tool("s_echo")!!.execute(mapOf("text" to odd)).output == odd)
            val tool = source.tool("s_echo")
            source.refresh()
            check(source.tool("s_echo") === tool && tool in source.tools && source.tool("nobody") == null)
            check(source.ownerOfJson("s_echo") == """["s","echo"]""" && source.nameOf("s", "echo") == "s_echo")
        }
    },
    "many coroutines at once" to {
        loaded { source ->
            val echo = source.tool("s_echo")!!
            val outputs = coroutineScope { (0 until 200).map { async { echo.execute(mapOf("text" to "$it")).output } }.awaitAll() }
            check(outputs == (0 until 200).map { "$it" })
        }
    },
    "nothing is left after the close" to {
        val end = System.nanoTime() + Duration.ofSeconds(30).toNanos()
        while (threadsNamed("mcp-") > 0) {
            check(System.nanoTime() < end) { "${threadsNamed("mcp-")} threads are left" }
            Thread.yield()
        }
    },
)

fun main() {
    var passed = 0
    for ((name, test) in tests) {
        try {
            runBlocking { withTimeout(60_000) { test() } }
            passed++
        } catch (failure: Throwable) {
            println("FAILED $name: $failure")
            if (failure !is CancellationException) failure.printStackTrace(System.out)
        }
    }
    println("$passed passed, ${tests.size - passed} failed")
    kotlin.system.exitProcess(if (passed == tests.size) 0 else 1)
}
