'use strict'

const json = require('./json.cjs')

/** What a call gave: the text for a model, and everything that came with it. */
class ToolResult {
  #raw
  #bigints

  constructor (output, isError, metadata, raw, bigints) {
    this.output = output
    this.isError = isError
    this.metadata = metadata
    this.#raw = raw
    this.#bigints = bigints
  }

  get raw () {
    // A long text stays with the native half until somebody wants it.
    if (this.#raw !== null && typeof this.#raw === 'object') this.#raw = this.#raw.read()
    return this.#raw ?? undefined
  }

  get content () {
    return this.#member('content')
  }

  get structuredContent () {
    return this.#member('structuredContent')
  }

  get meta () {
    return this.#member('_meta')
  }

  #member (name) {
    const raw = this.raw
    return raw === undefined ? undefined : json.parse(raw, { bigints: this.#bigints })[name] ?? undefined
  }
}

module.exports = { ToolResult }
