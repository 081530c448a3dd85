using System;
using System.Runtime.InteropServices;
using System.Text;

namespace McpResident
{
    /// <summary>The C interface, as the header documents it. No delegate crosses it, so none can be collected too early.</summary>
    internal static class Native
    {
        private const string Library = "mcp_resident_c";

        internal enum Kind { Unknown, Loaded, Called, Done, Failed, Progress, Event, Missed, Question, QuestionEnded, Opened, Exchanged }
        internal enum View { Status, Servers, Tools, Problems }
        internal enum Action { Start, Stop, Restart, Refresh, Close }
        internal enum Interest { Everything, States, Tools }
        internal enum Fact { Name, Description, Title, Server, ServerTool, InputSchema, ServerSchema, OutputSchema, Annotations }

        [StructLayout(LayoutKind.Sequential)]
        internal struct Text
        {
            internal IntPtr Data;
            internal UIntPtr Length;
        }

        [DllImport(Library)] internal static extern ulong mcpr_queue_new();
        [DllImport(Library)] internal static extern void mcpr_queue_free(ulong queue);
        [DllImport(Library)] internal static extern IntPtr mcpr_queue_next(ulong queue, ulong timeoutMs);
        [DllImport(Library)] [return: MarshalAs(UnmanagedType.I1)] internal static extern bool mcpr_queue_cancel(ulong queue, ulong operation);
        [DllImport(Library)] [return: MarshalAs(UnmanagedType.I1)] internal static extern bool mcpr_queue_answer(ulong queue, ulong question, byte[] requestId, byte[] answer);
        [DllImport(Library)] internal static extern ulong mcpr_load_start(ulong queue, byte[] config, byte[] options, [MarshalAs(UnmanagedType.I1)] bool asks, ref IntPtr error);
        [DllImport(Library)] internal static extern ulong mcpr_inventory_start(ulong queue, byte[] config, byte[] options, [MarshalAs(UnmanagedType.I1)] bool asks, ref IntPtr error);
        [DllImport(Library)] [return: MarshalAs(UnmanagedType.I1)] internal static extern bool mcpr_shut_down(ulong limitMs);
        [DllImport(Library)] internal static extern Text mcpr_codes();
        [DllImport(Library)] internal static extern UIntPtr mcpr_open_handles();

        [DllImport(Library)] internal static extern Kind mcpr_delivery_kind(IntPtr delivery);
        [DllImport(Library)] internal static extern ulong mcpr_delivery_id(IntPtr delivery);
        [DllImport(Library)] internal static extern Text mcpr_delivery_json(IntPtr delivery);
        [DllImport(Library)] internal static extern ulong mcpr_delivery_source(IntPtr delivery);
        [DllImport(Library)] internal static extern ulong mcpr_delivery_session(IntPtr delivery);
        [DllImport(Library)] internal static extern ulong mcpr_delivery_exchange(IntPtr delivery);
        [DllImport(Library)] internal static extern IntPtr mcpr_delivery_result(IntPtr delivery);
        [DllImport(Library)] internal static extern IntPtr mcpr_delivery_error(IntPtr delivery);
        [DllImport(Library)] internal static extern void mcpr_delivery_free(IntPtr delivery);

        [DllImport(Library)] internal static extern IntPtr mcpr_error_code(IntPtr error);
        [DllImport(Library)] internal static extern IntPtr mcpr_error_server(IntPtr error);
        [DllImport(Library)] internal static extern IntPtr mcpr_error_message(IntPtr error);
        [DllImport(Library)] internal static extern void mcpr_error_free(IntPtr error);

        [DllImport(Library)] [return: MarshalAs(UnmanagedType.I1)] internal static extern bool mcpr_result_is_error(IntPtr result);
        [DllImport(Library)] internal static extern Text mcpr_result_output(IntPtr result);
        [DllImport(Library)] internal static extern Text mcpr_result_metadata(IntPtr result);
        [DllImport(Library)] internal static extern Text mcpr_result_raw(IntPtr result);
        [DllImport(Library)] internal static extern void mcpr_result_free(IntPtr result);
        [DllImport(Library)] internal static extern void mcpr_text_free(Text text);

