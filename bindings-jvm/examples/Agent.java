// A small agent: loads a configuration, lists its tools, calls one, and goes on when the server is killed.
//
//     Agent mcp.json TOOL '{"text": "hello"}'

import dev.mcpresident.LoadOptions;
import dev.mcpresident.McpSource;
import dev.mcpresident.Tool;
import dev.mcpresident.ToolResult;

public final class Agent {
    /** Calls a tool that does no harm, and once more when the server was lost under the call. */
    private static void ask(Tool tool, String arguments) {
        ToolResult result = tool.executeAsync(arguments).join();
        if ("dropped".equals(result.getErrorKind())) {
            System.out.println("lost: " + result.getOutput());
            result = tool.executeAsync(arguments).join();
        }
        System.out.println("answer: " + result.getOutput());
    }

    public static void main(String[] words) {
        try (McpSource source = McpSource.loadAsync(words[0], new LoadOptions(true)).join()) {
            source.onStateChange((server, state) -> System.out.println(server + " is " + state));
            source.getTools().forEach(tool -> System.out.println("tool: " + tool.getName()));
            Tool tool = source.tool(words[1]);
            ask(tool, words[2]);
            if (source.info(tool.getServer()).get("processId") instanceof Long process) {
                ProcessHandle.of(process).ifPresent(ProcessHandle::destroyForcibly);
                System.out.println("killed " + tool.getServer());
                ask(tool, words[2]);
            }
        }
    }
}
