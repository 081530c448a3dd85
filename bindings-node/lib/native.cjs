'use strict'
// Finds the native half: beside this package, or in the package of this platform.

const { existsSync } = require('node:fs')
const { join } = require('node:path')

/** As the packages of releases are called. */
function platform () {
  const { platform, arch } = process
  if (platform !== 'linux') return `${platform}-${arch}`
  const glibc = process.report?.getReport?.().header?.glibcVersionRuntime
  return `linux-${arch}-${glibc === undefined ? 'musl' : 'gnu'}`
}

/** Asked only when the first library is loaded: the report is slow, and one file is there as a rule. */
function load () {
  const directory = join(__dirname, '..', 'native')
  const { platform: system, arch } = process
  const likely = join(directory, `${system === 'linux' ? `linux-${arch}-gnu` : `${system}-${arch}`}.node`)
  if (existsSync(likely)) return require(likely)
  const name = platform()
  const own = join(directory, `${name}.node`)
  if (existsSync(own)) return require(own)
  try {
    return require(`@mcp-resident/${name}`)
  } catch (error) {
    throw new Error(
      `mcp-resident has no native library for ${name}: install the package @mcp-resident/${name} (with npm, do not omit optional dependencies)`,
      { cause: error }
    )
  }
}

module.exports = load()
