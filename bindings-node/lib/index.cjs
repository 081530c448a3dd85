'use strict'

const { errorCodes } = require('./native.cjs')
const { McpError } = require('./errors.cjs')
const { Exchange, Session, openSession } = require('./session.cjs')
const { McpSource, listMcpTools, loadMcp } = require('./source.cjs')
const { Tool } = require('./tool.cjs')
const { ToolResult } = require('./result.cjs')
const { parse, stringify } = require('./json.cjs')

const [errorKinds, failureKinds] = errorCodes()

module.exports = {
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
  parseJson: parse,
  stringifyJson: stringify
}
