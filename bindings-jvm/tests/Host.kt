// The host program for Kotlin: does through the suspending functions what the driver asks, and tells what it saw. What a host
// does is in the README of the fixtures.

import dev.mcpresident.Answer
import dev.mcpresident.CallOptions
import dev.mcpresident.Cancellation
import dev.mcpresident.Exchange
import dev.mcpresident.Json
import dev.mcpresident.LoadOptions
import dev.mcpresident.McpException
import dev.mcpresident.McpSource
import dev.mcpresident.ProjectTrust
import dev.mcpresident.Session
import dev.mcpresident.SessionOptions
import dev.mcpresident.Tool
import dev.mcpresident.WaitFor
import java.io.PrintStream
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.CopyOnWriteArrayList
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.future.await
import kotlinx.coroutines.launch

private val output = PrintStream(java.io.FileOutputStream(java.io.FileDescriptor.out), false, "UTF-8")
private val running = ConcurrentHashMap<Long, Cancellation>()
private val remembered = ConcurrentHashMap<String, List<Tool>>()
private val questions = CopyOnWriteArrayList<CompletableFuture<Answer>>()

@Volatile private lateinit var source: McpSource
@Volatile private var session: Session? = null
@Volatile private var exchange: Exchange? = null

private fun tell(vararg members: Pair<String, Any?>) {
    val line = Json.write(mapOf(*members))
    synchronized(output) {
        output.print(line + "\n")
        output.flush()
    }
}

internal fun options(asked: Map<*, *>): LoadOptions {
    val options = LoadOptions()
    for ((key, value) in asked["options"] as Map<*, *>) {
        when (key) {
            "userConfig", "projectConfig", "projectTrust", "exchangeWaitMs" -> {}
            "autoRestart" -> {
                options.autoRestart = value as? Boolean ?: true
                options.maxRetries = ((value as? Map<*, *>)?.get("maxRetries") as Long?)?.toInt()
                options.backoff = ((value as? Map<*, *>)?.get("backoffMs") as Long?)?.let(Duration::ofMillis)
            }
            "resident" -> options.resident = value as Boolean
            "liveToolList" -> options.liveToolList = value as Boolean
            "guardian" -> options.guardian = value as Boolean
            "secretCommands" -> options.secretCommands = value as Boolean
            "replayRepeatableCalls" -> options.replayRepeatableCalls = value as Boolean
            "validateArguments" -> options.validateArguments = value as Boolean
            "defaultInheritEnv" -> options.defaultInheritEnv = (value as List<*>).map { it as String }
            "expand" -> options.expand = value as String
            "wait" -> if (value is Long) options.waitAtMost = Duration.ofMillis(value) else options.wait = value as String
            "baseDir" -> options.baseDir = value as String
            "spillDir" -> options.spillDir = value as String
            "logDir" -> options.logDir = value as String
            "cacheDir" -> options.cacheDir = value as String
            "limits" -> options.limits = (value as Map<*, *>).entries.associate { it.key as String to it.value as Long }
            else -> throw IllegalArgumentException("there is no option $key")
        }
    }
    if (asked["asks"] == true) options.waitFor = WaitFor { request ->
        val answered = CompletableFuture<Answer>()
        val number = synchronized(questions) { questions.size.also { questions.add(answered) } }
        tell("question" to number, "request" to Json.Raw(request.form))
        answered
    }
    return options
}

internal fun config(asked: Map<*, *>): String = asked["config"] as? String ?: Json.write(asked["config"])

/** The text of the arguments: what a reader makes of `1e2` would be written in other words. */
internal fun arguments(line: String): String {
    val start = line.indexOf("\"arguments\":") + "\"arguments\":".length
    return (line.length - 1 downTo start).firstNotNullOf { end ->
        line.substring(start, end).takeIf { runCatching { Json.parse(it) }.isSuccess }
    }
}

internal fun sessionOptions(asked: Map<*, *>): SessionOptions {
    val all = asked["options"] as Map<*, *>
    val options = SessionOptions(all["baseDir"] as String, load = options(asked))
    options.userConfig = all["userConfig"] as String
    options.projectConfig = all["projectConfig"] as String
    if (all["projectTrust"] == "all") options.projectTrust = ProjectTrust.ALL
    options.exchangeWait = (all["exchangeWaitMs"] as Long?)?.let(Duration::ofMillis)
    return options
}

/** The tools that all requests are about: an exchange's, once one was begun. */
private fun listed(): List<Tool> = if (session == null) source.tools else exchange?.tools ?: emptyList()

