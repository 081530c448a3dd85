// Whole processes: their ends, workers, and both kinds of module.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { alive, fake } from './support.mjs'

const limits = { timeout: 60_000 }
const index = new URL('../lib/index.mjs', import.meta.url)
const config = JSON.stringify(fake())

/** Runs a program; fails unless it ends by itself, with exit code 0. */
async function run (program) {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { timeout: 30_000 })
  return stdout.trim()
}

test('a process ends by itself after the close', limits, async () => {
  await run(`import { loadMcp } from '${index}'
    const source = await loadMcp(${config})
    source.onEvent(() => {})
    await source.close()`)
})

test('a process that forgets to close ends by itself and takes its servers with it', limits, async () => {
  const pid = await run(`import { loadMcp } from '${index}'
    const source = await loadMcp(${config})
    source.onEvent(() => {})
    console.log(source.info('s').processId)`)
  assert.equal(alive(Number(pid)), false)
})

test('a promise that is waited for keeps the process alive', limits, async () => {
  const output = await run(`import { loadMcp } from '${index}'
    const source = await loadMcp(${config})
    source.tool('s_sleep').execute({ ms: 50 }).then(({ output }) => console.log(output))`)
  assert.equal(output, 'slept')
})

test('an exit with calls in flight ends well', limits, async () => {
  for (let round = 0; round < 5; round++) {
    const pid = await run(`import { loadMcp } from '${index}'
      const source = await loadMcp(${config})
      for (let call = 0; call < 50; call++) source.tool('s_sleep').execute({ ms: 60000 })
      await source.tool('s_echo').execute({ text: 'sent' })
      console.log(source.info('s').processId)
      process.exit(0)`)
    assert.equal(alive(Number(pid)), false)
  }
})

test('workers have sources of their own, and may be ended in the middle of a call', limits, async () => {
  const program = `import { parentPort } from 'node:worker_threads'
    import { loadMcp } from '${index}'
    const source = await loadMcp(${config})
    source.tool('s_sleep').execute({ ms: 60000 })
    const { output } = await source.tool('s_echo').execute({ text: 'worker' })
    parentPort.postMessage({ output, pid: source.info('s').processId })`
  const workers = Array.from({ length: 3 }, () => new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`)))
  const messages = workers.map((worker) => new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject)))
  for (const [place, message] of messages.entries()) {
    const { output, pid } = await message
    assert.equal(output, 'worker')
    await workers[place].terminate()
    // The worker's objects were collected with it, which closes its source; the server has a moment to end.
    while (alive(pid)) await setTimeout(5)
  }
})

test('CommonJS has the same', limits, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', `
    const { loadMcp } = require('${new URL('../lib/index.cjs', import.meta.url).pathname}')
    loadMcp(${config}).then(async (source) => {
      console.log((await source.tool('s_echo').execute({ text: 'common' })).output)
      await source.close()
    })`], { timeout: 30_000 })
  assert.equal(stdout.trim(), 'common')
})
