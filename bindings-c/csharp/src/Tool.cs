using System;
using System.Collections.Generic;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace McpResident
{
    /// <summary>What a call gave: the text for a model, and everything that came with it.</summary>
    public sealed class ToolResult
    {
        private IReadOnlyDictionary<string, object> metadata;

        private ToolResult()
        {
        }

        /// <summary>The text for a model.</summary>
        public string Output { get; private set; }
        /// <summary>Whether the call failed, for whatever reason.</summary>
        public bool IsError { get; private set; }
        /// <summary><c>server</c>, <c>tool</c>, and <c>error</c> when it failed, as JSON.</summary>
        public string MetadataJson { get; private set; }
        /// <summary>The whole result as the JSON text that the server sent; null when it sent none.</summary>
        public string Raw { get; private set; }

        /// <summary>The same as <see cref="MetadataJson"/>, read.</summary>
        public IReadOnlyDictionary<string, object> Metadata
        {
            get { return metadata ?? (metadata = (IReadOnlyDictionary<string, object>)Json.Parse(MetadataJson)); }
        }

        /// <summary>Why it failed, such as <c>tool</c>, <c>dropped</c> or <c>timeout</c>; null when it did not.</summary>
        public string ErrorKind
        {
            get { return Metadata.TryGetValue("error", out object error) ? (string)((Dictionary<string, object>)error)["kind"] : null; }
        }

        internal static ToolResult Take(IntPtr native)
        {
            try
            {
                return new ToolResult
                {
                    Output = Native.Take(Native.mcpr_result_output(native)),
                    IsError = Native.mcpr_result_is_error(native),
                    MetadataJson = Native.Take(Native.mcpr_result_metadata(native)),
                    Raw = Native.Take(Native.mcpr_result_raw(native))
                };
            }
            finally
            {
                Native.mcpr_result_free(native);
            }
        }
    }

    /// <summary>One tool of one server, under the name that a model sees. It is the same object as long as its definition is.</summary>
    public sealed class Tool
    {
        private readonly ulong number;
        /// <summary>Who has only a tool still has its source, which is closed when it is collected.</summary>
        private readonly SourceHandle source;

        internal Tool(ulong number, SourceHandle source)
        {
            this.number = number;
            this.source = source;
            Name = Text(Native.Fact.Name);
            Server = Text(Native.Fact.Server);
        }

        /// <summary>The name for a model: at most 64 characters of <c>[A-Za-z0-9_-]</c>, unique in its source.</summary>
        public string Name { get; }
        /// <summary>The server's name in the configuration.</summary>
        public string Server { get; }
        /// <summary>What the tool does, in the server's words.</summary>
        public string Description { get { return Text(Native.Fact.Description); } }
        /// <summary>The tool's title for people, or null.</summary>
        public string Title { get { return Text(Native.Fact.Title); } }
        /// <summary>The tool's own name on its server.</summary>
        public string ServerTool { get { return Text(Native.Fact.ServerTool); } }
        /// <summary>JSON: the schema of arguments for a model, a closed object.</summary>
        public string InputSchema { get { return Text(Native.Fact.InputSchema); } }
        /// <summary>JSON: the schema of arguments as the server gave it.</summary>
        public string ServerSchema { get { return Text(Native.Fact.ServerSchema); } }
        /// <summary>JSON: the schema of structured content, or null.</summary>
        public string OutputSchema { get { return Text(Native.Fact.OutputSchema); } }
        /// <summary>JSON: the server's hints about the tool, which are claims and not facts, or null.</summary>
        public string Annotations { get { return Text(Native.Fact.Annotations); } }

        /// <summary>
        /// Calls the tool. What a server did never throws: every failure is a result with <see cref="ToolResult.IsError"/>, a cancelled
        /// call included.
        /// </summary>
        /// <param name="arguments">null, JSON text of an object, <see cref="RawJson"/>, or a dictionary.</param>
        /// <param name="cancellation">Cancels the call.</param>
        /// <param name="timeout">How long the server may be silent; progress starts it anew. Null: the server's own.</param>
        /// <param name="progress">Is told of the <c>params</c> of each notification as JSON, in order and before the result, on the thread pool.</param>
        public async Task<ToolResult> ExecuteAsync(object arguments = null, CancellationToken cancellation = default(CancellationToken), TimeSpan? timeout = null, Action<string> progress = null)
        {
            byte[] given = arguments == null ? null : Encoding.UTF8.GetBytes(arguments as string ?? Json.Write(arguments));
            var length = (UIntPtr)(given == null ? 0 : given.Length);
            // One that was given is never the server's own, also when it is nothing.
            double limit = timeout.HasValue ? Math.Max(double.Epsilon, timeout.Value.TotalMilliseconds) : 0;
            Observer told = progress == null ? null : new Observer(progress);
            Queue queue = source.Use();
            try
            {
                Outcome ended = await queue.Await((ref IntPtr error) => Native.mcpr_tool_call_start(queue.Number, number, given, length, limit, told != null, ref error), cancellation, told).ConfigureAwait(false);
                return ended.Result;
            }
            finally
            {
                queue.Release();
            }
        }

        private string Text(Native.Fact fact)
        {
            string text = Native.Take(Native.mcpr_tool_text(number, fact));
            GC.KeepAlive(source);
            return text;
        }
    }
}
