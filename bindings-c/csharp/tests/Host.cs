// The host program for C#: does through the public API what the driver asks, and tells what it saw. What a host does is in the
// README of the fixtures.

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using McpResident;

internal static class Host
{
    private static readonly object Gate = new object();
    private static readonly TextWriter Output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false)) { AutoFlush = true, NewLine = "\n" };
    private static readonly Dictionary<long, CancellationTokenSource> Running = new Dictionary<long, CancellationTokenSource>();
    private static readonly Dictionary<string, IReadOnlyList<Tool>> Remembered = new Dictionary<string, IReadOnlyList<Tool>>();
    private static readonly List<TaskCompletionSource<Answer>> Questions = new List<TaskCompletionSource<Answer>>();
    private static volatile McpSource source;
    private static volatile Session session;
    private static volatile Exchange exchange;

    private static void Tell(object line)
    {
        string text = Json.Write(line);
        lock (Output) Output.WriteLine(text);
    }

    private static Dictionary<string, object> Map(params object[] members)
    {
        var map = new Dictionary<string, object>();
        for (int place = 0; place < members.Length; place += 2) map[(string)members[place]] = members[place + 1];
        return map;
    }

    private static Task<Answer> Ask(Request request, CancellationToken cancellation)
    {
        var answered = new TaskCompletionSource<Answer>();
        int number;
        lock (Gate)
        {
            number = Questions.Count;
            Questions.Add(answered);
        }
        cancellation.Register(() => answered.TrySetCanceled());
        Tell(Map("question", number, "request", new RawJson(request.Form)));
        return answered.Task;
    }

    private static LoadOptions Options(Dictionary<string, object> asked)
    {
        return Options(asked, new LoadOptions());
    }

    private static SessionOptions SessionOptions(Dictionary<string, object> asked)
    {
        var all = (Dictionary<string, object>)asked["options"];
        var options = new SessionOptions((string)all["baseDir"])
        {
            UserConfig = (string)all["userConfig"],
            ProjectConfig = (string)all["projectConfig"],
            ProjectTrust = (string)all["projectTrust"] == "all" ? ProjectTrust.All : ProjectTrust.Nothing
        };
        if (all.ContainsKey("exchangeWaitMs")) options.ExchangeWait = TimeSpan.FromMilliseconds((long)all["exchangeWaitMs"]);
        foreach (string own in new[] { "userConfig", "projectConfig", "projectTrust", "exchangeWaitMs" }) all.Remove(own);
        return Options(asked, options);
    }

    private static T Options<T>(Dictionary<string, object> asked, T options) where T : LoadOptions
    {
        foreach (KeyValuePair<string, object> option in (Dictionary<string, object>)asked["options"])
        {
            object value = option.Value;
            switch (option.Key)
            {
                case "autoRestart":
                    var numbers = value as Dictionary<string, object>;
                    options.AutoRestart = numbers != null || (bool)value;
                    if (numbers != null && numbers.ContainsKey("maxRetries")) options.MaxRetries = (int)(long)numbers["maxRetries"];
                    if (numbers != null && numbers.ContainsKey("backoffMs")) options.Backoff = TimeSpan.FromMilliseconds((long)numbers["backoffMs"]);
                    break;
                case "resident": options.Resident = (bool)value; break;
                case "liveToolList": options.LiveToolList = (bool)value; break;
                case "guardian": options.Guardian = (bool)value; break;
                case "secretCommands": options.SecretCommands = (bool)value; break;
                case "replayRepeatableCalls": options.ReplayRepeatableCalls = (bool)value; break;
                case "validateArguments": options.ValidateArguments = (bool)value; break;
                case "defaultInheritEnv": options.DefaultInheritEnv = ((List<object>)value).Cast<string>().ToArray(); break;
                case "expand": options.Expand = (string)value; break;
                case "wait":
                    if (value is long) options.WaitAtMost = TimeSpan.FromMilliseconds((long)value);
                    else options.Wait = (string)value;
                    break;
                case "baseDir": options.BaseDir = (string)value; break;
                case "spillDir": options.SpillDir = (string)value; break;
                case "logDir": options.LogDir = (string)value; break;
                case "cacheDir": options.CacheDir = (string)value; break;
                case "limits": options.Limits = ((Dictionary<string, object>)value).ToDictionary(limit => limit.Key, limit => (long)limit.Value); break;
                default: throw new ArgumentException("there is no option " + option.Key);
            }
        }
        if (asked.ContainsKey("asks") && (bool)asked["asks"]) options.WaitFor = Ask;
        return options;
    }

    private static string Config(Dictionary<string, object> asked)
    {
        return asked["config"] as string ?? Json.Write(asked["config"]);
    }

    private static Tool Find(string name, string label)
    {
        if (label == null) return (exchange != null ? exchange.Tool(name) : source.Tool(name)) ?? Missing(name);
        IReadOnlyList<Tool> tools;
        lock (Gate) tools = Remembered[label];
        return tools.FirstOrDefault(tool => tool.Name == name) ?? Missing(name);
    }

    /// <summary>The tools that all requests are about: an exchange's, once one was begun.</summary>
    private static IReadOnlyList<Tool> Listed()
    {
        if (session == null) return source.Tools;
        return exchange == null ? new Tool[0] : exchange.Tools;
    }

    private static void TakeOver(McpSource loaded, Session opened)
    {
        loaded.OnEvent(happened => Tell(Map("event", new RawJson(happened))));
        source = loaded;
        session = opened;
        exchange = null;
    }

    private static Tool Missing(string name)
    {
        throw new ArgumentException("there is no tool " + name);
    }

    private static object Message(IReadOnlyDictionary<string, object> form, string name)
    {
        object error;
        return form.TryGetValue(name, out error) && error != null ? ((Dictionary<string, object>)error)["message"] : null;
    }

    private static string Text(Dictionary<string, object> asked, string name)
    {
        object value;
        return asked.TryGetValue(name, out value) ? (string)value : null;
    }

    private static async Task<object> CarryOut(string verb, Dictionary<string, object> asked, string line, CancellationToken cancellation)
    {
        string server = Text(asked, "server");
        switch (verb)
        {
            case "load":
                TakeOver(await McpSource.LoadAsync(Config(asked), Options(asked), cancellation), null);
                return null;
            case "open":
                Session opened = await Session.OpenAsync(SessionOptions(asked), cancellation);
                TakeOver(opened.Source, opened);
                return null;
            case "exchange":
                exchange = await session.ExchangeAsync(cancellation);
                return null;
            case "untrusted": return new RawJson(session.UntrustedJson);
            case "trust": return new RawJson(await session.TrustAsync(ProjectTrust.Only(((List<object>)asked["choice"]).Cast<string>()), cancellation));
            case "inventory":
                var entries = (List<object>)Json.Parse(await McpSource.ListToolsAsync(Config(asked), Options(asked), cancellation));
                foreach (Dictionary<string, object> entry in entries) entry["error"] = Message(entry, "error");
                return entries;
            case "execute":
                Tool tool = Find((string)asked["tool"], Text(asked, "remembered"));
                TimeSpan? timeout = asked.ContainsKey("timeoutMs") ? TimeSpan.FromMilliseconds((long)asked["timeoutMs"]) : (TimeSpan?)null;
                ToolResult result = await tool.ExecuteAsync(asked.ContainsKey("arguments") ? Arguments(line) : null, cancellation, timeout);
                return Map("output", result.Output, "isError", result.IsError, "metadata", new RawJson(result.MetadataJson));
            case "start": await source.StartAsync(server, cancellation); return null;
            case "stop": await source.StopAsync(server, cancellation); return null;
            case "restart": await source.RestartAsync(server, cancellation); return null;
            case "refresh": await source.RefreshAsync(server, cancellation); return null;
            case "reload":
                if (session != null) return new RawJson(await session.ReloadAsync(cancellation));
                return new RawJson(await source.ReloadAsync(asked.ContainsKey("config") ? Config(asked) : null, cancellation));
            case "wait_for": return await source.WaitForAsync(server, ((List<object>)asked["states"]).Cast<string>(), TimeSpan.FromMilliseconds((long)asked["timeoutMs"]), cancellation);
            case "close": await source.CloseAsync(); return null;
            case "tools":
                return Listed().Select(each => Map("name", each.Name, "description", each.Description, "server", each.Server, "serverTool", each.ServerTool, "inputSchema", each.InputSchema, "serverSchema", each.ServerSchema)).ToArray();
            case "status": return new RawJson(source.StatusJson);
            case "state": return source.State(server);
            case "info":
                var info = (Dictionary<string, object>)source.Info(server);
                info["lastError"] = Message(info, "lastError");
                return info;
            case "problems": return new RawJson(source.ProblemsJson);
            case "events": return new RawJson(source.EventsJson((ulong)(long)asked["after"]));
            case "remember":
                lock (Gate) Remembered[(string)asked["label"]] = Listed();
                return null;
            case "same_tool": return ReferenceEquals(Find((string)asked["tool"], null), Find((string)asked["tool"], (string)asked["since"]));
            case "cancel":
                lock (Gate) Running[(long)asked["request"]].Cancel();
                return null;
            case "answer":
                var answer = (Dictionary<string, object>)asked["answer"];
                object data;
                answer.TryGetValue("data", out data);
                TaskCompletionSource<Answer> question;
                lock (Gate) question = Questions[(int)(long)asked["question"]];
                question.TrySetResult((bool)answer["ok"] ? Answer.Accept(data) : Answer.Refuse(Text(answer, "reason")));
                return null;
            default: throw new ArgumentException("no request is called " + verb);
        }
    }

    /// <summary>The text of the arguments: what a reader makes of `1e2` would be written in other words.</summary>
    private static string Arguments(string line)
    {
        int start = line.IndexOf("\"arguments\":", StringComparison.Ordinal) + "\"arguments\":".Length;
        for (int end = line.Length - 1; end > start; end--)
        {
            try
            {
                Json.Parse(line.Substring(start, end - start));
                return line.Substring(start, end - start);
            }
            catch (FormatException)
            {
            }
        }
        throw new FormatException(line);
    }

    private static async Task Answered(long id, string verb, Dictionary<string, object> asked, string line, CancellationToken cancellation)
    {
        try
        {
            object value = await CarryOut(verb, asked, line, cancellation).ConfigureAwait(false);
            Tell(Map("id", id, "ok", value));
        }
        catch (McpException error)
        {
            Tell(Map("id", id, "error", Map("kind", error.Code, "server", error.Server, "message", error.Message)));
        }
        catch (OperationCanceledException error)
        {
            Tell(Map("id", id, "error", Map("kind", "cancelled", "message", error.Message)));
        }
        catch (Exception error)
        {
            Tell(Map("id", id, "error", Map("kind", "host", "message", error.ToString())));
        }
    }

    private static int Main()
    {
        var input = new StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false));
        for (string line = input.ReadLine(); line != null; line = input.ReadLine())
        {
            var asked = (Dictionary<string, object>)Json.Parse(line);
            long id = (long)asked["id"];
            var cancellation = new CancellationTokenSource();
            lock (Gate) Running[id] = cancellation;
            string verb = (string)asked["do"], text = line;
            Task.Run(() => Answered(id, verb, asked, text, cancellation.Token));
        }
        // Whoever writes a line finishes it.
        lock (Output)
        {
            // When Main returns, mono now and then waits for ever for a worker of its own thread pool.
            Environment.Exit(0);
        }
        return 0;
    }
}
