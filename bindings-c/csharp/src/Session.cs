using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace McpResident
{
    /// <summary>What a session chooses, beside what a load does. What is left out is what sessions want (SPEC 7.3).</summary>
    public sealed class SessionOptions : LoadOptions
    {
        /// <summary>A session in a directory, which is what relative paths of both files are relative to.</summary>
        public SessionOptions(string baseDir)
        {
            BaseDir = baseDir;
        }

        /// <summary>The user's file. One that is not there has no servers.</summary>
        public string UserConfig { get; set; }
        /// <summary>The project's file, laid over the user's.</summary>
        public string ProjectConfig { get; set; }
        /// <summary>What of the project's file may be started; nothing when it is left out.</summary>
        public ProjectTrust ProjectTrust { get; set; }
        /// <summary>How tools are shown whose server says nothing about it: <c>direct</c>, <c>hidden</c> or <c>deferred</c>.</summary>
        public string Exposure { get; set; }
        /// <summary>How long an exchange waits for servers that are new or changed; 10 s when it is left out.</summary>
        public TimeSpan? ExchangeWait { get; set; }

        internal override Dictionary<string, object> Members()
        {
            Dictionary<string, object> members = base.Members();
            members["userConfig"] = UserConfig;
            members["projectConfig"] = ProjectConfig;
            members["projectTrust"] = (ProjectTrust ?? ProjectTrust.Nothing).Form;
            members["exposure"] = Exposure;
            members["exchangeWaitMs"] = ExchangeWait.HasValue ? (object)(long)ExchangeWait.Value.TotalMilliseconds : null;
            return members;
        }
    }

    /// <summary>What of a project's file may be started.</summary>
    public sealed class ProjectTrust
    {
        /// <summary>Everything.</summary>
        public static readonly ProjectTrust All = new ProjectTrust("all");
        /// <summary>Nothing.</summary>
        public static readonly ProjectTrust Nothing = new ProjectTrust("nothing");

        internal readonly object Form;

        private ProjectTrust(object form)
        {
            Form = form;
        }

        /// <summary>What has one of these fingerprints, which a person allowed.</summary>
        public static ProjectTrust Only(IEnumerable<string> fingerprints)
        {
            return new ProjectTrust(new List<object>(fingerprints));
        }
    }

    /// <summary>The tools of one exchange. They stay as they are, whatever servers do meanwhile.</summary>
    public sealed class Exchange
    {
        private readonly ulong number;
        private readonly McpSource source;

        internal Exchange(ulong number, McpSource source)
        {
            this.number = number;
            this.source = source;
            Tools = source.List((tools, capacity) => Native.mcpr_exchange_tools(number, tools, capacity));
        }

        ~Exchange()
        {
            Native.mcpr_exchange_free(number);
        }

        /// <summary>The tools to declare to the model, in an order that changes as little as it can.</summary>
        public IReadOnlyList<Tool> Tools { get; private set; }

        /// <summary>A tool by its name for models, hidden and deferred ones included, or null.</summary>
        public Tool Tool(string name)
        {
            ulong tool = Native.mcpr_exchange_tool(number, Native.In(name));
            GC.KeepAlive(this);
            return tool == 0 ? null : source.Hold(tool);
        }
    }

    /// <summary>The servers of a user and a project, used over many exchanges with a model, until it is closed.</summary>
    public sealed class Session : IDisposable
    {
        private readonly SourceHandle handle;

        private Session(SourceHandle handle, bool ownEnvironment)
        {
            this.handle = handle;
            Source = new McpSource(handle, ownEnvironment);
        }

        /// <summary>The servers: their states, events and problems, and what can be done to each.</summary>
        public McpSource Source { get; private set; }

        /// <summary>JSON: what the project's file would start and is not trusted: a list of <c>name</c>, <c>launchLine</c> and <c>fingerprint</c>.</summary>
        public string UntrustedJson { get { return Native.Take(Native.mcpr_session_untrusted(handle.Session)); } }

        /// <summary>
        /// Reads the files of a session and connects their servers in the background (SPEC section 7). A file or an entry that cannot be
        /// used is among the source's problems.
        /// </summary>
        /// <exception cref="McpException">An option cannot be used.</exception>
        public static async Task<Session> OpenAsync(SessionOptions options, CancellationToken cancellation = default(CancellationToken))
        {
            byte[] form = Native.In(options.Form());
            var queue = new Queue(options.WaitFor);
            try
            {
                Outcome ended = await McpSource.Settled(queue.Await((ref IntPtr error) => Native.mcpr_session_open_start(queue.Number, form, options.WaitFor != null, ref error), cancellation), cancellation).ConfigureAwait(false);
                ulong source = Native.mcpr_session_source(ended.Session);
                return new Session(new SourceHandle(source, queue, ended.Session), options.Environment != null);
            }
            catch
            {
                queue.Release();
                throw;
            }
        }

        /// <summary>Begins an exchange: waits for servers that are new or changed, and pins the tools that there are then.</summary>
        public async Task<Exchange> ExchangeAsync(CancellationToken cancellation = default(CancellationToken))
        {
            Source.RenewEnvironment();
            Outcome ended = await Await((Queue queue, ref IntPtr error) => Native.mcpr_session_exchange_start(queue.Number, handle.Session, ref error), cancellation).ConfigureAwait(false);
            return new Exchange(ended.Exchange, Source);
        }

        /// <summary>Reads the files again. What changed counts from the next exchange on. JSON as of <see cref="McpSource.ReloadAsync"/>.</summary>
        public Task<string> ReloadAsync(CancellationToken cancellation = default(CancellationToken))
        {
            return Reload(null, cancellation);
        }

        /// <summary>Decides anew what of the project's file may be started, and reads the files again.</summary>
        public Task<string> TrustAsync(ProjectTrust choice, CancellationToken cancellation = default(CancellationToken))
        {
            return Reload(Native.In(Json.Write(choice.Form)), cancellation);
        }

        /// <summary>Ends the session: nothing of its servers is left afterwards. Closing again is harmless.</summary>
        public Task CloseAsync()
        {
            return Source.CloseAsync();
        }

        /// <summary>Closes, and waits for it.</summary>
        public void Dispose()
        {
            Source.Dispose();
        }

        private async Task<string> Reload(byte[] choice, CancellationToken cancellation)
        {
            Source.RenewEnvironment();
            Outcome ended = await Await((Queue queue, ref IntPtr error) => Native.mcpr_session_reload_start(queue.Number, handle.Session, choice, ref error), cancellation).ConfigureAwait(false);
            return ended.Json;
        }

        private delegate ulong Start(Queue queue, ref IntPtr error);

        private async Task<Outcome> Await(Start start, CancellationToken cancellation)
        {
            Queue queue = handle.Use();
            try
            {
                return await McpSource.Settled(queue.Await((ref IntPtr error) => start(queue, ref error), cancellation), cancellation).ConfigureAwait(false);
            }
            finally
            {
                queue.Release();
            }
        }
    }
}
