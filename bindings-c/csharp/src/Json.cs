using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Numerics;
using System.Text;

namespace McpResident
{
    /// <summary>
    /// JSON as plain objects: null, bool, string, long, BigInteger, double, List&lt;object&gt;, Dictionary&lt;string, object&gt;.
    /// What is nested deeper than 500 levels stays <see cref="RawJson"/> (SPEC 6.9). Small, because a library should not choose its host's JSON library; text goes in and out everywhere as well.
    /// </summary>
    public static class Json
    {
        /// <summary>A reader that calls itself must not exhaust the stack: deeper values stay text, and are not written.</summary>
        private const int MaxDepth = 500;

        /// <summary>The value of a JSON text. Throws <see cref="FormatException"/> when it is none.</summary>
        public static object Parse(string text)
        {
            var reader = new Reader { text = text };
            object value = reader.Value(0);
            reader.End();
            return value;
        }

        /// <summary>The JSON text of a value; dictionaries with names of text are objects, other sequences lists.</summary>
        public static string Write(object value)
        {
            var text = new StringBuilder();
            Write(text, value, 0);
            return text.ToString();
        }

        private static void Write(StringBuilder text, object value, int depth)
        {
            if (depth > MaxDepth) throw new FormatException("the value is nested too deep, or holds itself");
            if (value == null) text.Append("null");
            else if (value is RawJson) text.Append(((RawJson)value).Text);
            else if (value is bool) text.Append((bool)value ? "true" : "false");
            else if (value is string) Quote(text, (string)value);
            else if (value is double || value is float) text.Append(Finite(Convert.ToDouble(value)).ToString("R", CultureInfo.InvariantCulture));
            else if (value is decimal || value is BigInteger || (value.GetType().IsPrimitive && !(value is char))) text.Append(((IFormattable)value).ToString(null, CultureInfo.InvariantCulture));
            else if (value is IDictionary) WriteMembers(text, (IDictionary)value, depth);
            else if (value is IEnumerable) WriteItems(text, (IEnumerable)value, depth);
            else throw new FormatException("a value of type " + value.GetType().Name + " cannot be written as JSON");
        }

        private static void WriteMembers(StringBuilder text, IDictionary members, int depth)
        {
            string comma = "{";
            foreach (DictionaryEntry member in members)
            {
                text.Append(comma);
                Quote(text, (string)member.Key);
                text.Append(':');
                Write(text, member.Value, depth + 1);
                comma = ",";
            }
            text.Append(comma == "{" ? "{}" : "}");
        }

        private static void WriteItems(StringBuilder text, IEnumerable items, int depth)
        {
            string comma = "[";
            foreach (object item in items)
            {
                text.Append(comma);
                Write(text, item, depth + 1);
                comma = ",";
            }
            text.Append(comma == "[" ? "[]" : "]");
        }

        private static double Finite(double number)
        {
            if (double.IsNaN(number) || double.IsInfinity(number)) throw new FormatException("JSON has no number for " + number);
            return number;
        }

        private static void Quote(StringBuilder text, string plain)
        {
            text.Append('"');
            foreach (char letter in plain)
            {
                if (letter == '"' || letter == '\\') text.Append('\\').Append(letter);
                // Half of a pair can only be said by an escape, and a whole pair may be.
                else if (letter < ' ' || char.IsSurrogate(letter)) text.Append("\\u").Append(((int)letter).ToString("x4"));
                else text.Append(letter);
            }
            text.Append('"');
        }

        private sealed class Reader
        {
            internal string text;
            private int place;

            internal object Value(int depth)
            {
                char first = Next();
                if (depth == MaxDepth && (first == '{' || first == '[')) return Skipped();
                switch (first)
                {
                    case '{':
                        var members = new Dictionary<string, object>();
                        place++;
                        while (GoesOn('}'))
                        {
                            string name = Text();
                            if (Next() != ':') throw Broken();
                            place++;
                            members[name] = Value(depth + 1);
                        }
                        return members;
                    case '[':
                        var items = new List<object>();
                        place++;
                        while (GoesOn(']')) items.Add(Value(depth + 1));
                        return items;
                    case '"': return Text();
                    case 't': return Word("true", true);
                    case 'f': return Word("false", false);
                    case 'n': return Word("null", null);
                    default: return Number();
                }
            }

            /// <summary>The text of an object or a list, which is not looked into.</summary>
            private RawJson Skipped()
            {
                int start = place, open = 0;
                do
                {
                    char next = Next();
                    if (next == '\0') throw Broken();
                    if (next == '"')
                    {
                        Text();
                        continue;
                    }
                    if (next == '{' || next == '[') open++;
                    if (next == '}' || next == ']') open--;
                    place++;
                } while (open > 0);
                return new RawJson(text.Substring(start, place - start));
            }

            internal void End()
            {
                if (Next() != '\0') throw Broken();
            }

            private bool GoesOn(char end)
            {
                char next = Next();
                if (next == end)
                {
                    place++;
                    return false;
                }
                if (next == ',') place++;
                if (Next() == '\0') throw Broken();
                return true;
            }

            private object Word(string word, object value)
            {
                if (string.CompareOrdinal(text, place, word, 0, word.Length) != 0) throw Broken();
                place += word.Length;
                return value;
            }

            private object Number()
            {
                int start = place;
                while (place < text.Length && "+-.0123456789eE".IndexOf(text[place]) >= 0) place++;
                string digits = text.Substring(start, place - start);
                if (long.TryParse(digits, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long small)) return small;
                if (digits.IndexOfAny(new[] { '.', 'e', 'E' }) < 0 && BigInteger.TryParse(digits, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out BigInteger big)) return big;
                if (double.TryParse(digits, NumberStyles.Float, CultureInfo.InvariantCulture, out double number)) return number;
                throw Broken();
            }

            private string Text()
            {
                if (Next() != '"') throw Broken();
                var plain = new StringBuilder();
                for (place++; place < text.Length && text[place] != '"'; place++)
                {
                    if (text[place] != '\\')
                    {
                        plain.Append(text[place]);
                        continue;
                    }
                    if (++place >= text.Length) throw Broken();
                    int known = "bfnrt".IndexOf(text[place]);
                    if (known >= 0) plain.Append("\b\f\n\r\t"[known]);
                    else if (text[place] == 'u' && place + 4 < text.Length)
                    {
                        plain.Append((char)int.Parse(text.Substring(place + 1, 4), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture));
                        place += 4;
                    }
                    else plain.Append(text[place]);
                }
                if (place >= text.Length) throw Broken();
                place++;
                return plain.ToString();
            }

            /// <summary>The next character that is no white space, or NUL at the end.</summary>
            private char Next()
            {
                while (place < text.Length && " \t\r\n".IndexOf(text[place]) >= 0) place++;
                return place < text.Length ? text[place] : '\0';
            }

            private FormatException Broken()
            {
                return new FormatException("not valid JSON at character " + place);
            }
        }
    }

    /// <summary>JSON text that is written as it is.</summary>
    public sealed class RawJson
    {
        /// <summary>Takes text that is one JSON value.</summary>
        public RawJson(string text)
        {
            Text = text;
        }

        /// <summary>The text.</summary>
        public string Text { get; }
    }
}
