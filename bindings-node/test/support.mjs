// The fake server, and what is left of a process.

import { readFileSync, readdirSync } from 'node:fs'

const program = process.env.MCP_RESIDENT_FIXTURES

/** The configuration of one fake named `s`. */
export function fake (script = {}, keys = {}) {
  return { mcpServers: { s: { command: program, args: ['fake', '--script', JSON.stringify(script)], ...keys } } }
}

/** How many threads of the library this process has. */
export function ioThreads () {
  const names = readdirSync('/proc/self/task').map((task) => {
    try {
      return readFileSync(`/proc/self/task/${task}/comm`, 'utf8').trim()
    } catch {
      return ''
    }
  })
  return names.filter((name) => name === 'mcp-resident-io').length
}

export const descriptors = () => readdirSync('/proc/self/fd').length

/** Waits for the thread's last return, which comes right after the outcome of the last close. */
export async function gone () {
  const end = Date.now() + 10_000
  while (ioThreads() > 0) {
    if (Date.now() > end) throw new Error('the thread is still there')
    await new Promise(setImmediate)
  }
}

export function alive (pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1][0] !== 'Z'
  } catch {
    return false
  }
}
