using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace McpResident
{
    /// <summary>How an operation ended.</summary>
    internal struct Outcome
    {
        internal ulong Source;
        internal ulong Session;
        internal ulong Exchange;
        internal ToolResult Result;
        internal string Json;
    }

    /// <summary>
    /// Takes what arrives from the library, on one thread, as long as somebody uses it. There is one for each open source: it is made by
    /// the load and ends with the close, when its last use is released.
    /// </summary>
    internal sealed class Queue
    {
        private const ulong ForEverMs = 3600000;
        /// <summary>A little more than the limit of a whole close.</summary>
        private const ulong ExitLimitMs = 7000;

        private static readonly HashSet<Queue> Living = new HashSet<Queue>();

        internal readonly ulong Number = Native.mcpr_queue_new();
        private readonly object gate = new object();
        private readonly WaitFor waitFor;
        private readonly Dictionary<ulong, TaskCompletionSource<Outcome>> waiting = new Dictionary<ulong, TaskCompletionSource<Outcome>>();
        /// <summary>Of events by subscription, and of progress by operation; no two of these ids are the same.</summary>
        private readonly Dictionary<ulong, Observer> observers = new Dictionary<ulong, Observer>();
        private readonly Dictionary<ulong, CancellationTokenSource> questions = new Dictionary<ulong, CancellationTokenSource>();
        private int users = 1;

        /// <summary>A program that ends without a close ends its servers, and no thread of it is left inside of the library.</summary>
        static Queue()
        {
            AppDomain.CurrentDomain.ProcessExit += (sender, arguments) =>
            {
                List<Queue> left;
                lock (Living) left = new List<Queue>(Living);
                foreach (Queue queue in left)
                {
                    lock (Living) Living.Remove(queue);
                    Native.mcpr_queue_free(queue.Number);
                }
                Native.mcpr_shut_down(ExitLimitMs);
            };
        }

        internal Queue(WaitFor waitFor)
        {
            this.waitFor = waitFor;
            lock (Living) Living.Add(this);
            new Thread(Run) { IsBackground = true, Name = "mcp-resident" }.Start();
        }

        internal delegate ulong Start(ref IntPtr error);

        internal void Retain()
        {
            lock (gate) users++;
        }

        /// <summary>Gives up a use. With the last one the queue is freed, and its thread ends.</summary>
        internal void Release()
        {
            lock (gate)
            {
                if (--users > 0) return;
            }
            lock (Living) Living.Remove(this);
            Native.mcpr_queue_free(Number);
        }

        /// <summary>
        /// Starts an operation and waits for its outcome, and until all of its progress has been told. A cancelled one still has an
        /// outcome, which comes at once.
        /// </summary>
        internal async Task<Outcome> Await(Start start, CancellationToken cancellation, Observer progress = null)
        {
            var done = new TaskCompletionSource<Outcome>(TaskCreationOptions.RunContinuationsAsynchronously);
            ulong operation;
            lock (gate)
            {
                // Under the lock, so that the outcome finds who waits for it.
                operation = Started(start);
                waiting[operation] = done;
                if (progress != null) observers[operation] = progress;
            }
            using (cancellation.Register(() => Native.mcpr_queue_cancel(Number, operation)))
            {
                Outcome outcome = await done.Task.ConfigureAwait(false);
                if (progress != null) await progress.Drained().ConfigureAwait(false);
                return outcome;
            }
        }

        internal IDisposable Observe(ulong source, Native.Interest interest, Action<string> tell)
        {
            var observer = new Observer(tell);
            lock (gate)
            {
                ulong subscription = Started((ref IntPtr error) => Native.mcpr_source_subscribe(Number, source, interest, ref error));
                observers[subscription] = observer;
                return new Subscription(() =>
                {
                    observer.End();
                    Native.mcpr_source_unsubscribe(source, subscription);
                    Forget(subscription);
                });
            }
        }

        private void Forget(ulong subscription)
        {
            lock (gate) observers.Remove(subscription);
        }

        /// <summary>Is done when every observer has been told of everything.</summary>
        internal Task Drained()
        {
            lock (gate)
            {
                var tails = new List<Task>();
                foreach (Observer observer in observers.Values) tails.Add(observer.Drained());
                observers.Clear();
                return Task.WhenAll(tails);
            }
        }

        private static ulong Started(Start start)
        {
            IntPtr error = IntPtr.Zero;
            ulong number = start(ref error);
            if (number == 0) throw Native.TakeError(error);
            return number;
        }

        private void Run()
        {
            while (true)
            {
                IntPtr delivery = Native.mcpr_queue_next(Number, ForEverMs);
                if (delivery == IntPtr.Zero)
                {
                    // Freed: nobody uses it any more, or the process ends.
                    lock (Living)
                    {
                        if (!Living.Contains(this)) return;
                    }
                    continue;
                }
                try
                {
                    Hand(delivery);
                }
                finally
                {
                    Native.mcpr_delivery_free(delivery);
                }
            }
        }

        private void Hand(IntPtr delivery)
        {
            ulong id = Native.mcpr_delivery_id(delivery);
            switch (Native.mcpr_delivery_kind(delivery))
            {
                case Native.Kind.Loaded:
                    Completed(id).SetResult(new Outcome { Source = Native.mcpr_delivery_source(delivery) });
                    break;
                case Native.Kind.Opened:
                    Completed(id).SetResult(new Outcome { Session = Native.mcpr_delivery_session(delivery) });
                    break;
                case Native.Kind.Exchanged:
                    Completed(id).SetResult(new Outcome { Exchange = Native.mcpr_delivery_exchange(delivery) });
                    break;
                case Native.Kind.Called:
                    Completed(id).SetResult(new Outcome { Result = ToolResult.Take(Native.mcpr_delivery_result(delivery)) });
                    break;
                case Native.Kind.Done:
                    Completed(id).SetResult(new Outcome { Json = Native.Take(Native.mcpr_delivery_json(delivery)) });
                    break;
                case Native.Kind.Failed:
                    Completed(id).SetException(Native.TakeError(Native.mcpr_delivery_error(delivery)));
                    break;
                case Native.Kind.Progress:
                case Native.Kind.Event:
                    Observer observer;
                    lock (gate) observers.TryGetValue(id, out observer);
                    string told = Native.Take(Native.mcpr_delivery_json(delivery));
                    if (observer != null) observer.Add(told);
                    break;
                case Native.Kind.Question:
                    Ask(id, Native.Take(Native.mcpr_delivery_json(delivery)));
                    break;
                case Native.Kind.QuestionEnded:
                    CancellationTokenSource asked;
                    lock (gate) questions.TryGetValue(id, out asked);
                    if (asked != null) ThreadPool.QueueUserWorkItem(_ => Observer.Harmless(asked.Cancel));
                    break;
            }
        }

        private TaskCompletionSource<Outcome> Completed(ulong operation)
        {
            lock (gate)
            {
                TaskCompletionSource<Outcome> done = waiting[operation];
                waiting.Remove(operation);
                observers.Remove(operation);
                return done;
            }
        }

        /// <summary>Asks on the thread pool: a person may take minutes.</summary>
        private void Ask(ulong question, string form)
        {
            var cancellation = new CancellationTokenSource();
            lock (gate)
            {
                questions[question] = cancellation;
                users++;
            }
            Task.Run(async () =>
            {
                string id = "", answer = "null";
                try
                {
                    var request = new Request(form);
                    id = request.Id;
                    Answer given = await waitFor(request, cancellation.Token).ConfigureAwait(false);
                    answer = given == null ? "null" : given.Form;
                }
                catch (Exception failure)
                {
                    // A host that fails has not agreed.
                    Observer.Report(failure);
                }
                lock (gate) questions.Remove(question);
                Native.mcpr_queue_answer(Number, question, Native.In(id), Native.In(answer));
                cancellation.Dispose();
                Release();
            });
        }
    }
}
