'use strict'

const hub = require('./hub.cjs')
const json = require('./json.cjs')
const kinds = require('./deliveries.cjs')
const { ToolResult } = require('./result.cjs')
const { fromForm, guarded } = require('./errors.cjs')

/** One tool of one server, under the name that a model sees. */
class Tool {
  #native
  /** Who has only tools still has their source: it is not collected, which would close it. */
  #owner
  #bigints
  #schemas = new Map()

  constructor (native, owner, bigints) {
    const [name, description, server, serverTool, title] = native.facts()
    this.name = name
    this.description = description
    this.server = server
    this.serverTool = serverTool
    this.title = title ?? undefined
    this.source = 'mcp'
    this.#native = native
    this.#owner = owner
    this.#bigints = bigints
  }

  get inputSchema () {
    return this.#schema('input')
  }

  get serverSchema () {
    return this.#schema('server')
  }

  get outputSchema () {
    return this.#schema('output')
  }

  get annotations () {
    return this.#schema('annotations')
  }

  schemaJson (which = 'input') {
    return this.#native.schema(which) ?? undefined
  }

  execute (args, { signal, timeout, onProgress } = {}) {
    return new Promise((resolve, reject) => {
      const given = typeof args === 'string' || args === undefined ? args : json.stringify(args)
      const operation = guarded(() => this.#native.execute(given, timeout, onProgress !== undefined))
      const stop = signal && hub.whenAborted(signal, () => hub.queue.cancel(operation))
      if (onProgress !== undefined) hub.progress.set(operation, onProgress)
      hub.begin(operation, (kind, output, rest) => {
        stop?.()
        if (onProgress !== undefined) hub.progress.delete(operation)
        // What a server did is a result. Only the library's own failure is none.
        if (kind === kinds.FAILED) reject(fromForm(output))
        else resolve(this.#result(kind, output, rest))
      })
    })
  }

  #result (kind, output, rest) {
    if (kind === kinds.CALLED) {
      const metadata = { server: this.server, tool: this.serverTool }
      return new ToolResult(output, false, metadata, rest, this.#bigints)
    }
    // Its text stays with the native half until somebody wants it.
    const told = output
    return new ToolResult(told.output(), told.isError(), JSON.parse(told.metadata()), told, this.#bigints)
  }

  #schema (which) {
    if (!this.#schemas.has(which)) {
      const text = this.#native.schema(which)
      this.#schemas.set(which, text === null ? undefined : JSON.parse(text))
    }
    return this.#schemas.get(which)
  }
}

module.exports = { Tool }
