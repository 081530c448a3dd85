//! Configuration: which servers there are and how each is started.

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
mod limits;
mod parse;
mod problem;
mod redact;
mod resolve;
mod secret_command;
mod sensitive;

pub use definition::{
    AutoRestart, Exposure, Lazy, Origin, Protocol, RemoteDefinition, ServerDefinition,
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
pub use limits::{LimitOverrides, Limits};
pub use parse::{ParsedConfig, ServerEntry, parse};
pub use problem::{ConfigError, ConfigProblem, Position};
pub use redact::{MASK, MIN_SECRET_CHARS, Redactor};
pub use resolve::{RemoteKind, ResolveContext, Resolved, ResolvedServer, resolve};
pub use secret_command::{
    CommandFailure, CommandRunner, MAX_SECRET_BYTES, SECRET_COMMAND_TIMEOUT, SecretCommand,
    SecretCommands,
};
