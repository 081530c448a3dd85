/** Where a server stands. */
export type State = 'stopped' | 'starting' | 'running' | 'error'
/** How a server's newest attempt to connect ended. */
export type Status = 'connected' | 'failed' | 'disabled'
/** Any JSON value; integers are `bigint` where {@link LoadOptions.bigints} asks for it. */
export type Json = null | boolean | number | bigint | string | Json[] | { [name: string]: Json }
/** A JSON Schema. */
export type JsonSchema = { [name: string]: unknown }

/** What a server asks a person. */
export interface Request {
  /** Names the question. */
  id: string
  kind: 'input' | 'authorization'
  /** The server's own words. */
  prompt: string
  /** Where the person is to go, for `authorization`. Show it whole, and open it only when the person agrees. */
  url?: string
  /** For `input`: which answer fits. */
  data?: { schema: JsonSchema }
  /** When the question ends without an answer, in milliseconds since 1970. */
  expiresAt: number
}

/** A person's answer. Anything else, and a callback that throws, counts as `cancelled`. */
export interface Answer {
  id?: string
  ok: boolean
  /** The values for a form, when `ok`. */
  data?: unknown
  reason?: 'declined' | 'cancelled' | 'expired'
}

/** Asks a person on behalf of a server. May take as long as the person does. */
export type WaitFor = (request: Request) => Answer | undefined | Promise<Answer | undefined>

/** The path of an `mcp.json`, or its content. */
export type Config = string | URL | { [name: string]: unknown }

/** What a host chooses. Without any of it nothing restarts, nothing is followed, and everything is inherited. */
export interface LoadOptions {
  /** Asks a person. Only with it are servers told that they may ask. */
  waitFor?: WaitFor
  /** Ends the load and leaves nothing of it; the promise is rejected with the signal's reason. */
  signal?: AbortSignal
  /** One switch for hosts that run for days: restart, live list, safe environment, expansion in all fields. */
  resident?: boolean
  /** Whether a lost server is started again by itself; `backoffMs` is the first wait, in milliseconds. */
  autoRestart?: boolean | { maxRetries?: number; backoffMs?: number }
  /** Whether a list that a server says it changed is fetched again. */
  liveToolList?: boolean
  /** The variables that servers without their own `inheritEnv` inherit. */
  defaultInheritEnv?: string[]
  /** Which fields are expanded. */
  expand?: 'headers' | 'all'
  /** For how many servers the load waits: a number is milliseconds. */
  wait?: 'all' | 'ready' | 'none' | number
  /** What relative paths are relative to. */
  baseDir?: string | URL
  /** Where listings of lazy servers are kept. */
  cacheDir?: string | URL
  /** Where results are saved that are longer than `maxOutputBytes`, or no text, until the close (SPEC 2.23). */
  spillDir?: string | URL
  /** Where `mcp.log` is written: what happens to servers, what they log, and their standard error (SPEC 2.24). */
  logDir?: string | URL
  /** The variables that servers see, in place of the process's. */
  environment?: { [name: string]: string }
  /** Whether values that begin with `!` are run as commands. */
  secretCommands?: boolean
  /** Limits by the keys of SPEC section 4; the unit is in the key's name. */
  limits?: { [key: string]: number }
  /** Whether a host that is killed takes its servers with it. On unless this says no. */
  guardian?: boolean
  /** Sends a call again that was running when the connection was lost, when its tool says that this does no harm. */
  replayRepeatableCalls?: boolean
  /** Checks the arguments of each call with its tool's own schema before anything is sent (SPEC 2.21). */
  validateArguments?: boolean
  /** How this host introduces itself. */
  clientInfo?: { name: string; version: string }
  /** Whether integers beyond 2^53 in results are `bigint`. Without it they lose digits; `raw` has them in any case. */
  bigints?: boolean
}

/** What a caller may say about one call. */
export interface CallContext {
  /** Cancels the call, which then ends with a result of kind `cancelled`. */
  signal?: AbortSignal
  /** How long the server may be silent, in milliseconds. Progress starts it anew. */
  timeout?: number
  /** Is told of progress: the `params` of each notification, in order and before the result. */
  onProgress?: (params: { [name: string]: unknown }) => void
}

