using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace McpResident
{
    /// <summary>What a source and its tools share; freed when none of them is left, which closes a source that was not closed.</summary>
    internal sealed class SourceHandle
    {
        internal readonly ulong Number;
        /// <summary>0 unless the source belongs to a session, with which it is freed.</summary>
        internal readonly ulong Session;
        private readonly object gate = new object();
        /// <summary>Null once the source is closed.</summary>
        private Queue queue;

        internal SourceHandle(ulong number, Queue queue, ulong session = 0)
        {
            Number = number;
            Session = session;
            this.queue = queue;
        }

        ~SourceHandle()
        {
            if (Session != 0) Native.mcpr_session_free(Session);
            else Native.mcpr_source_free(Number);
            Queue left = Retire();
            if (left != null) left.Release();
        }

        /// <summary>A use of the source's queue, which the caller releases. A closed source answers through one of its own.</summary>
        internal Queue Use()
        {
            lock (gate)
            {
                if (queue == null) return new Queue(null);
                queue.Retain();
                return queue;
            }
        }

        /// <summary>Takes the queue away. Only the first caller gets it.</summary>
        internal Queue Retire()
        {
            lock (gate)
            {
                Queue taken = queue;
                queue = null;
                return taken;
            }
        }
    }

    /// <summary>The servers of a configuration, kept usable until it is closed. It may be used from any thread.</summary>
    public sealed class McpSource : IDisposable
    {
        private readonly SourceHandle handle;
        private readonly bool ownEnvironment;
        private readonly Dictionary<ulong, Tool> tools = new Dictionary<ulong, Tool>();

        internal McpSource(SourceHandle handle, bool ownEnvironment)
        {
            this.handle = handle;
            this.ownEnvironment = ownEnvironment;
        }

        /// <summary>
        /// Connects every server of a configuration and lists its tools. A server that cannot be connected is <c>failed</c> and costs the
        /// others nothing. When <paramref name="cancellation"/> is cancelled nothing of the load is left.
        /// </summary>
        /// <param name="config">The path of an <c>mcp.json</c>, or its content as JSON that begins with <c>{</c>.</param>
        /// <param name="options">What the host chooses.</param>
        /// <param name="cancellation">Ends the load.</param>
        /// <exception cref="McpException">The configuration as a whole cannot be used.</exception>
        public static async Task<McpSource> LoadAsync(string config, LoadOptions options = null, CancellationToken cancellation = default(CancellationToken))
        {
            options = options ?? new LoadOptions();
            byte[] from = Native.In(config), form = Native.In(options.Form());
            var queue = new Queue(options.WaitFor);
            try
            {
                Outcome ended = await Settled(queue.Await((ref IntPtr error) => Native.mcpr_load_start(queue.Number, from, form, options.WaitFor != null, ref error), cancellation), cancellation).ConfigureAwait(false);
                return new McpSource(new SourceHandle(ended.Source, queue), options.Environment != null);
            }
            catch
            {
                queue.Release();
                throw;
            }
        }

        /// <summary>Connects every server that is not disabled, lists its tools, and disconnects. JSON: a list of entries.</summary>
        public static async Task<string> ListToolsAsync(string config, LoadOptions options = null, CancellationToken cancellation = default(CancellationToken))
        {
            options = options ?? new LoadOptions();
            byte[] from = Native.In(config), form = Native.In(options.Form());
            var queue = new Queue(options.WaitFor);
            try
            {
                Outcome ended = await Settled(queue.Await((ref IntPtr error) => Native.mcpr_inventory_start(queue.Number, from, form, options.WaitFor != null, ref error), cancellation), cancellation).ConfigureAwait(false);
                return ended.Json;
            }
            finally
            {
                queue.Release();
            }
        }

        /// <summary>The tools of all servers, as they are now.</summary>
        public IReadOnlyList<Tool> Tools
        {
            get
            {
                return List((numbers, capacity) => Native.mcpr_source_tools(handle.Number, numbers, capacity));
            }
        }

        /// <summary>Holds the tools that <paramref name="read"/> writes, of whom there may be more from one call to the next.</summary>
        internal IReadOnlyList<Tool> List(Func<ulong[], UIntPtr, UIntPtr> read)
        {
            var numbers = new ulong[0];
            while (true)
            {
                int found = (int)read(numbers, (UIntPtr)numbers.Length);
                if (found <= numbers.Length)
                {
                    var list = new List<Tool>(found);
                    for (int place = 0; place < found; place++) list.Add(Hold(numbers[place]));
                    return list;
                }
                numbers = new ulong[found];
            }
        }

        /// <summary>The tool that a model knows by this name, or null.</summary>
        public Tool Tool(string name)
        {
            ulong number = Native.mcpr_source_tool(handle.Number, Native.In(name));
            return number == 0 ? null : Hold(number);
        }

        /// <summary>How the newest attempt of each server ended: <c>connected</c>, <c>failed</c>, <c>disabled</c>.</summary>
        public IReadOnlyDictionary<string, object> Status
        {
            get { return (IReadOnlyDictionary<string, object>)Json.Parse(StatusJson); }
        }

        /// <summary>The same as JSON.</summary>
        public string StatusJson { get { return View(Native.View.Status); } }
        /// <summary>JSON: the names of all servers, in the order of the configuration.</summary>
        public string ServersJson { get { return View(Native.View.Servers); } }
        /// <summary>JSON: what is wrong in the configuration.</summary>
        public string ProblemsJson { get { return View(Native.View.Problems); } }

        /// <summary>A server's state: <c>stopped</c>, <c>starting</c>, <c>running</c> or <c>error</c>.</summary>
        public string State(string server)
        {
            IntPtr error = IntPtr.Zero;
            string state = Native.Take(Native.mcpr_source_state(handle.Number, Native.In(server), ref error));
            if (state == null) throw Native.TakeError(error);
            return state;
        }

        /// <summary>JSON: what is known of a server.</summary>
        public string InfoJson(string server)
        {
            IntPtr error = IntPtr.Zero;
            string info = Native.Take(Native.mcpr_source_info(handle.Number, Native.In(server), ref error));
            if (info == null) throw Native.TakeError(error);
            return info;
        }

        /// <summary>What is known of a server: <c>state</c>, <c>status</c>, <c>processId</c>, <c>lastError</c> and more.</summary>
        public IReadOnlyDictionary<string, object> Info(string server)
        {
            return (IReadOnlyDictionary<string, object>)Json.Parse(InfoJson(server));
        }

        /// <summary>JSON: the newest events after a sequence, oldest first; 0 gives all that are kept.</summary>
        public string EventsJson(ulong after = 0)
        {
            return Native.Take(Native.mcpr_source_events(handle.Number, after));
        }

        /// <summary>JSON: <c>[server, tool]</c> behind a name for models, or null.</summary>
        public string OwnerOfJson(string name)
        {
            return Native.Take(Native.mcpr_source_owner_of(handle.Number, Native.In(name)));
        }

        /// <summary>The name for models of a server's tool, or null.</summary>
        public string NameOf(string server, string tool)
        {
            return Native.Take(Native.mcpr_source_name_of(handle.Number, Native.In(server), Native.In(tool)));
        }

        /// <summary>Connects a server, unless that is done or under way.</summary>
        public Task StartAsync(string server, CancellationToken cancellation = default(CancellationToken))
        {
            RenewEnvironment();
            return Do(Native.Action.Start, server, cancellation);
        }

        /// <summary>Disconnects a server and waits until nothing of it is left. Its tools stay listed.</summary>
        public Task StopAsync(string server, CancellationToken cancellation = default(CancellationToken))
        {
            return Do(Native.Action.Stop, server, cancellation);
        }

        /// <summary>Disconnects a server and connects it again. Calls that run fail at once.</summary>
        public Task RestartAsync(string server, CancellationToken cancellation = default(CancellationToken))
        {
            RenewEnvironment();
            return Do(Native.Action.Restart, server, cancellation);
        }

        /// <summary>Lists a server's tools again, or with null those of all that are connected.</summary>
        public Task RefreshAsync(string server = null, CancellationToken cancellation = default(CancellationToken))
        {
            return Do(Native.Action.Refresh, server, cancellation);
        }

        /// <summary>
        /// Takes a new configuration in the place of the one that is there; with null, reads the file again that was loaded.
        /// What is started in the same way keeps its connection; this waits for the others as the load did. JSON: <c>added</c>,
        /// <c>removed</c>, <c>restarted</c> and <c>adjusted</c>, each the names of servers (SPEC 2.22).
        /// </summary>
        /// <param name="config">As for a load.</param>
        /// <param name="cancellation">Ends the wait; the attempts go on.</param>
        /// <exception cref="McpException">The configuration as a whole cannot be used; nothing has changed.</exception>
        public async Task<string> ReloadAsync(string config = null, CancellationToken cancellation = default(CancellationToken))
        {
            RenewEnvironment();
            byte[] from = Native.In(config);
            Queue queue = handle.Use();
            try
            {
                Outcome ended = await Settled(queue.Await((ref IntPtr error) => Native.mcpr_source_reload_start(queue.Number, handle.Number, from, ref error), cancellation), cancellation).ConfigureAwait(false);
                return ended.Json;
            }
            finally
            {
                queue.Release();
            }
        }

        /// <summary>Waits until a server is in one of these states, for at most so long, and tells which.</summary>
        public async Task<string> WaitForAsync(string server, IEnumerable<string> states, TimeSpan timeout, CancellationToken cancellation = default(CancellationToken))
        {
            byte[] name = Native.In(server), wanted = Native.In(string.Join(",", states));
            Queue queue = handle.Use();
            try
            {
                Outcome ended = await Settled(queue.Await((ref IntPtr error) => Native.mcpr_source_wait_for_start(queue.Number, handle.Number, name, wanted, timeout.TotalMilliseconds, ref error), cancellation), cancellation).ConfigureAwait(false);
                return (string)Json.Parse(ended.Json);
            }
            finally
            {
                queue.Release();
            }
        }

        /// <summary>Calls <paramref name="observer"/> with server and state at each change, in order, on the thread pool. Dispose ends that.</summary>
        public IDisposable OnStateChange(Action<string, string> observer)
        {
            return Observe(Native.Interest.States, happened =>
            {
                var members = (Dictionary<string, object>)Json.Parse(happened);
                observer((string)members["server"], (string)members["to"]);
            });
        }

        /// <summary>Calls <paramref name="observer"/> with the server's name when its part of the list changed.</summary>
        public IDisposable OnToolsChange(Action<string> observer)
        {
            return Observe(Native.Interest.Tools, happened => observer((string)((Dictionary<string, object>)Json.Parse(happened))["server"]));
        }

        /// <summary>Calls <paramref name="observer"/> with the JSON of each event, in order.</summary>
        public IDisposable OnEvent(Action<string> observer)
        {
            return Observe(Native.Interest.Everything, observer);
        }

        /// <summary>
        /// Disconnects every server and waits until nothing of them is left and observers have been told. Closing again is harmless.
        /// </summary>
        public async Task CloseAsync()
        {
            await Do(Native.Action.Close, null, CancellationToken.None).ConfigureAwait(false);
            Queue queue = handle.Retire();
            if (queue != null)
            {
                await queue.Drained().ConfigureAwait(false);
                queue.Release();
            }
        }

        /// <summary>Closes, and waits for it.</summary>
        public void Dispose()
        {
            CloseAsync().GetAwaiter().GetResult();
        }

        private async Task Do(Native.Action action, string server, CancellationToken cancellation)
        {
            byte[] name = Native.In(server);
            Queue queue = handle.Use();
            try
            {
                await Settled(queue.Await((ref IntPtr error) => Native.mcpr_source_do_start(queue.Number, handle.Number, action, name, ref error), cancellation), cancellation).ConfigureAwait(false);
            }
            finally
            {
                queue.Release();
            }
        }

        /// <summary>What was cancelled ends as .NET expects it.</summary>
        internal static async Task<Outcome> Settled(Task<Outcome> work, CancellationToken cancellation)
        {
            try
            {
                return await work.ConfigureAwait(false);
            }
            catch (McpException error) when (error.Code == ErrorCodes.Cancelled && cancellation.IsCancellationRequested)
            {
                throw new OperationCanceledException(error.Message, error, cancellation);
            }
        }

        private IDisposable Observe(Native.Interest interest, Action<string> tell)
        {
            Queue queue = handle.Use();
            try
            {
                return queue.Observe(handle.Number, interest, tell);
            }
            finally
            {
                queue.Release();
            }
        }

        internal Tool Hold(ulong number)
        {
            lock (tools)
            {
                if (!tools.TryGetValue(number, out Tool tool)) tools[number] = tool = new Tool(number, handle);
                return tool;
            }
        }

        private string View(Native.View view)
        {
            return Native.Take(Native.mcpr_source_json(handle.Number, view));
        }

        /// <summary>A server that is started sees the variables as they are now.</summary>
        internal void RenewEnvironment()
        {
            if (ownEnvironment) return;
            IntPtr error = IntPtr.Zero;
            if (!Native.mcpr_source_set_environment(handle.Number, Native.In(Json.Write(LoadOptions.Variables())), ref error)) throw Native.TakeError(error);
        }
    }

    /// <summary>What concerns the library as a whole.</summary>
    public static class Library
    {
        /// <summary>Closes every source of this process, for a host that ends; returns whether nothing is left.</summary>
        public static bool ShutDown(TimeSpan limit)
        {
            return Native.mcpr_shut_down((ulong)Math.Max(0, limit.TotalMilliseconds));
        }

        /// <summary>JSON: every code of an error and every kind of a failed call, as the library knows them.</summary>
        public static string CodesJson { get { return Native.Take(Native.mcpr_codes()); } }

        /// <summary>How many queues, sources and tools have not been given back, for tests of leaks.</summary>
        public static int OpenHandles { get { return (int)Native.mcpr_open_handles(); } }
    }
}
