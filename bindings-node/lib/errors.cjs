'use strict'

/** A failure of loading, starting, restarting, listing or closing. A failed call is a result instead. */
class McpError extends Error {
  constructor (code, message, server, options) {
    super(message, options)
    this.name = 'McpError'
    /** The stable code, the same in every language. */
    this.code = code
    /** The server that failed, when it was one. */
    this.server = server
  }
}

/** The error of a JSON form. */
function fromForm (text) {
  const { kind, message, server } = JSON.parse(text)
  return new McpError(kind, message, server)
}

/** Calls the native half; what it throws is the JSON form of an error. */
function guarded (call) {
  try {
    return call()
  } catch (error) {
    if (error?.message?.startsWith?.('{"kind":')) throw fromForm(error.message)
    throw error
  }
}

module.exports = { McpError, fromForm, guarded }
