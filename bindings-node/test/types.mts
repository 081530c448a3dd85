// Compiled and never run: the whole surface as a program in TypeScript uses it.

import {
  type Answer, type Event, type InventoryEntry, type Json, type Reloaded, type State, type Status, type UntrustedServer,
  Exchange, McpError, McpSource, Session, Tool, ToolResult,
  errorKinds, failureKinds, listMcpTools, loadMcp, openSession, parseJson, stringifyJson
} from 'mcp-resident'

export async function whole (signal: AbortSignal): Promise<void> {
  await using source: McpSource = await loadMcp(new URL('file:///mcp.json'), {
    waitFor: async (request): Promise<Answer> => ({ id: request.id, ok: true, data: request.data?.schema }),
    signal,
    resident: true,
    autoRestart: { maxRetries: 3, backoffMs: 250 },
    liveToolList: true,
    defaultInheritEnv: ['HOME'],
    expand: 'all',
    wait: 500,
    baseDir: '/',
    cacheDir: new URL('file:///cache'),
    spillDir: '/spill',
    logDir: new URL('file:///log'),
    environment: { PATH: '/bin' },
    secretCommands: false,
    limits: { maxTools: 10 },
    guardian: true,
    replayRepeatableCalls: false,
    validateArguments: true,
    clientInfo: { name: 'n', version: 'v' },
    bigints: true
  })
  const tools: Tool[] = source.tools
  const tool = source.tool('x')
  const result: ToolResult | undefined = await tool?.execute({ n: 1n }, { signal, timeout: 1_000, onProgress: ({ progress }) => progress })
  const content: Json[] | undefined = result?.content
  if (result?.metadata.error?.kind === 'dropped') console.log(result.metadata.error.exit?.signal)
  const status: { [server: string]: Status } = source.status
  const state: State = await source.waitFor('s', ['running', 'error'], 1_000, { signal })
  const stop: () => void = source.onStateChange((server: string, state: State) => console.log(server, state))
  source.onToolsChange((server) => server.length)
  source.onEvent((event: Event) => event.sequence)
  await source.restart('s', { signal })
  const inventory: InventoryEntry[] = await listMcpTools({ mcpServers: {} })
  const error = new McpError('config', 'm')
  console.log(tools, content, status, state, stop, inventory, error.code, errorKinds, failureKinds)
  console.log(parseJson('1', { bigints: true }), stringifyJson(1), source.ownerOf('x')?.tool, source.info('s').lastError?.kind)
  // @ts-expect-error there is no such option
  await loadMcp('mcp.json', { residents: true })
}

export async function session (): Promise<Tool | undefined> {
  await using opened: Session = await openSession({
    baseDir: new URL('file:///work'),
    projectTrust: ['f'],
    userConfig: 'mcp.json',
    projectConfig: new URL('file:///work/mcp.json'),
    exposure: 'deferred',
    exchangeWaitMs: 10,
    resident: true
  })
  const exchange: Exchange = await opened.exchange({ signal: AbortSignal.timeout(1) })
  const untrusted: UntrustedServer[] = opened.untrusted
  const changes: Reloaded = await opened.trust(untrusted.map((server) => server.fingerprint))
  const again: Reloaded = await opened.reload()
  return exchange.tools.find((tool) => tool.server === [...changes.added, ...again.removed][0]) ?? exchange.tool('x')
}
