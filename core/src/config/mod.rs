//! Configuration: which servers there are and how each is started.
//!
//! [`parse`] reads a file, a text or an object into [`ServerDefinition`]s, each entry judged alone; [`layer`] lays a
//! project's configuration over a user's; [`resolve`] makes one definition ready to be started. Nothing here starts
//! anything, opens a connection or decides what is trusted; [`fingerprint`] and [`launch_line`] are what such a
//! decision is made with.
//!
//! # The file
//!
//! JSON with comments and trailing commas, in UTF-8 with or without a byte order mark. The entries are under
//! `mcpServers`, `servers` or `mcp`, the first of them that is there; or they are the file itself, where `builtins`,
//! `agents`, `a2a` and `mcpServer` are no servers. An empty file and `null` have no servers. Of a key that is given
//! twice the later one counts, with a warning.
//!
//! # The keys of an entry
//!
//! Keys are in camelCase, or in snake_case. A key that is `null` is not there. An unknown key is kept and warned about.
//!
//! | key | value | without it |
//! |---|---|---|
//! | `type`, `transport` | `stdio` or `local`; `http`, `streamable-http` or `remote`; `sse`; any case and separators | `command` means stdio, `url` streamable HTTP |
//! | `command` | the program, or a list of the program and its first arguments | |
//! | `args` | a list of texts, numbers, booleans | no arguments |
//! | `env`, `environment` | variables for the child; `null` takes one away | |
//! | `cwd` | the child's directory, relative to the base directory | the base directory |
//! | `inheritEnv` | names taken over from the host besides a safe base (see [`safe_base`]); `@network` for proxies and certificates, `@all` for everything | the source's choice, else everything |
//! | `url` (`serverUrl`, `httpUrl`) | an `http` or `https` address | |
//! | `headers` | sent with every request; `null` leaves one out | |
//! | `enabled`, `disabled` | whether the server is used | used |
//! | `timeout` | milliseconds for each of connect, initialize, list, and for a call without progress | 30,000 |
//! | `tools` | `{"name": true}` only these, `{"name": false}` all but these, by the server's own names | all |
//! | `lazy` | `true` started by the first call, `"list"` also once to list | `false` |
//! | `autoRestart` | `true`, `false` or `{maxRetries, backoffMs}` | the source's choice, else `false` |
//! | `liveToolList` | whether a changed tool list is followed | the source's choice, else `false` |
//! | `resident` | the defaults of a host that runs for days | the source's choice, else `false` |
//! | `expand` | `"headers"` or `"all"`, see [`ExpandMode`] | the source's choice, else `"headers"` |
//! | `protocol` | `"auto"`, `"legacy"` or `"modern"` | `"auto"` |
//! | `exposure` | `direct`, `hidden`, `deferred`, `codemode` | the host's choice |
//! | `toolExposure` | the same by name pattern | |
//! | `limits` | see [`Limits`] for each key, unit and default | |
//! | `auth`, `oauth` | not supported yet; an entry with one is not started | |
//!
//! # Values
//!
//! A number or boolean in `args`, `env` or `headers` is the text that was written; from an object it is the shortest
//! form. With `expand` at `"all"`, every text follows this grammar, read once from left to right:
//!
//! | written | means |
//! |---|---|
//! | `${NAME}`, `${env:NAME}` | the variable; the server is not started when it is unset |
//! | `${NAME:-default}` | the default when the variable is unset or empty; it may hold references itself |
//! | `$NAME` | the same as `${NAME}`, in values of `env` and `headers` only |
//! | `$$` | one dollar |
//! | `~/` at the beginning | the home directory, in `command`, `args` and `cwd` only |
//! | `!command` | what the command prints, as a whole value of `env` or `headers`, where the host allows commands |
//! | `!!text` | the text with one `!` |
//!
//! With `"headers"`, only `${NAME}` in headers is replaced, by nothing when it is unset.

mod definition;
mod document;
mod entry;
mod env_scope;
mod environment;
mod expand;
mod fields;
mod fingerprint;
mod hints;
mod input;
mod launch_line;
mod layers;
mod limits;
mod parse;
mod problem;
mod redact;
mod resolve;
mod resolve_context;
mod resolved;
mod secret_command;
mod sensitive;
mod transport;
mod trust;
mod url;

pub use definition::{
    AutoRestart, Exposure, FieldOrigin, Lazy, Origin, Protocol, RemoteDefinition, ServerDefinition,
    StdioDefinition, ToolFilter, Transport,
};
pub use entry::Adjustment;
pub use env_scope::{Inherit, child_environment, safe_base};
pub use environment::{
    Environment, EnvironmentProvider, FixedEnvironment, HostEnvironment, Platform,
};
pub use expand::ExpandMode;
pub use fingerprint::{fingerprint, listing_key};
pub use input::{ConfigInput, DEFAULT_MAX_CONFIG_BYTES, ParseOptions};
pub use launch_line::launch_line;
pub use layers::layer;
pub use limits::{LimitOverrides, LimitRefused, Limits};
pub(crate) use limits::{addable, is_endless};
pub use parse::{ParsedConfig, ServerEntry, parse};
pub use problem::{ConfigError, ConfigProblem, Position};
pub use redact::{MASK, MIN_SECRET_CHARS, Redactor};
pub use resolve::resolve;
pub use resolve_context::ResolveContext;
pub use resolved::{RemoteKind, Resolved, ResolvedServer};
pub use secret_command::{
    CommandFailure, CommandRunner, MAX_SECRET_BYTES, SECRET_COMMAND_TIMEOUT, SecretCommand,
    SecretCommands,
};
pub use trust::without_untrusted;
