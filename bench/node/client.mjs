// Does the work of one cell through one library, and prints what it took as JSON.
//
//     node client.mjs ours|client2|sdk1 WORK
//
// WORK is as for `bench/python/client.py`. Started by `mcp-resident-bench languages`, from a folder in which the libraries are
// installed.

import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

const LARGE_TEXT_BYTES = 10 * 1024 * 1024
/** One call in this many is made before the clocks start. */
const WARM_UP_PART = 10

/** Each imports a library, and gives what opens servers: `call(place, tool)`, the number of all tools, and `close`. */
const libraries = {
  /** This library with its defaults. */
  async ours () {
    const { loadMcp } = await import('mcp-resident')
    return (servers) => own(loadMcp, servers)
  },

  async client2 () {
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
    const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
    return (servers) => official(Client, StdioClientTransport, StreamableHTTPClientTransport, servers)
  },

  async sdk1 () {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js')
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
    return (servers) => official(Client, StdioClientTransport, StreamableHTTPClientTransport, servers)
  }
}

async function own (loadMcp, servers) {
  const source = await loadMcp({ mcpServers: Object.fromEntries(servers.map((server, place) => [`s${place}`, server])) })
  return {
    tools: source.tools.length,
    call (place, name) {
      const tool = source.tool(`s${place}_${name}`)
      return async (args) => (await tool.execute(args)).output
    },
    close: () => source.close()
  }
}

/** Both official SDKs: a client for each server, all connected at once, and their tools listed. */
async function official (Client, Stdio, Http, servers) {
  const opened = await Promise.all(servers.map(async (server) => {
    const client = new Client({ name: 'bench', version: '1' })
    await client.connect(server.url ? new Http(new URL(server.url)) : new Stdio(server))
    return { client, tools: (await client.listTools()).tools }
  }))
  return {
    tools: opened.reduce((sum, { tools }) => sum + tools.length, 0),
    call: (place, name) => async (args) => (await opened[place].client.callTool({ name, arguments: args })).content[0].text,
    close: () => Promise.all(opened.map(({ client }) => client.close()))
  }
}

const kinds = {
  async calls (open, work) {
    const latencies = []
    let textBytes = 0
    const large = work.tool === 'large'
    const { call: caller, close } = await open(work.servers)
    const call = caller(0, work.tool)

    async function worker (count) {
      for (let number = 0; number < count; number++) {
        const sent = String(number).padStart(8, '0')
        const start = process.hrtime.bigint()
        const text = await call({ text: sent })
        latencies.push(Number(process.hrtime.bigint() - start))
        if (large ? text.length !== LARGE_TEXT_BYTES : text !== sent) throw new Error(`call ${number} was answered with another text`)
        textBytes += text.length
      }
    }
    async function workers (count) {
      const each = Math.max(1, Math.floor(count / work.inFlight))
      await Promise.all(Array.from({ length: work.inFlight }, () => worker(each)))
    }

    await workers(Math.floor(work.calls / WARM_UP_PART))
    latencies.length = 0
    textBytes = 0
    const [begun, cpuBegun] = [process.hrtime.bigint(), process.cpuUsage()]
    await workers(work.calls)
    const { user, system } = process.cpuUsage(cpuBegun)
    const wall = Number(process.hrtime.bigint() - begun) / 1e9
    await close()
    latencies.sort((a, b) => a - b)
    const answers = latencies.length
    return {
      metrics: {
        median_micros: latencies[Math.floor(answers / 2)] / 1e3,
        cpu_micros: (user + system) / answers,
        calls_per_second: answers / wall
      },
      work: { answers, text_bytes: textBytes }
    }
  },

  async load (open, work) {
    const begun = performance.now()
    const { tools, close } = await open(work.servers)
    const metrics = { load_millis: performance.now() - begun }
    await close()
    return { metrics, work: { answers: tools, text_bytes: 0 } }
  },

  async idle (open, work) {
    const { tools, close } = await open(work.servers)
    await setTimeout(1_000)
    const kib = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'ascii'))[1])
    await close()
    return { metrics: { process_mib: kib / 1024 }, work: { answers: tools, text_bytes: 0 } }
  }
}

const [library, work] = [process.argv[2], JSON.parse(process.argv[3])]
console.log(JSON.stringify(await kinds[work.do](await libraries[library](), work)))
