'use strict'

const { fileURLToPath } = require('node:url')
const hub = require('./hub.cjs')
const json = require('./json.cjs')
const { Tool } = require('./tool.cjs')
const { guarded } = require('./errors.cjs')

/** How a session gets a tool of its exchange as its source has it. */
const hold = Symbol('hold')
const asyncDispose = Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')

/** The servers of a configuration, kept usable until `close`. */
class McpSource {
  #native
  #load
  #bigints
  #version
  #tools = []
  #byId = new Map()
  #byName = new Map()
  /** Tools that are not in the list, for as long as somebody has them. */
  #others = new Map()
  #subscriptions = new Set()

  constructor (native, load, bigints) {
    this.#native = native
    this.#load = load
    this.#bigints = bigints
  }

  get tools () {
    this.#renew()
    return this.#tools.slice()
  }

  tool (name) {
    this.#renew()
    return this.#byName.get(name)
  }

  get status () {
    return JSON.parse(this.#native.status())
  }

  get servers () {
    return this.#native.servers()
  }

  get problems () {
    return JSON.parse(this.#native.problems())
  }

  state (server) {
    return guarded(() => this.#native.state(server))
  }

  info (server) {
    return JSON.parse(guarded(() => this.#native.info(server)))
  }

  events (after = 0) {
    return JSON.parse(this.#native.events(after))
  }

  ownerOf (name) {
    const owner = this.#native.ownerOf(name)
    return owner === null ? undefined : { server: owner[0], tool: owner[1] }
  }

  nameOf (server, tool) {
    return this.#native.nameOf(server, tool) ?? undefined
  }

  async start (server, { signal } = {}) {
    signal?.throwIfAborted()
    await hub.outcome(guarded(() => this.#native.start(server)), signal)
  }

  async stop (server) {
    await hub.outcome(guarded(() => this.#native.stop(server)))
  }

  async restart (server, { signal } = {}) {
    signal?.throwIfAborted()
    await hub.outcome(guarded(() => this.#native.restart(server)), signal)
  }

  async refresh (server) {
    await hub.outcome(guarded(() => this.#native.refresh(server)))
  }

  async reload (config, { signal } = {}) {
    signal?.throwIfAborted()
    const [text, isPath] = config == null ? [undefined, false] : configuration(config)
    return hub.outcome(guarded(() => this.#native.reload(text, isPath)), signal)
  }

  async waitFor (server, states, timeout, { signal } = {}) {
    signal?.throwIfAborted()
    const wanted = typeof states === 'string' ? [states] : [...states]
    return hub.outcome(guarded(() => this.#native.waitFor(server, wanted, timeout)), signal)
  }

  onStateChange (observer) {
    return this.#observe('states', (event) => observer(event.server, event.to))
  }

  onToolsChange (observer) {
    return this.#observe('tools', (event) => observer(event.server))
  }

  onEvent (observer) {
    return this.#observe('events', observer)
  }

  async close () {
    await hub.outcome(guarded(() => this.#native.close()))
    for (const subscription of this.#subscriptions) hub.observers.delete(subscription)
    this.#subscriptions.clear()
    hub.asking.delete(this.#load)
  }

  [asyncDispose] () {
    return this.close()
  }

  [hold] (native) {
    this.#renew()
    const id = native.id()
    const known = this.#byId.get(id) ?? this.#others.get(id)?.deref()
    if (known !== undefined) return known
    const tool = new Tool(native, this, this.#bigints)
    for (const [other, held] of this.#others) if (held.deref() === undefined) this.#others.delete(other)
    this.#others.set(id, new WeakRef(tool))
    return tool
  }

  #observe (interest, observer) {
    const subscription = guarded(() => this.#native.subscribe(interest))
    // With the source: while it is observed it is not collected, which would close it.
    hub.observers.set(subscription, { observer, source: this })
    this.#subscriptions.add(subscription)
    return () => {
      hub.observers.delete(subscription)
      this.#subscriptions.delete(subscription)
      this.#native.unsubscribe(subscription)
    }
  }

  /** A tool that did not change stays the same object. */
  #renew () {
    const version = this.#native.toolsVersion()
    if (version === this.#version) return
    this.#version = version
    const known = this.#byId
    this.#byId = new Map()
    this.#tools = this.#native.tools().map((native) => {
      const id = native.id()
      const tool = known.get(id) ?? new Tool(native, this, this.#bigints)
      this.#byId.set(id, tool)
      return tool
    })
    this.#byName = new Map(this.#tools.map((tool) => [tool.name, tool]))
  }
}

/** A load as the native half takes it. Which options there are is the core's to say. */
function request (config, given) {
  return [...configuration(config), options(given)]
}

function options (given) {
  const entries = Object.entries(given).map(([name, value]) => [name, local(value)])
  return JSON.stringify(Object.fromEntries(entries))
}

/** The path or the JSON text, and which of the two. */
function configuration (config) {
  const path = local(config)
  const isPath = typeof path === 'string'
  return [isPath ? path : json.stringify(path) ?? 'null', isPath]
}

function local (value) {
  return value instanceof URL ? fileURLToPath(value) : value
}

async function loadMcp (config, { waitFor, signal, bigints = false, ...options } = {}) {
  signal?.throwIfAborted()
  const wanted = request(config, options)
  const operation = guarded(() => hub.queue.load(...wanted, waitFor !== undefined))
  if (waitFor !== undefined) hub.asking.set(operation, waitFor)
  try {
    return new McpSource(await hub.outcome(operation, signal), operation, bigints)
  } catch (error) {
    hub.asking.delete(operation)
    throw error
  }
}

async function listMcpTools (config, { waitFor, signal, ...options } = {}) {
  signal?.throwIfAborted()
  const wanted = request(config, options)
  const operation = guarded(() => hub.queue.inventory(...wanted, waitFor !== undefined))
  if (waitFor !== undefined) hub.asking.set(operation, waitFor)
  try {
    return await hub.outcome(operation, signal)
  } finally {
    hub.asking.delete(operation)
  }
}

module.exports = { McpSource, hold, listMcpTools, loadMcp, local, options }
