'use strict'

const hub = require('./hub.cjs')
const { McpSource, hold, local, options: written } = require('./source.cjs')
const { guarded } = require('./errors.cjs')

const asyncDispose = Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')

/** The tools of one exchange, which stay as they are. */
class Exchange {
  #native
  #source

  constructor (native, source) {
    this.#native = native
    this.#source = source
    this.tools = native.tools().map((tool) => source[hold](tool))
  }

  tool (name) {
    const native = this.#native.tool(name)
    return native === null ? undefined : this.#source[hold](native)
  }
}

/** The servers of a user and a project, used over many exchanges with a model, until `close`. */
class Session {
  #native

  constructor (native, load, bigints) {
    this.#native = native
    this.source = new McpSource(native.source(), load, bigints)
  }

  get untrusted () {
    return JSON.parse(this.#native.untrusted())
  }

  async exchange ({ signal } = {}) {
    signal?.throwIfAborted()
    return new Exchange(await hub.outcome(guarded(() => this.#native.exchange()), signal), this.source)
  }

  async reload () {
    return hub.outcome(guarded(() => this.#native.reload()))
  }

  async trust (choice) {
    return hub.outcome(guarded(() => this.#native.trust(JSON.stringify(choice))))
  }

  close () {
    return this.source.close()
  }

  [asyncDispose] () {
    return this.close()
  }
}

async function openSession ({ waitFor, bigints = false, userConfig, projectConfig, ...others } = {}) {
  const files = { userConfig: local(userConfig), projectConfig: local(projectConfig) }
  const operation = guarded(() => hub.queue.session(written({ ...others, ...files }), waitFor !== undefined))
  if (waitFor !== undefined) hub.asking.set(operation, waitFor)
  try {
    return new Session(await hub.outcome(operation), operation, bigints)
  } catch (error) {
    hub.asking.delete(operation)
    throw error
  }
}

module.exports = { Exchange, Session, openSession }