private fun takeOver(loaded: McpSource, opened: Session?) {
    loaded.onEvent { tell("event" to Json.Raw(it)) }
    source = loaded
    session = opened
    exchange = null
}

private fun find(name: Any?, label: Any?): Tool {
    val begun = exchange
    val found = when {
        label != null -> remembered[label]!!.firstOrNull { it.name == name }
        begun != null -> begun.tool(name as String)
        else -> source.tool(name as String)
    }
    return found ?: throw IllegalArgumentException("there is no tool $name")
}

private fun message(form: Map<*, *>, name: String) = (form[name] as Map<*, *>?)?.get("message")

private suspend fun carryOut(verb: String, asked: Map<*, *>, line: String, cancellation: Cancellation): Any? {
    val server = asked["server"] as String? ?: ""
    when (verb) {
        "load" -> {
            takeOver(McpSource.loadAsync(config(asked), options(asked), cancellation).await(), null)
        }
        "open" -> Session.openAsync(sessionOptions(asked), cancellation).await().let { takeOver(it.source, it) }
        "exchange" -> exchange = session!!.exchangeAsync(cancellation).await()
        "untrusted" -> return Json.Raw(session!!.untrustedJson)
        "trust" -> return Json.Raw(session!!.trust(ProjectTrust.only((asked["choice"] as List<*>).map { it as String })))
        "inventory" -> return (Json.parse(McpSource.listTools(config(asked), options(asked))) as List<*>).map {
            (it as Map<*, *>) + ("error" to message(it, "error"))
        }
        "execute" -> {
            val given = if ("arguments" in asked) arguments(line) else null
            val timeout = (asked["timeoutMs"] as Long?)?.let(Duration::ofMillis)
            val result = find(asked["tool"], asked["remembered"]).execute(given, CallOptions(timeout, cancellation = cancellation))
            return mapOf("output" to result.output, "isError" to result.isError, "metadata" to Json.Raw(result.metadataJson))
        }
        "start" -> source.startAsync(server, cancellation).await()
        "stop" -> source.stop(server)
        "restart" -> source.restartAsync(server, cancellation).await()
        "refresh" -> source.refresh(asked["server"] as String?)
        "reload" -> session?.let { return Json.Raw(it.reload()) } ?: return Json.Raw(source.reloadAsync(asked["config"]?.let { config(asked) }, cancellation).await())
        "wait_for" -> return source.waitFor(server, (asked["states"] as List<*>).map { it as String }, Duration.ofMillis(asked["timeoutMs"] as Long))
        "close" -> source.shut()
        "tools" -> return listed().map {
            mapOf(
                "name" to it.name, "description" to it.description, "server" to it.server, "serverTool" to it.serverTool,
                "inputSchema" to it.inputSchema, "serverSchema" to it.serverSchema,
            )
        }
        "status" -> return source.status
        "state" -> return source.state(server)
        "info" -> return source.info(server).let { it + ("lastError" to message(it, "lastError")) }
        "problems" -> return Json.Raw(source.problemsJson)
        "events" -> return Json.Raw(source.eventsJson(asked["after"] as Long))
        "remember" -> remembered[asked["label"] as String] = listed()
        "same_tool" -> return find(asked["tool"], null) === find(asked["tool"], asked["since"])
        "cancel" -> running[asked["request"]]?.cancel()
        "answer" -> {
            val answer = asked["answer"] as Map<*, *>
            val given = if (answer["ok"] == true) Answer.accept(answer["data"]) else Answer.refuse(answer["reason"] as String? ?: "cancelled")
            questions[(asked["question"] as Long).toInt()].complete(given)
        }
        else -> throw IllegalArgumentException("no request is called $verb")
    }
    return null
}

fun main() {
    val scope = CoroutineScope(Dispatchers.IO)
    for (line in System.`in`.bufferedReader(Charsets.UTF_8).lineSequence()) {
        val asked = Json.parse(line) as Map<*, *>
        val id = asked["id"] as Long
        val cancellation = Cancellation().also { running[id] = it }
        scope.launch {
            try {
                tell("id" to id, "ok" to carryOut(asked["do"] as String, asked, line, cancellation))
            } catch (failure: McpException) {
                tell("id" to id, "error" to mapOf("kind" to failure.code, "server" to failure.server, "message" to failure.message))
            } catch (failure: Exception) {
                tell("id" to id, "error" to mapOf("kind" to "host", "message" to failure.toString()))
            }
        }
    }
}
