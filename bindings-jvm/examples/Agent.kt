// A small agent: loads a configuration, lists its tools, calls one, and goes on when the server is killed.
//
//     AgentKt mcp.json TOOL '{"text": "hello"}'

import dev.mcpresident.LoadOptions
import dev.mcpresident.McpSource
import dev.mcpresident.Tool
import kotlinx.coroutines.runBlocking

/** Calls a tool that does no harm, and once more when the server was lost under the call. */
private suspend fun ask(tool: Tool, arguments: String) {
    var result = tool.execute(arguments)
    if (result.errorKind == "dropped") {
        println("lost: ${result.output}")
        result = tool.execute(arguments)
    }
    println("answer: ${result.output}")
}

fun main(words: Array<String>): Unit = runBlocking {
    val (config, name, arguments) = words
    val source = McpSource.load(config, LoadOptions(resident = true))
    source.onStateChange { server, state -> println("$server is $state") }
    source.tools.forEach { println("tool: ${it.name}") }
    val tool = requireNotNull(source.tool(name)) { "there is no tool $name" }
    ask(tool, arguments)
    source.info(tool.server)["processId"]?.let { process ->
        ProcessHandle.of(process as Long).ifPresent { it.destroyForcibly() }
        println("killed ${tool.server}")
        ask(tool, arguments)
    }
    source.shut()
}
