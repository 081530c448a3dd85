package dev.mcpresident

import java.math.BigDecimal
import java.math.BigInteger

/**
 * JSON as plain objects: null, Boolean, String, Long, BigInteger, BigDecimal, List and Map. What is nested deeper than 500
 * levels stays [Raw] (SPEC 6.9).
 *
 * Small, because a library should not choose its host's JSON library; text goes in and out everywhere as well.
 */
public object Json {
    /** A reader that calls itself must not exhaust the stack: deeper values stay text, and are not written. */
    private const val MAX_DEPTH = 500

    /** The value of a JSON text. Throws [IllegalArgumentException] when it is none. */
    @JvmStatic
    public fun parse(text: String): Any? = Reader(text).whole()

    /** The JSON text of a value. [Raw] is written as it is. */
    @JvmStatic
    public fun write(value: Any?): String = StringBuilder().also { write(it, value, 0) }.toString()

    /** JSON text that is written as it is. */
    public class Raw(public val text: String) {
        override fun toString(): String = text
    }

    private fun write(text: StringBuilder, value: Any?, depth: Int) {
        require(depth <= MAX_DEPTH) { "the value is nested too deep, or holds itself" }
        when (value) {
            null -> text.append("null")
            is Raw -> text.append(value.text)
            is Boolean -> text.append(value)
            is Double, is Float -> {
                val number = (value as Number).toDouble()
                require(number.isFinite()) { "JSON has no number for $number" }
                text.append(value)
            }
            is Number -> text.append(value)
            is CharSequence -> quote(text, value)
            is Map<*, *> -> {
                text.append('{')
                value.entries.forEachIndexed { place, (name, member) ->
                    if (place > 0) text.append(',')
                    quote(text, name as CharSequence)
                    text.append(':')
                    write(text, member, depth + 1)
                }
                text.append('}')
            }
            is Iterable<*> -> {
                text.append('[')
                value.forEachIndexed { place, item ->
                    if (place > 0) text.append(',')
                    write(text, item, depth + 1)
                }
                text.append(']')
            }
            is Array<*> -> write(text, value.asList(), depth)
            else -> throw IllegalArgumentException("a value of ${value.javaClass.simpleName} cannot be written as JSON")
        }
    }

    private fun quote(text: StringBuilder, plain: CharSequence) {
        text.append('"')
        for (letter in plain) {
            when {
                letter == '"' || letter == '\\' -> text.append('\\').append(letter)
                // Half of a pair can only be said by an escape, and a whole pair may be.
                letter < ' ' || letter.isSurrogate() -> text.append("\\u").append(letter.code.toString(16).padStart(4, '0'))
                else -> text.append(letter)
            }
        }
        text.append('"')
    }

    private class Reader(private val text: String) {
        private var place = 0

        fun whole(): Any? {
            val value = value(0)
            if (next() != null) throw broken()
            return value
        }

        private fun value(depth: Int): Any? {
            val first = next()
            if (depth == MAX_DEPTH && (first == '{' || first == '[')) return skipped()
            return when (first) {
                '{' -> {
                    place++
                    val members = LinkedHashMap<String, Any?>()
                    while (goesOn('}')) {
                        val name = string()
                        if (next() != ':') throw broken()
                        place++
                        members[name] = value(depth + 1)
                    }
                    members
                }
                '[' -> {
                    place++
                    val items = ArrayList<Any?>()
                    while (goesOn(']')) items.add(value(depth + 1))
                    items
                }
                '"' -> string()
                't' -> word("true", true)
                'f' -> word("false", false)
                'n' -> word("null", null)
                else -> number()
            }
        }

        /** The text of an object or a list, which is not looked into. */
        private fun skipped(): Raw {
            val start = place
            var open = 0
            do {
                when (next() ?: throw broken()) {
                    '"' -> {
                        string()
                        continue
                    }
                    '{', '[' -> open++
                    '}', ']' -> open--
                }
                place++
            } while (open > 0)
            return Raw(text.substring(start, place))
        }

        private fun goesOn(end: Char): Boolean {
            if (next() == end) {
                place++
                return false
            }
            if (next() == ',') place++
            if (next() == null) throw broken()
            return true
        }

        private fun word(word: String, value: Any?): Any? {
            if (!text.startsWith(word, place)) throw broken()
            place += word.length
            return value
        }

        private fun number(): Any {
            val start = place
            while (place < text.length && text[place] in "+-.0123456789eE") place++
            val digits = text.substring(start, place)
            if (digits.isEmpty()) throw broken()
            digits.toLongOrNull()?.let { return it }
            return if (digits.all { it.isDigit() || it == '-' }) BigInteger(digits) else BigDecimal(digits)
        }

        private fun string(): String {
            if (next() != '"') throw broken()
            val plain = StringBuilder()
            place++
            while (true) {
                when (val letter = text.getOrNull(place) ?: throw broken()) {
                    '"' -> {
                        place++
                        return plain.toString()
                    }
                    '\\' -> {
                        place++
                        when (val escape = text.getOrNull(place) ?: throw broken()) {
                            'b' -> plain.append('\b')
                            'f' -> plain.append('\u000c')
                            'n' -> plain.append('\n')
                            'r' -> plain.append('\r')
                            't' -> plain.append('\t')
                            'u' -> {
                                plain.append(text.substring(place + 1, place + 5).toInt(16).toChar())
                                place += 4
                            }
                            else -> plain.append(escape)
                        }
                        place++
                    }
                    else -> {
                        plain.append(letter)
                        place++
                    }
                }
            }
        }

        /** The next character that is no white space; null at the end. */
        private fun next(): Char? {
            while (place < text.length && text[place] in " \t\r\n") place++
            return text.getOrNull(place)
        }

        private fun broken() = IllegalArgumentException("not valid JSON at character $place")
    }
}
