import whole from './index.cjs'

export const {
  Exchange,
  McpError,
  McpSource,
  Session,
  Tool,
  ToolResult,
  errorKinds,
  failureKinds,
  listMcpTools,
  loadMcp,
  openSession,
  parseJson,
  stringifyJson
} = whole
