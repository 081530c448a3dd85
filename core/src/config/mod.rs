//! Configuration: which servers there are and how each is started.

mod definition;
mod document;
mod entry;
mod env_scope;
mod environment;
mod expand;
mod fields;
mod hints;
mod input;
mod limits;
mod parse;
mod problem;
mod resolve;

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
pub use input::{ConfigInput, DEFAULT_MAX_CONFIG_BYTES, ParseOptions};
pub use limits::{LimitOverrides, Limits};
pub use parse::{ParsedConfig, ServerEntry, parse};
pub use problem::{ConfigError, ConfigProblem, Position};
