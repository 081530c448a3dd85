using System;
using System.Collections;
using System.Collections.Generic;

namespace McpResident
{
    /// <summary>What a host chooses. Without any of it nothing restarts, nothing is followed, and everything is inherited.</summary>
    public class LoadOptions
    {
        /// <summary>Asks a person. Only with it are servers told that they may ask.</summary>
        public WaitFor WaitFor { get; set; }
        /// <summary>One switch for hosts that run for days: restart, live list, safe environment, expansion in all fields.</summary>
        public bool? Resident { get; set; }
        /// <summary>Whether a lost server is started again by itself.</summary>
        public bool? AutoRestart { get; set; }
        /// <summary>With <see cref="AutoRestart"/>: attempts in a row.</summary>
        public int? MaxRetries { get; set; }
        /// <summary>With <see cref="AutoRestart"/>: the wait before the second attempt.</summary>
        public TimeSpan? Backoff { get; set; }
        /// <summary>Whether a list that a server says it changed is fetched again.</summary>
        public bool? LiveToolList { get; set; }
        /// <summary>The variables that servers without their own <c>inheritEnv</c> inherit.</summary>
        public IEnumerable<string> DefaultInheritEnv { get; set; }
        /// <summary>Which fields are expanded: <c>headers</c> or <c>all</c>.</summary>
        public string Expand { get; set; }
        /// <summary>For how many servers the load waits: <c>all</c>, <c>ready</c>, <c>none</c>.</summary>
        public string Wait { get; set; }
        /// <summary>In place of <see cref="Wait"/>: for all servers, but no longer than this.</summary>
        public TimeSpan? WaitAtMost { get; set; }
        /// <summary>What relative paths are relative to.</summary>
        public string BaseDir { get; set; }
        /// <summary>Where listings of lazy servers are kept.</summary>
        public string CacheDir { get; set; }
        /// <summary>Where results are saved that are longer than <c>maxOutputBytes</c>, or no text, until the close (SPEC 2.23).</summary>
        public string SpillDir { get; set; }
        /// <summary>Where <c>mcp.log</c> is written: what happens to servers, what they log, and their standard error (SPEC 2.24).</summary>
        public string LogDir { get; set; }
        /// <summary>The variables that servers see; unset, those of .NET, as they are when a server is started by its host.</summary>
        public IDictionary<string, string> Environment { get; set; }
        /// <summary>Whether values that begin with <c>!</c> are run as commands.</summary>
        public bool? SecretCommands { get; set; }
        /// <summary>Limits by the keys of SPEC section 4; the unit is in the key's name.</summary>
        public IDictionary<string, long> Limits { get; set; }
        /// <summary>Whether a host that is killed takes its servers with it. On unless this says no.</summary>
        public bool? Guardian { get; set; }
        /// <summary>Sends a call again that was running when the connection was lost, when its tool says that this does no harm.</summary>
        public bool? ReplayRepeatableCalls { get; set; }
        /// <summary>Checks the arguments of each call with its tool's own schema before anything is sent (SPEC 2.21).</summary>
        public bool? ValidateArguments { get; set; }
        /// <summary>How this host introduces itself.</summary>
        public string ClientName { get; set; }
        /// <summary>With <see cref="ClientName"/>: its version.</summary>
        public string ClientVersion { get; set; }

        internal string Form()
        {
            var form = Members();
            if (ClientName != null) form["clientInfo"] = new Dictionary<string, object> { { "name", ClientName }, { "version", ClientVersion ?? "" } };
            return Json.Write(form);
        }

        internal virtual Dictionary<string, object> Members()
        {
            return new Dictionary<string, object>
            {
                { "resident", Resident },
                { "autoRestart", Restart() },
                { "liveToolList", LiveToolList },
                { "defaultInheritEnv", DefaultInheritEnv },
                { "expand", Expand },
                { "wait", WaitAtMost.HasValue ? (object)(long)WaitAtMost.Value.TotalMilliseconds : Wait },
                { "baseDir", BaseDir },
                { "cacheDir", CacheDir },
                { "spillDir", SpillDir },
                { "logDir", LogDir },
                { "environment", Environment ?? Variables() },
                { "secretCommands", SecretCommands },
                { "limits", Limits },
                { "guardian", Guardian },
                { "replayRepeatableCalls", ReplayRepeatableCalls },
                { "validateArguments", ValidateArguments }
            };
        }

        /// <summary>.NET keeps a copy of the environment of its own, which the C library does not see.</summary>
        internal static IDictionary<string, string> Variables()
        {
            var variables = new Dictionary<string, string>();
            foreach (DictionaryEntry variable in System.Environment.GetEnvironmentVariables()) variables[(string)variable.Key] = (string)variable.Value;
            return variables;
        }

        private object Restart()
        {
            if (AutoRestart == false || (MaxRetries == null && Backoff == null)) return AutoRestart;
            return new Dictionary<string, object> { { "maxRetries", MaxRetries }, { "backoffMs", Backoff.HasValue ? (object)(long)Backoff.Value.TotalMilliseconds : null } };
        }
    }
}
