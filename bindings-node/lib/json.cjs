'use strict'
// JSON with integers of any size: BigInt is written as a number, and read where that is asked for.

/** Before the digits of an integer while it travels as a string. Names of members are never marked. */
const MARK = '\u0000n'
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** The JSON text of a value; undefined for undefined. */
function stringify (value) {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (!(error instanceof TypeError) || !/BigInt/.test(error.message)) throw error
    return stringifyWithBigInts(value)
  }
}

function stringifyWithBigInts (value) {
  const marked = JSON.stringify(value, (_, member) => {
    if (typeof member === 'bigint') return MARK + member
    // What looks like a mark is marked itself.
    return typeof member === 'string' && member.startsWith(MARK) ? MARK + member : member
  })
  return marked.replace(TOKEN, (token, isName) => {
    if (isName !== undefined || !token.startsWith('"\\u0000n')) return token
    const rest = token.slice('"\\u0000n'.length)
    return rest.startsWith('\\u0000n') ? `"${rest}` : rest.slice(0, -1)
  })
}

/** The value of a JSON text. With `bigints`, integers that a number cannot hold exactly are BigInt. */
function parse (text, { bigints = false } = {}) {
  if (!bigints) return JSON.parse(text)
  const marked = text.replace(TOKEN, (token, isName) => {
    if (isName !== undefined) return token
    if (token.startsWith('"\\u0000n')) return `"\\u0000n${token.slice(1)}`
    const unsafe = /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token))
    return unsafe ? `"\\u0000n${token}"` : token
  })
  return JSON.parse(marked, (_, member) => {
    if (typeof member !== 'string' || !member.startsWith(MARK)) return member
    const rest = member.slice(MARK.length)
    return rest.startsWith(MARK) ? rest : BigInt(rest)
  })
}

module.exports = { parse, stringify }