/** Why a call has no result of the tool's own. */
export type FailureKind =
  | 'tool' | 'protocol' | 'arguments' | 'unavailable' | 'needs_auth' | 'dropped' | 'timeout' | 'cancelled' | 'closed'
  | 'withdrawn' | 'too_large' | 'internal'

/** Why a call failed. */
export interface CallError {
  kind: FailureKind
  /** Whether the tool may have had its effect. */
  executed: 'no' | 'yes' | 'unknown'
  /** One line: what happened and what to do. */
  message: string
  /** The code of the server's JSON-RPC error. */
  code?: number
  /** The data of the server's JSON-RPC error. */
  data?: unknown
  /** How the server's process ended, when that ended the call. */
  exit?: { code?: number; signal?: number }
  /** The end of what the server wrote to its standard error, when that ended the call. */
  stderrTail?: string
}

/** What a call gave: the text for a model, and everything that came with it. */
export class ToolResult {
  private constructor()
  /** The text for a model. */
  readonly output: string
  /** Whether the call failed, for whatever reason. */
  readonly isError: boolean
  readonly metadata: {
    server: string
    tool: string
    error?: CallError
    /** What `output` is the beginning of, when it was cut: its length, and where it is until the close (SPEC 2.23). */
    fullOutput?: { bytes: number; file?: string }
    /** What of the result is no text and was saved, until the close. */
    files?: { file: string; mediaType: string; bytes: number }[]
  }
  /** The whole result as the JSON text that the server sent; nothing when it sent none. */
  readonly raw: string | undefined
  /** The blocks of `content` as the server sent them. */
  readonly content: Json[] | undefined
  /** `structuredContent` as the server sent it. */
  readonly structuredContent: { [name: string]: Json } | undefined
  /** `_meta` as the server sent it. */
  readonly meta: { [name: string]: Json } | undefined
}

/** One tool of one server, under the name that a model sees. It is the same object as long as its definition is. */
export class Tool {
  private constructor()
  /** The name for a model: at most 64 characters of `[A-Za-z0-9_-]`, unique in its source. */
  readonly name: string
  /** What the tool does, in the server's words. */
  readonly description: string
  readonly title: string | undefined
  /** The server's name in the configuration. */
  readonly server: string
  /** The tool's own name on its server. */
  readonly serverTool: string
  readonly source: 'mcp'
  /** The schema of arguments for a model: the server's, as a closed object. */
  readonly inputSchema: JsonSchema
  /** The schema of arguments as the server gave it. */
  readonly serverSchema: JsonSchema
  /** The schema of `structuredContent`, when the server gave one. */
  readonly outputSchema: JsonSchema | undefined
  /** The server's hints about the tool. They are claims of the server, not facts. */
  readonly annotations: { [name: string]: unknown } | undefined
  /** The text of a schema, its numbers as the server wrote them. */
  schemaJson(which?: 'input' | 'server' | 'output' | 'annotations'): string | undefined
  /**
   * Calls the tool. Never rejects for what a server did: every failure is a result with `isError` and `metadata.error`.
   *
   * @param args an object, or the JSON text of one; a `bigint` in it is written as a number
   */
  execute(args?: { [name: string]: unknown } | string | null, context?: CallContext): Promise<ToolResult>
}

/** One thing that happened to a server, and what its kind has. */
export interface Event {
  sequence: number
  /** Milliseconds since 1970. */
  atMs: number
  server: string
  generation: number
  event: string
  [name: string]: unknown
}

/** What is known of one server. */
export interface ServerInfo {
  server: string
  state: State
  status: Status
  /** The number of its newest connection; 0 before there was one. */
  generation: number
  /** How often it was connected again by itself. */
  restarts: number
  processId?: number
  introducedAs?: { name: string; version: string }
  protocolVersion?: string
  lastError?: { kind: ErrorCode; server?: string; message: string }
}

