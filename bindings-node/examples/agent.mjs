// A small agent: loads a configuration, lists its tools, calls one, and goes on when the server is killed.
//
//     node agent.mjs mcp.json TOOL '{"text": "hello"}'

import { loadMcp } from 'mcp-resident'

const [config, name, args] = process.argv.slice(2)

/** Calls a tool that does no harm, and once more when the server was lost under the call. */
async function ask (tool) {
  let result = await tool.execute(args)
  if (result.metadata.error?.kind === 'dropped') {
    console.log('lost:', result.output)
    result = await tool.execute(args)
  }
  console.log('answer:', result.output)
}

const source = await loadMcp(config, { resident: true })
source.onStateChange((server, state) => console.log(`${server} is ${state}`))
console.log('tools:', source.tools.map((tool) => tool.name).join(', '))
const tool = source.tool(name)
if (tool === undefined) throw new Error(`there is no tool ${name}`)
await ask(tool)

const { processId } = source.info(tool.server)
if (processId !== undefined) {
  process.kill(processId, 'SIGKILL')
  console.log('killed', tool.server)
  await ask(tool)
}
await source.close()
