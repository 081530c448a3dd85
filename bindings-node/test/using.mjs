// `await using`, for versions of Node that have it.

import assert from 'node:assert/strict'
import { loadMcp } from '../lib/index.mjs'
import { fake, gone } from './support.mjs'

{
  await using source = await loadMcp(fake())
  assert.equal((await source.tool('s_echo').execute({ text: 'hi' })).output, 'hi')
}
await gone()
console.log(`1 passed, 0 failed (await using, node ${process.version})`)
