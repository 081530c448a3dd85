// The host program for Node: does through the public API what the driver asks, and tells what it saw. What a host does is
// in the README of the fixtures.

import { createInterface } from 'node:readline'
import { McpError, listMcpTools, loadMcp, openSession } from '../lib/index.mjs'

let source, session, exchange
const remembered = new Map()
const running = new Map()
const questions = []

const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)

function find (name, label) {
  const found = label === undefined
    ? (exchange ?? source).tool(name)
    : remembered.get(label).find((tool) => tool.name === name)
  if (found === undefined) throw new Error(`there is no tool ${name}`)
  return found
}

function waitFor (request) {
  return new Promise((resolve) => {
    questions.push(resolve)
    tell({ question: questions.length - 1, request })
  })
}

/** The tools that all requests are about: an exchange's, once one was begun. */
const listed = () => session === undefined ? source.tools : exchange?.tools ?? []

function takeOver (loaded) {
  source = loaded
  exchange = undefined
  source.onEvent((event) => tell({ event }))
}

/** The text of a member: what `JSON.parse` made of it would be written in other words. */
function textOf (line, name) {
  const start = line.indexOf(`"${name}":`) + name.length + 3
  for (let end = line.length - 1; end > start; end--) {
    try {
      JSON.parse(line.slice(start, end))
      return line.slice(start, end)
    } catch {}
  }
}

const verbs = {
  async load ({ config, options, asks }, signal) {
    takeOver(await loadMcp(config, { ...options, signal, ...(asks && { waitFor }) }))
    session = undefined
  },
  async open ({ options, asks }) {
    session = await openSession({ ...options, ...(asks && { waitFor }) })
    takeOver(session.source)
  },
  async exchange () {
    exchange = await session.exchange()
  },
  untrusted: () => session.untrusted,
  trust: ({ choice }) => session.trust(choice),
  async inventory ({ config, options }, signal) {
    const entries = await listMcpTools(config, { ...options, signal })
    return entries.map((entry) => ({ ...entry, error: entry.error?.message }))
  },
  async execute ({ tool, arguments: args, timeoutMs, remembered: label }, signal) {
    const result = await find(tool, label).execute(args, { signal, timeout: timeoutMs })
    return { output: result.output, isError: result.isError, metadata: result.metadata }
  },
  start: ({ server }, signal) => source.start(server, { signal }),
  stop: ({ server }) => source.stop(server),
  restart: ({ server }, signal) => source.restart(server, { signal }),
  refresh: ({ server }) => source.refresh(server),
  reload: ({ config }, signal) => session === undefined ? source.reload(config, { signal }) : session.reload(),
  wait_for: ({ server, states, timeoutMs }) => source.waitFor(server, states, timeoutMs),
  close: () => source.close(),
  tools: () =>
    listed().map((tool) => ({
      ...tool,
      inputSchema: tool.schemaJson('input'),
      serverSchema: tool.schemaJson('server')
    })),
  status: () => source.status,
  state: ({ server }) => source.state(server),
  info: ({ server }) => {
    const info = source.info(server)
    return { ...info, lastError: info.lastError?.message }
  },
  problems: () => source.problems,
  events: ({ after }) => source.events(after),
  remember: ({ label }) => void remembered.set(label, listed()),
  same_tool: ({ tool, since }) => find(tool) === find(tool, since),
  cancel: ({ request }) => running.get(request)?.abort(new McpError('cancelled', 'the caller cancelled')),
  answer: ({ question, answer }) => questions[question](answer)
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, do: verb, ...asked } = JSON.parse(line)
  if (asked.arguments !== undefined) asked.arguments = textOf(line, 'arguments')
  const cancel = new AbortController()
  running.set(id, cancel)
  const work = async () => verbs[verb](asked, cancel.signal)
  work().then(
    (ok) => tell({ id, ok: ok ?? null }),
    (error) => {
      const { code, server, message } = error
      tell({ id, error: error instanceof McpError ? { kind: code, server, message } : { kind: 'host', message } })
    }
  )
}
