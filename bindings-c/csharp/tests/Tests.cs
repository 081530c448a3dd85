// Tests of what only C# can show. Prints `N passed, M failed`.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using McpResident;

internal static class Tests
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(60);

    private static string Fake(string script = "{}")
    {
        var entry = new Dictionary<string, object> { { "command", Environment.GetEnvironmentVariable("MCP_RESIDENT_FIXTURES") }, { "args", new[] { "fake", "--script", script } } };
        return Json.Write(new Dictionary<string, object> { { "mcpServers", new Dictionary<string, object> { { "s", entry } } } });
    }

    private static void Check(bool condition, string what)
    {
        if (!condition) throw new Exception("failed: " + what);
    }

    private static Dictionary<string, object> Of(string name, object value)
    {
        return new Dictionary<string, object> { { name, value } };
    }

    private static async Task TwoHundredCallsFromEightThreads()
    {
        McpSource source = await McpSource.LoadAsync(Fake());
        Tool echo = source.Tool("s_echo");
        int right = 0;
        var threads = Enumerable.Range(0, 8).Select(thread => new Thread(() =>
        {
            for (int call = 0; call < 25; call++)
            {
                string text = thread + "/" + call;
                if (echo.ExecuteAsync(Of("text", text)).Result.Output == text) Interlocked.Increment(ref right);
            }
        })).ToList();
        threads.ForEach(thread => thread.Start());
        threads.ForEach(thread => thread.Join());
        Check(right == 200, right + " answers");
        await source.CloseAsync();
    }

    private static async Task FiftyCallsInFlightWhenTheServerIsKilled()
    {
        McpSource source = await McpSource.LoadAsync(Fake(), new LoadOptions { Resident = true });
        List<Task<ToolResult>> calls = Enumerable.Range(0, 50).Select(_ => source.Tool("s_sleep").ExecuteAsync(Of("ms", 60000))).ToList();
        // Answered behind the others, so all of them have been sent.
        await source.Tool("s_echo").ExecuteAsync(Of("text", "sent"));
        Process.GetProcessById((int)(long)source.Info("s")["processId"]).Kill();
        foreach (ToolResult result in await Task.WhenAll(calls)) Check(result.ErrorKind == "dropped", result.MetadataJson);
        Check((await source.Tool("s_echo").ExecuteAsync(Of("text", "back"))).Output == "back", "the next call");
        await source.CloseAsync();
    }

    private static async Task Cancellation()
    {
        McpSource source = await McpSource.LoadAsync(Fake());
        foreach (bool early in new[] { true, false })
        {
            var token = new CancellationTokenSource();
            if (early) token.Cancel();
            Task<ToolResult> call = source.Tool("s_sleep").ExecuteAsync(Of("ms", 60000), token.Token);
            token.Cancel();
            Check((await call).ErrorKind == "cancelled", "a call");
        }
        await source.CloseAsync();
        var loading = new CancellationTokenSource();
        Task<McpSource> load = McpSource.LoadAsync(Fake("{\"never_answer\": [\"initialize\"]}"), null, loading.Token);
        loading.Cancel();
        try
        {
            await load;
            Check(false, "a load");
        }
        catch (OperationCanceledException)
        {
        }
    }

    private static async Task ObserversAreToldBeforeTheCloseReturns()
    {
        McpSource source = await McpSource.LoadAsync(Fake());
        var states = new List<string>();
        source.OnStateChange((server, state) =>
        {
            states.Add(state);
            throw new Exception("an observer's own");
        });
        int ended = 0;
        source.OnEvent(_ => ended++).Dispose();
        await source.RestartAsync("s");
        await source.CloseAsync();
        await source.CloseAsync();
        Check(string.Join(" ", states) == "stopped starting running stopped" && ended == 0, string.Join(" ", states));
    }

    private static async Task PersonsAreAsked()
    {
        var persons = new Dictionary<string, WaitFor>
        {
            { "agrees", async (request, _) => { await Task.Yield(); return Answer.Accept(Of("name", "Ada " + request.Prompt)); } },
            { "at once", (request, _) => Task.FromResult(Answer.Accept(Of("name", "Ada " + request.Prompt))) },
            { "declines", (request, _) => Task.FromResult(Answer.Refuse()) },
            { "throws", (request, _) => { throw new Exception("the host's own"); } }
        };
        foreach (KeyValuePair<string, WaitFor> person in persons)
        {
            McpSource source = await McpSource.LoadAsync(Fake(), new LoadOptions { WaitFor = person.Value });
            string output = (await source.Tool("s_elicit").ExecuteAsync("{\"message\":\"who?\"}")).Output;
            Check(output.Contains("Ada who?") == (person.Key[0] == 'a'), person.Key + ": " + output);
            await source.CloseAsync();
        }
    }

    private static async Task ErrorsHaveACode()
    {
        McpSource source = await McpSource.LoadAsync(Fake());
        Check(await Code(source.RestartAsync("nobody")) == ErrorCodes.UnknownServer, "unknown_server");
        Check(await Code(McpSource.LoadAsync("/nowhere/mcp.json")) == ErrorCodes.Config, "config");
        await source.CloseAsync();
        Check(await Code(source.StartAsync("s")) == ErrorCodes.Closed, "closed");
        Check((await source.Tool("s_echo").ExecuteAsync(Of("text", "x"))).ErrorKind == "closed", "a call of a closed source");
        var codes = (Dictionary<string, object>)Json.Parse(Library.CodesJson);
        Check(((List<object>)codes["errors"]).Cast<string>().SequenceEqual(ErrorCodes.All), "all codes");
    }

    private static async Task<string> Code(Task work)
    {
        try
        {
            await work;
            return null;
        }
        catch (McpException error)
        {
            return error.Code;
        }
    }

    private static async Task ValuesAreExactAndToolsStayTheSame()
    {
        McpSource source = await McpSource.LoadAsync(Fake());
        const string Raw = "{\"content\":[{\"type\":\"text\",\"text\":\"\\u0000\"}],\"structuredContent\":{\"big\":18446744073709551616,\"f\":1e2}}";
        ToolResult result = await source.Tool("s_raw").ExecuteAsync("{\"result\":" + Raw + "}");
        Check(result.Raw == Raw, result.Raw);
        var members = (Dictionary<string, object>)((Dictionary<string, object>)Json.Parse(Raw))["structuredContent"];
        Check(members["big"].ToString() == "18446744073709551616" && (double)members["f"] == 100, "numbers");
        Check((await source.Tool("s_echo").ExecuteAsync(Of("text", "\0\u00e9\U0001F600"))).Output == "\0\u00e9\U0001F600", "text");
        Tool tool = source.Tool("s_echo");
        await source.RefreshAsync();
        Check(ReferenceEquals(source.Tool("s_echo"), tool) && source.Tools.Contains(tool) && source.Tool("nobody") == null, "the same tool");
        Check(source.OwnerOfJson("s_echo") == "[\"s\",\"echo\"]" && source.NameOf("s", "echo") == "s_echo", "owner");
        await source.CloseAsync();
    }

    private static async Task ProgressIsToldBeforeTheResult()
    {
        McpSource source = await McpSource.LoadAsync(Fake());
        int notices = 0;
        ToolResult result = await source.Tool("s_sleep").ExecuteAsync("{\"ms\":60,\"progress_ms\":10}", progress: _ =>
        {
            notices++;
            throw new Exception("the host's own");
        });
        Check(!result.IsError && notices >= 2, notices + " notices");
        await source.CloseAsync();
    }

    private static async Task TimeoutsThatAreGivenAreNeverTheServersOwn()
    {
        McpSource source = await McpSource.LoadAsync(Fake());
        foreach (TimeSpan timeout in new[] { TimeSpan.FromSeconds(-1), TimeSpan.Zero, TimeSpan.FromTicks(1), TimeSpan.FromMilliseconds(1) })
        {
            ToolResult result = await source.Tool("s_sleep").ExecuteAsync("{\"ms\":60000}", timeout: timeout);
            Check(result.ErrorKind == "timeout", timeout + ": " + result.MetadataJson);
        }
        Check(await Code(source.WaitForAsync("s", new[] { "stopped" }, TimeSpan.FromSeconds(-1))) == ErrorCodes.Timeout, "a wait");
        await source.CloseAsync();
    }

    private static Task DeepValuesStayText()
    {
        string deep = string.Concat(Enumerable.Repeat("[{\"]\":", 400)) + "0" + string.Concat(Enumerable.Repeat("}]", 400));
        Check(Json.Write(Json.Parse(deep)) == deep, "the same text");
        return Task.FromResult(0);
    }

    private static async Task TheEnvironmentIsThatOfDotNet()
    {
        Environment.SetEnvironmentVariable("MCP_RESIDENT_TEST", "one");
        McpSource source = await McpSource.LoadAsync(Fake());
        Check((await source.Tool("s_env").ExecuteAsync()).Output.Contains("\"MCP_RESIDENT_TEST\":\"one\""), "at the load");
        Environment.SetEnvironmentVariable("MCP_RESIDENT_TEST", "two");
        await source.RestartAsync("s");
        Check((await source.Tool("s_env").ExecuteAsync()).Output.Contains("\"MCP_RESIDENT_TEST\":\"two\""), "at the restart");
        source.Dispose();
    }

    private static Task NothingIsLeft()
    {
        var waited = Stopwatch.StartNew();
        while (Library.OpenHandles > 0 || ThreadsOfTheLibrary() > 0)
        {
            // What was not used again is collected.
            GC.Collect();
            GC.WaitForPendingFinalizers();
            Check(waited.Elapsed < Limit, Library.OpenHandles + " handles, " + ThreadsOfTheLibrary() + " threads");
            Thread.Yield();
        }
        return Task.FromResult(0);
    }

    private static int ThreadsOfTheLibrary()
    {
        int found = 0;
        foreach (string task in Directory.GetDirectories("/proc/self/task"))
        {
            try
            {
                if (File.ReadAllText(task + "/comm").StartsWith("mcp-")) found++;
            }
            catch (IOException)
            {
            }
        }
        return found;
    }

    private static int Main()
    {
        int passed = 0, failed = 0;
        var tests = new Func<Task>[]
        {
            TwoHundredCallsFromEightThreads, FiftyCallsInFlightWhenTheServerIsKilled, Cancellation, ObserversAreToldBeforeTheCloseReturns,
            PersonsAreAsked, ErrorsHaveACode, ValuesAreExactAndToolsStayTheSame,
            ProgressIsToldBeforeTheResult, TimeoutsThatAreGivenAreNeverTheServersOwn, DeepValuesStayText, TheEnvironmentIsThatOfDotNet, NothingIsLeft
        };
        foreach (Func<Task> test in tests)
        {
            try
            {
                Check(Task.Run(test).Wait(Limit), "took too long");
                passed++;
            }
            catch (Exception error)
            {
                failed++;
                Console.WriteLine("FAILED " + test.Method.Name + ": " + error);
            }
        }
        Console.WriteLine(passed + " passed, " + failed + " failed");
        // When Main returns, mono now and then waits for ever for a worker of its own thread pool.
        Environment.Exit(failed == 0 ? 0 : 1);
        return 1;
    }
}
