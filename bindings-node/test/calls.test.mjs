import assert from 'node:assert/strict'
import { test } from 'node:test'
import { McpError, errorKinds, failureKinds, listMcpTools, loadMcp, parseJson, stringifyJson } from '../lib/index.mjs'
import { descriptors, fake, gone } from './support.mjs'

const limits = { timeout: 60_000 }

test('two hundred calls at once each get their own answer', limits, async () => {
  const source = await loadMcp(fake())
  const echo = source.tool('s_echo')
  const texts = Array.from({ length: 200 }, (_, n) => String(n))
  const results = await Promise.all(texts.map((text) => echo.execute({ text })))
  assert.deepEqual(results.map((result) => result.output), texts)
  await source.close()
})

test('nothing is left after the close', limits, async () => {
  await (await loadMcp(fake())).close()
  await gone()
  const before = descriptors()
  for (let round = 0; round < 3; round++) {
    const source = await loadMcp(fake())
    await source.tool('s_add').execute({ a: 1, b: 2 })
    await source.close()
    await source.close()
    await gone()
  }
  assert.equal(descriptors(), before)
})

test('the older contract is a drop-in', limits, async () => {
  const controller = new AbortController()
  const source = await loadMcp(fake(), { waitFor: undefined, signal: controller.signal })
  assert.deepEqual(source.status, { s: 'connected' })
  const tool = source.tools.find(({ name }) => name === 's_echo')
  assert.equal(tool.inputSchema.additionalProperties, false)
  assert.equal(tool.source, 'mcp')
  const { output, isError, metadata } = await tool.execute({ text: 'hi' }, { timeout: 20_000, signal: controller.signal })
  assert.deepEqual({ output, isError, metadata }, { output: 'hi', isError: false, metadata: { server: 's', tool: 'echo' } })
  await source.close()
})

test('fifty calls in flight when the server is killed', limits, async () => {
  const source = await loadMcp(fake(), { resident: true })
  const calls = Array.from({ length: 50 }, () => source.tool('s_sleep').execute({ ms: 60_000 }))
  // Answered behind the others, so all of them have been sent.
  await source.tool('s_echo').execute({ text: 'sent' })
  process.kill(source.info('s').processId, 'SIGKILL')
  for (const { metadata } of await Promise.all(calls)) {
    assert.equal(metadata.error.kind, 'dropped')
    assert.deepEqual(metadata.error.exit, { signal: 9 })
  }
  assert.equal((await source.tool('s_echo').execute({ text: 'back' })).output, 'back')
  await source.close()
})

test('a signal ends calls with a result, and loads with its reason', limits, async () => {
  const source = await loadMcp(fake())
  const sleep = source.tool('s_sleep')
  const later = new AbortController()
  const call = sleep.execute({ ms: 60_000 }, { signal: later.signal })
  later.abort()
  assert.equal((await call).metadata.error.kind, 'cancelled')
  assert.equal((await sleep.execute({ ms: 60_000 }, { signal: AbortSignal.abort() })).metadata.error.kind, 'cancelled')
  await source.close()

  const hanging = fake({ never_answer: ['initialize'] })
  await assert.rejects(loadMcp(hanging, { signal: AbortSignal.abort(new Error('mine')) }), /^Error: mine$/)
  const aborted = new AbortController()
  const load = loadMcp(hanging, { signal: aborted.signal })
  aborted.abort(new Error('mine too'))
  await assert.rejects(load, /^Error: mine too$/)
  await gone()
})

test('progress comes in order and before the result', limits, async () => {
  const source = await loadMcp(fake())
  const seen = []
  const result = await source.tool('s_sleep').execute({ ms: 20, progress_ms: 5 }, { onProgress: (p) => seen.push(p.progress) })
  assert.equal(result.output, 'slept')
  const count = seen.length
  assert.ok(count > 0)
  assert.deepEqual(seen, [...seen].sort((a, b) => a - b))
  await source.tool('s_echo').execute({ text: 'x' })
  assert.equal(seen.length, count)
  await source.close()
})

test('observers are told in order up to the close, and may throw', limits, async () => {
  const warnings = []
  process.on('warning', (warning) => warnings.push(warning.code))
  const source = await loadMcp(fake())
  const states = []
  const sequences = []
  const unsubscribe = source.onStateChange((server, state) => {
    states.push([server, state])
    throw new Error("an observer's own")
  })
  source.onEvent(({ sequence }) => sequences.push(sequence))
  await source.restart('s')
  assert.deepEqual(states, [['s', 'stopped'], ['s', 'starting'], ['s', 'running']])
  unsubscribe()
  await source.close()
  assert.equal(states.length, 3)
  assert.deepEqual(sequences, sequences.map((_, place) => sequences[0] + place))
  assert.equal(sequences.at(-1), source.events().at(-1).sequence)
  await new Promise(setImmediate)
  assert.deepEqual(warnings, Array(3).fill('MCP_RESIDENT_CALLBACK'))
})

