'use strict'
// One queue for this environment: what arrives is handed to promises and callbacks, in order.

const { isMainThread } = require('node:worker_threads')
const native = require('./native.cjs')
const kinds = require('./deliveries.cjs')
const json = require('./json.cjs')
const { fromForm } = require('./errors.cjs')

/** A little more than the limit of a whole close. */
const EXIT_LIMIT_MS = 7_000
/** The longest that a timer can be set for. */
const FOR_EVER_MS = 2 ** 31 - 1

const queue = new native.Queue(take)
/** What is done with the outcome of an operation. */
const pending = new Map()
const progress = new Map()
const observers = new Map()
const asking = new Map()

/** Keeps the process alive while an operation runs, and only then. */
const alive = setInterval(() => {}, FOR_EVER_MS).unref()

// Servers of a program that forgot to close them end with it. Other threads may have sources of their own, so a worker
// only lets go of its queue; its sources are closed when they are collected with it.
process.once('exit', () => {
  if (isMainThread) native.shutDown(EXIT_LIMIT_MS)
  else queue.close()
})

/** Notes an operation that was started; `settle` is told of its outcome by kind and values. */
function begin (operation, settle) {
  if (pending.size === 0) alive.ref()
  pending.set(operation, settle)
}

/** The outcome of an operation as a promise. */
function outcome (operation, signal) {
  return new Promise((resolve, reject) => {
    const stop = signal && whenAborted(signal, () => queue.cancel(operation))
    begin(operation, (kind, value) => {
      stop?.()
      if (kind === kinds.LOADED) return resolve(value)
      if (kind === kinds.DONE) return resolve(value === undefined ? undefined : JSON.parse(value))
      const error = fromForm(value)
      reject(signal?.aborted && error.code === 'cancelled' ? signal.reason : error)
    })
  })
}

/** Calls `then` once when a signal is or gets aborted. Returns what ends that. */
function whenAborted (signal, then) {
  if (signal.aborted) {
    then()
    return () => {}
  }
  signal.addEventListener('abort', then, { once: true })
  return () => signal.removeEventListener('abort', then)
}

/** Takes what has arrived. Called by the native half with the first batch, and once for all that is ready. */
function take (batch) {
  for (;;) {
    for (let place = 0; place < batch.length; place += kinds.STRIDE) {
      hand(batch[place], batch[place + 1], batch[place + 2], batch[place + 3])
    }
    if (batch.length < kinds.STRIDE * kinds.BATCH) return
    batch = queue.take()
  }
}

function hand (kind, id, first, second) {
  if (kind <= kinds.LOADED) {
    const settle = pending.get(id)
    pending.delete(id)
    if (pending.size === 0) alive.unref()
    settle?.(kind, first, second)
  } else if (kind === kinds.PROGRESS) {
    tell(progress.get(id), first)
  } else if (kind === kinds.EVENT) {
    tell(observers.get(id)?.observer, first)
  } else if (kind === kinds.QUESTION) {
    ask(id, first, JSON.parse(second))
  }
}

function tell (observer, text) {
  if (observer === undefined) return
  try {
    observer(JSON.parse(text))
  } catch (error) {
    report(error)
  }
}

/** A host's callback has failed, which must not end the process. */
function report (error) {
  const detail = error instanceof Error ? error.stack : String(error)
  process.emitWarning('a callback given to mcp-resident has thrown', { code: 'MCP_RESIDENT_CALLBACK', detail })
}

async function ask (question, load, request) {
  let answer
  try {
    answer = await asking.get(load)?.(request)
  } catch (error) {
    report(error)
  }
  queue.answer(question, request.id, json.stringify(answer) ?? 'null')
}

module.exports = { asking, begin, observers, outcome, progress, queue, whenAborted }
