using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;

namespace McpResident
{
    /// <summary>
    /// Calls one function of the host with events or progress, in order and on the thread pool. So the thread that takes deliveries never
    /// runs the host's code.
    /// </summary>
    internal sealed class Observer
    {
        /// <summary>How many wait for the function; the others are left out (SPEC 6.5).</summary>
        private const int MaxWaiting = 4096;

        private readonly Action<string> tell;
        private readonly Queue<string> waiting = new Queue<string>();
        /// <summary>Null while nothing waits; done when nothing waits any more.</summary>
        private TaskCompletionSource<int> telling;
        private bool ended;

        internal Observer(Action<string> tell)
        {
            this.tell = tell;
        }

        internal void Add(string told)
        {
            lock (waiting)
            {
                if (ended || waiting.Count == MaxWaiting) return;
                waiting.Enqueue(told);
                if (telling != null) return;
                telling = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
            }
            ThreadPool.QueueUserWorkItem(_ => Work());
        }

        /// <summary>Takes nothing further, and what waits is forgotten.</summary>
        internal void End()
        {
            lock (waiting)
            {
                ended = true;
                waiting.Clear();
            }
        }

        /// <summary>Is done when everything that was added has been told.</summary>
        internal Task Drained()
        {
            lock (waiting) return telling == null ? Task.FromResult(0) : telling.Task;
        }

        private void Work()
        {
            while (true)
            {
                string told;
                lock (waiting)
                {
                    if (waiting.Count == 0)
                    {
                        telling.SetResult(0);
                        telling = null;
                        return;
                    }
                    told = waiting.Dequeue();
                }
                Harmless(() => tell(told));
            }
        }

        /// <summary>A host's function that fails ends nothing, and is reported.</summary>
        internal static void Harmless(Action action)
        {
            try
            {
                action();
            }
            catch (Exception failure)
            {
                Report(failure);
            }
        }

        internal static void Report(Exception failure)
        {
            Trace.TraceError("mcp-resident: the host's own function failed: {0}", failure);
        }
    }

    /// <summary>Ends what it stands for when it is disposed of.</summary>
    internal sealed class Subscription : IDisposable
    {
        private readonly Action end;

        internal Subscription(Action end)
        {
            this.end = end;
        }

        public void Dispose()
        {
            end();
        }
    }
}