for (const [kind, waitFor, agreed] of [
  ['sync', () => ({ ok: true, data: { name: 'Ada' } }), true],
  ['async', async () => ({ ok: true, data: { name: 'Ada' } }), true],
  ['throwing', () => { throw new Error("the host's own") }, false],
  ['rejecting', async () => { throw new Error("the host's own") }, false],
  ['silent', () => undefined, false]
]) {
  test(`waitFor: ${kind}`, limits, async () => {
    const asked = []
    const source = await loadMcp(fake(), {
      waitFor: (request) => {
        asked.push(request.prompt)
        return waitFor(request)
      }
    })
    const { output } = await source.tool('s_elicit').execute({ message: 'who?' })
    assert.equal(output.includes('Ada'), agreed)
    assert.deepEqual(asked, ['who?'])
    await source.close()
  })
}

test('a person may take longer than the timeout of the call', limits, async () => {
  let answer
  const asked = new Promise((resolve) => {
    answer = resolve
  })
  const source = await loadMcp(fake(), { waitFor: (request) => new Promise((resolve) => answer({ request, resolve })) })
  const call = source.tool('s_elicit').execute({ message: 'who?' }, { timeout: 30 })
  const { resolve } = await asked
  await new Promise((resolve) => setTimeout(resolve, 100))
  resolve({ ok: true, data: { name: 'Ada' } })
  assert.match((await call).output, /Ada/)
  await source.close()
})

test('a tool is the same object while its definition is', limits, async () => {
  const source = await loadMcp(fake())
  const tool = source.tool('s_echo')
  await source.refresh()
  assert.equal(source.tool('s_echo'), tool)
  assert.ok(source.tools.includes(tool))
  assert.deepEqual(source.ownerOf('s_echo'), { server: 's', tool: 'echo' })
  assert.equal(source.nameOf('s', 'echo'), 's_echo')
  assert.equal(source.ownerOf('nobody'), undefined)
  await source.close()
})

test('errors have a code', limits, async () => {
  const source = await loadMcp(fake())
  await assert.rejects(source.restart('nobody'), (error) => error instanceof McpError && error.code === 'unknown_server')
  assert.throws(() => source.state('nobody'), { code: 'unknown_server', message: /there is no server `nobody`/ })
  await assert.rejects(source.waitFor('s', 'gone', 1), /there is no state/)
  await source.close()
  await assert.rejects(loadMcp('/nowhere/mcp.json'), { code: 'config' })
  await assert.rejects(loadMcp(fake(), { residents: true }), { code: 'config', message: /`residents`/ })
  await assert.rejects(loadMcp(fake(), { wait: 'soon' }), { code: 'config', message: /`wait` must be/ })
  assert.equal(errorKinds.length, 13)
  assert.ok(errorKinds.includes('forked') && failureKinds.includes('dropped'))
})

test('an inventory leaves nothing', limits, async () => {
  const [entry] = await listMcpTools(fake())
  assert.equal(entry.status, 'connected')
  assert.ok(entry.tools.some(({ name }) => name === 'echo'))
  await gone()
})

test('values are exact', limits, async () => {
  const source = await loadMcp(fake(), { bigints: true })
  const raw = '{"content":[{"type":"text","text":"\\ud800 \\ud83d\\ude00 \\u0000n7"}],"structuredContent":{"big":18446744073709551616,"f":1e2,"small":7}}'
  const result = await source.tool('s_raw').execute(`{"result": ${raw}}`)
  assert.equal(result.raw, raw)
  assert.equal(result.content[0].text, '\ud800 \u{1f600} \0n7')
  assert.deepEqual(result.structuredContent, { big: 2n ** 64n, f: 100, small: 7 })
  const echoed = await source.tool('s_structured').execute({ value: { n: 2n ** 70n, text: '\0n5', lone: '\udc00' } })
  assert.deepEqual(echoed.structuredContent, { n: 2n ** 70n, text: '\0n5', lone: '\udc00' })
  const long = await source.tool('s_big').execute({ bytes: 100_000 })
  assert.equal(long.output.length, 100_000)
  assert.equal(long.content[0].text, long.output)
  assert.equal((await source.tool('s_echo').execute([])).metadata.error.kind, 'arguments')
  await source.close()
})

test('JSON with integers of any size goes round', () => {
  for (const text of ['1', '18446744073709551616', '[-9007199254740993,1.5,"9007199254740993"]', '{"\\u0000n1":"\\u0000n1"}']) {
    assert.equal(stringifyJson(parseJson(text, { bigints: true })), text)
  }
  assert.equal(stringifyJson(undefined), undefined)
})

test('who has only a tool, or only observes, still has the source', limits, async () => {
  const collect = () => new Promise((resolve) => setImmediate(() => resolve(globalThis.gc?.())))
  const load = async () => {
    const source = await loadMcp(fake())
    return source.tool('s_echo')
  }
  const echo = await load()
  for (let round = 0; round < 5; round++) await collect()
  assert.equal((await echo.execute({ text: 'there' })).output, 'there')
})
