using System;
using System.Collections.Generic;

namespace McpResident
{
    /// <summary>A failure of loading, starting, restarting, listing or closing. A failed call is a <see cref="ToolResult"/> instead.</summary>
    public sealed class McpException : Exception
    {
        /// <summary>An exception with a code, a message, and the server that failed, when one did.</summary>
        public McpException(string code, string message, string server = null) : base(message)
        {
            Code = code;
            Server = server;
        }

        /// <summary>The stable code, the same in every language; one of <see cref="ErrorCodes"/>.</summary>
        public string Code { get; }

        /// <summary>The server that failed, or null when no server did.</summary>
        public string Server { get; }
    }

    /// <summary>The codes of <see cref="McpException"/>; SPEC section 5.</summary>
    public static class ErrorCodes
    {
#pragma warning disable 1591 // The names are the codes.
        public const string Config = "config";
        public const string UnknownServer = "unknown_server";
        public const string Disabled = "disabled";
        public const string Spawn = "spawn";
        public const string Connect = "connect";
        public const string NeedsAuth = "needs_auth";
        public const string Protocol = "protocol";
        public const string Dropped = "dropped";
        public const string Timeout = "timeout";
        public const string Cancelled = "cancelled";
        public const string Closed = "closed";
        public const string Forked = "forked";
        public const string Internal = "internal";
#pragma warning restore 1591

        /// <summary>All of them, in the order of SPEC's table.</summary>
        public static readonly IReadOnlyList<string> All = new[]
        {
            Config, UnknownServer, Disabled, Spawn, Connect, NeedsAuth, Protocol, Dropped, Timeout, Cancelled, Closed, Forked, Internal
        };
    }
}
