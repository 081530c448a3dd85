using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace McpResident
{
    /// <summary>What a server asks a person.</summary>
    public sealed class Request
    {
        internal Request(string form)
        {
            Form = form;
            var members = (Dictionary<string, object>)Json.Parse(form);
            Id = (string)members["id"];
            Kind = (string)members["kind"];
            Prompt = (string)members["prompt"];
            Url = members.TryGetValue("url", out object url) ? (string)url : null;
            Data = members.TryGetValue("data", out object data) ? (IReadOnlyDictionary<string, object>)data : null;
            ExpiresAt = (long)members["expiresAt"];
        }

        /// <summary>Names the question.</summary>
        public string Id { get; }
        /// <summary><c>input</c> or <c>authorization</c>.</summary>
        public string Kind { get; }
        /// <summary>The server's own words.</summary>
        public string Prompt { get; }
        /// <summary>Where the person is to go, for <c>authorization</c>. Show it whole, and open it only when the person agrees.</summary>
        public string Url { get; }
        /// <summary>For <c>input</c>, an object whose <c>schema</c> says which answer fits.</summary>
        public IReadOnlyDictionary<string, object> Data { get; }
        /// <summary>When the question ends without an answer, in milliseconds since 1970.</summary>
        public long ExpiresAt { get; }
        /// <summary>All of it as JSON.</summary>
        public string Form { get; }
    }

    /// <summary>A person's answer.</summary>
    public sealed class Answer
    {
        private Answer(bool ok, object data, string reason)
        {
            Form = Json.Write(new Dictionary<string, object> { { "ok", ok }, { "data", data }, { "reason", reason } });
        }

        internal string Form { get; }

        /// <summary>The person agreed; <paramref name="data"/> are the values for a form.</summary>
        public static Answer Accept(object data = null)
        {
            return new Answer(true, data, null);
        }

        /// <summary>The person did not agree: <c>declined</c>, <c>cancelled</c> or <c>expired</c>.</summary>
        public static Answer Refuse(string reason = "declined")
        {
            return new Answer(false, null, reason);
        }
    }

    /// <summary>
    /// Asks a person on behalf of a server; may take as long as the person does. The token is cancelled when no answer is needed any
    /// more. One that throws has not agreed.
    /// </summary>
    public delegate Task<Answer> WaitFor(Request request, CancellationToken cancellation);
}
