'use strict'

const { errorCodes } = require('./native.cjs')
const { McpError } = require('./errors.cjs')
const { McpSource, listMcpTools, loadMcp } = require('./source.cjs')
const { Tool } = require('./tool.cjs')
const { ToolResult } = require('./result.cjs')
const { parse, stringify } = require('./json.cjs')

const [errorKinds, failureKinds] = errorCodes()

module.exports = {
  McpError,
  McpSource,
  Tool,
  ToolResult,
  errorKinds,
  failureKinds,
  listMcpTools,
  loadMcp,
  parseJson: parse,
  stringifyJson: stringify
}
