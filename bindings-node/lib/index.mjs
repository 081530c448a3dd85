import whole from './index.cjs'

export const {
  McpError,
  McpSource,
  Tool,
  ToolResult,
  errorKinds,
  failureKinds,
  listMcpTools,
  loadMcp,
  parseJson,
  stringifyJson
} = whole
