// A small agent: loads a configuration, lists its tools, calls one, and goes on when the server is killed.
//
//     Agent.exe mcp.json TOOL '{"text": "hello"}'

using System;
using System.Diagnostics;
using System.Threading.Tasks;
using McpResident;

internal static class Agent
{
    /// <summary>Calls a tool that does no harm, and once more when the server was lost under the call.</summary>
    private static async Task Ask(Tool tool, string arguments)
    {
        ToolResult result = await tool.ExecuteAsync(arguments);
        if (result.ErrorKind == "dropped")
        {
            Console.WriteLine("lost: " + result.Output);
            result = await tool.ExecuteAsync(arguments);
        }
        Console.WriteLine("answer: " + result.Output);
    }

    private static async Task Run(string config, string name, string arguments)
    {
        McpSource source = await McpSource.LoadAsync(config, new LoadOptions { Resident = true });
        source.OnStateChange((server, state) => Console.WriteLine(server + " is " + state));
        foreach (Tool each in source.Tools) Console.WriteLine("tool: " + each.Name);
        Tool tool = source.Tool(name);
        await Ask(tool, arguments);
        object process;
        if (source.Info(tool.Server).TryGetValue("processId", out process))
        {
            Process.GetProcessById((int)(long)process).Kill();
            Console.WriteLine("killed " + tool.Server);
            await Ask(tool, arguments);
        }
        await source.CloseAsync();
    }

    private static void Main(string[] words)
    {
        Run(words[0], words[1], words[2]).Wait();
        // When Main returns, mono now and then waits for ever for a worker of its own thread pool.
        Environment.Exit(0);
    }
}