/** What is wrong in a configuration, and where. */
export interface ConfigProblem {
  origin: string | null
  line: number | null
  column: number | null
  server: string | null
  field: string | null
  reason: string
  /** All of it in one line. */
  message: string
}

/** The servers of a configuration, kept usable until {@link McpSource.close}. */
export class McpSource implements AsyncDisposable {
  private constructor()
  /** The tools of all servers, as they are now. */
  readonly tools: Tool[]
  /** The tool that a model knows by this name. */
  tool(name: string): Tool | undefined
  /** How the newest attempt of each server ended. */
  readonly status: { [server: string]: Status }
  /** The names of all servers, in the order of the configuration. */
  readonly servers: string[]
  readonly problems: ConfigProblem[]
  state(server: string): State
  info(server: string): ServerInfo
  /** The newest events after a `sequence`, oldest first; 0 gives all that are kept. */
  events(after?: number): Event[]
  /** The server, and the tool's own name on it, behind a name for models. */
  ownerOf(name: string): { server: string; tool: string } | undefined
  /** The name for models of a server's tool. */
  nameOf(server: string, tool: string): string | undefined
  /** Connects a server, unless that is done or under way. */
  start(server: string, options?: { signal?: AbortSignal }): Promise<void>
  /** Disconnects a server and waits until nothing of it is left. Its tools stay listed. */
  stop(server: string): Promise<void>
  /** Disconnects a server and connects it again. Calls that run fail at once. */
  restart(server: string, options?: { signal?: AbortSignal }): Promise<void>
  /** Lists a server's tools again, or those of all that are connected. */
  refresh(server?: string): Promise<void>
  /**
   * Takes a new configuration in the place of the one that is there; without one, reads the file again that was loaded.
   * What is started in the same way keeps its connection; the promise resolves when the others are connected, as after a
   * load. A configuration that cannot be used as a whole rejects with `config` and changes nothing (SPEC 2.22).
   */
  reload(config?: Config | null, options?: { signal?: AbortSignal }): Promise<Reloaded>
  /** Waits until a server is in one of these states, for at most so many milliseconds. */
  waitFor(server: string, states: State | Iterable<State>, timeout: number, options?: { signal?: AbortSignal }): Promise<State>
  /** Calls `observer` at each change of a state, in order. Returns what ends that. One that throws is reported as a process warning. */
  onStateChange(observer: (server: string, state: State) => void): () => void
  /** Calls `observer` with the server's name when its part of the list changed. Returns what ends that. */
  onToolsChange(observer: (server: string) => void): () => void
  /** Calls `observer` at each event. Returns what ends that. */
  onEvent(observer: (event: Event) => void): () => void
  /** Disconnects every server and waits until nothing of them is left. Closing again is harmless. */
  close(): Promise<void>
  /** The same as {@link McpSource.close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** What a session chooses, beside what a load does. What is left out is what sessions want (SPEC 7.3). */
export interface SessionOptions extends Omit<LoadOptions, 'signal' | 'wait' | 'baseDir'> {
  /** What relative paths of both files are relative to. */
  baseDir: string | URL
  /** What of the project's file may be started. */
  projectTrust: ProjectTrust
  /** The user's file. One that is not there has no servers. */
  userConfig?: string | URL
  /** The project's file, laid over the user's. */
  projectConfig?: string | URL
  /** How tools are shown whose server says nothing about it; `direct` when left out. */
  exposure?: 'direct' | 'hidden' | 'deferred'
  /** How long an exchange waits for servers that are new or changed, in milliseconds; 10,000 when left out. */
  exchangeWaitMs?: number
}

/** Everything, nothing, or what has one of these fingerprints, which a person allowed. */
export type ProjectTrust = 'all' | 'nothing' | string[]

/** What a project's file would start and nobody has allowed. */
export interface UntrustedServer {
  name: string
  /** What would be started, in one line without secrets. */
  launchLine: string
  /** Changes with everything that changes what would be started: what to trust it by. */
  fingerprint: string
}

/**
 * Opens a session: reads its files and connects their servers in the background (SPEC section 7). Rejects with `config` when
 * an option cannot be used; a file or an entry that cannot be used is among `session.source.problems`.
 *
 * @example
 * const session = await openSession({ baseDir: '.', userConfig: 'mcp.json', projectTrust: 'nothing' })
 * const exchange = await session.exchange()
 * const result = await exchange.tool('mcp__files__read').execute({ path: 'a.txt' })
 * await session.close()
 */
export function openSession(options: SessionOptions): Promise<Session>

/** The servers of a user and a project, used over many exchanges with a model, until {@link Session.close}. */
export class Session implements AsyncDisposable {
  private constructor()
  /** The servers: their states, events and problems, and what can be done to each. */
  readonly source: McpSource
  /** What the project's file would start and is not trusted, for a person to decide on. */
  readonly untrusted: UntrustedServer[]
  /** Begins an exchange: waits for servers that are new or changed, and pins the tools that there are then. */
  exchange(options?: { signal?: AbortSignal }): Promise<Exchange>
  /** Reads the files again. What changed counts from the next exchange on. */
  reload(): Promise<Reloaded>
  /** Decides anew what of the project's file may be started, and reads the files again. */
  trust(choice: ProjectTrust): Promise<Reloaded>
  /** Ends the session: nothing of its servers is left when the promise resolves. Closing again is harmless. */
  close(): Promise<void>
  /** The same as {@link Session.close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** The tools of one exchange. They stay as they are, whatever servers do meanwhile. */
export class Exchange {
  private constructor()
  /** The tools to declare to the model, in an order that changes as little as it can. */
  readonly tools: Tool[]
  /** A tool by its name for models, hidden and deferred ones included. */
  tool(name: string): Tool | undefined
}

/** What a new configuration changed: names of servers, in the order of the configuration. */
export interface Reloaded {
  /** New servers, and those that could not be used before. */
  added: string[]
  /** Servers that are gone. */
  removed: string[]
  /** Servers that are started in another way, or were switched on or off: they are connected anew. */
  restarted: string[]
  /** Servers with other settings on the connection that they have. */
  adjusted: string[]
}

/** The codes of errors; see SPEC section 5. */
export type ErrorCode =
  | 'config' | 'unknown_server' | 'disabled' | 'spawn' | 'connect' | 'needs_auth' | 'protocol' | 'dropped' | 'timeout'
  | 'cancelled' | 'closed' | 'forked' | 'internal'

/** A failure of loading, starting, restarting, listing or closing. A failed call is a result instead. */
export class McpError extends Error {
  constructor(code: ErrorCode, message: string, server?: string, options?: ErrorOptions)
  /** The stable code, the same in every language. */
  readonly code: ErrorCode
  /** The server that failed, when it was one. */
  readonly server: string | undefined
}

/** One server of an inventory. */
export interface InventoryEntry {
  server: string
  status: Status
  error?: { kind: ErrorCode; server?: string; message: string }
  /** All its tools under their own names. */
  tools: { name: string; description: string; inputSchema: JsonSchema; raw: { [name: string]: unknown } }[]
}

/**
 * Connects every server of a configuration and lists its tools. A server that cannot be connected is `failed` and costs
 * the others nothing; this rejects only when the configuration as a whole cannot be used, or when `signal` is aborted.
 */
export function loadMcp(config: Config, options?: LoadOptions): Promise<McpSource>

/** Connects every server that is not disabled, lists its tools, and disconnects. */
export function listMcpTools(config: Config, options?: LoadOptions): Promise<InventoryEntry[]>

/** Every code of an {@link McpError}. */
export const errorKinds: ErrorCode[]
/** Every kind of a failed call. */
export const failureKinds: FailureKind[]

/** The value of a JSON text. With `bigints`, integers that a number cannot hold exactly are `bigint`. */
export function parseJson(text: string, options?: { bigints?: boolean }): Json
/** The JSON text of a value; a `bigint` is written as a number. */
export function stringifyJson(value: unknown): string | undefined