        [DllImport(Library)] internal static extern void mcpr_source_free(ulong source);
        [DllImport(Library)] internal static extern UIntPtr mcpr_source_tools(ulong source, ulong[] tools, UIntPtr capacity);
        [DllImport(Library)] internal static extern ulong mcpr_source_tool(ulong source, byte[] name);
        [DllImport(Library)] internal static extern Text mcpr_source_json(ulong source, View view);
        [DllImport(Library)] internal static extern Text mcpr_source_state(ulong source, byte[] server, ref IntPtr error);
        [DllImport(Library)] internal static extern Text mcpr_source_info(ulong source, byte[] server, ref IntPtr error);
        [DllImport(Library)] internal static extern Text mcpr_source_events(ulong source, ulong after);
        [DllImport(Library)] internal static extern Text mcpr_source_owner_of(ulong source, byte[] name);
        [DllImport(Library)] internal static extern Text mcpr_source_name_of(ulong source, byte[] server, byte[] tool);
        [DllImport(Library)] internal static extern ulong mcpr_source_do_start(ulong queue, ulong source, Action action, byte[] server, ref IntPtr error);
        [DllImport(Library)] internal static extern ulong mcpr_source_reload_start(ulong queue, ulong source, byte[] config, ref IntPtr error);
        [DllImport(Library)] internal static extern ulong mcpr_source_wait_for_start(ulong queue, ulong source, byte[] server, byte[] states, double timeoutMs, ref IntPtr error);
        [DllImport(Library)] internal static extern ulong mcpr_source_subscribe(ulong queue, ulong source, Interest interest, ref IntPtr error);
        [DllImport(Library)] internal static extern void mcpr_source_unsubscribe(ulong source, ulong subscription);
        [DllImport(Library)] [return: MarshalAs(UnmanagedType.I1)] internal static extern bool mcpr_source_set_environment(ulong source, byte[] variables, ref IntPtr error);

        [DllImport(Library)] internal static extern ulong mcpr_session_open_start(ulong queue, byte[] options, [MarshalAs(UnmanagedType.I1)] bool asks, ref IntPtr error);
        [DllImport(Library)] internal static extern ulong mcpr_session_source(ulong session);
        [DllImport(Library)] internal static extern ulong mcpr_session_exchange_start(ulong queue, ulong session, ref IntPtr error);
        [DllImport(Library)] internal static extern ulong mcpr_session_reload_start(ulong queue, ulong session, byte[] choice, ref IntPtr error);
        [DllImport(Library)] internal static extern Text mcpr_session_untrusted(ulong session);
        [DllImport(Library)] internal static extern void mcpr_session_free(ulong session);
        [DllImport(Library)] internal static extern UIntPtr mcpr_exchange_tools(ulong exchange, ulong[] tools, UIntPtr capacity);
        [DllImport(Library)] internal static extern ulong mcpr_exchange_tool(ulong exchange, byte[] name);
        [DllImport(Library)] internal static extern void mcpr_exchange_free(ulong exchange);

        [DllImport(Library)] internal static extern Text mcpr_tool_text(ulong tool, Fact fact);
        [DllImport(Library)] internal static extern ulong mcpr_tool_call_start(ulong queue, ulong tool, byte[] arguments, UIntPtr length, double timeoutMs, [MarshalAs(UnmanagedType.I1)] bool progress, ref IntPtr error);

        /// <summary>A text for the library: UTF-8 with a NUL behind it.</summary>
        internal static byte[] In(string text)
        {
            return text == null ? null : Encoding.UTF8.GetBytes(text + "\0");
        }

        /// <summary>Takes a text over from the library; null when there is none.</summary>
        internal static string Take(Text text)
        {
            if (text.Data == IntPtr.Zero) return null;
            try
            {
                return Copy(text.Data, checked((int)text.Length));
            }
            finally
            {
                mcpr_text_free(text);
            }
        }

        /// <summary>Takes an error over from the library.</summary>
        internal static McpException TakeError(IntPtr error)
        {
            try
            {
                return new McpException(Borrowed(mcpr_error_code(error)), Borrowed(mcpr_error_message(error)), Borrowed(mcpr_error_server(error)));
            }
            finally
            {
                mcpr_error_free(error);
            }
        }

        private static string Borrowed(IntPtr text)
        {
            if (text == IntPtr.Zero) return null;
            int length = 0;
            while (Marshal.ReadByte(text, length) != 0) length++;
            return Copy(text, length);
        }

        private static string Copy(IntPtr data, int length)
        {
            var bytes = new byte[length];
            Marshal.Copy(data, bytes, 0, length);
            return Encoding.UTF8.GetString(bytes);
        }
    }
}
