//! Keeps the tools of MCP servers usable for an agent that runs for days.
//!
//! [`load_mcp`] connects every server of an `mcp.json`, over stdio or HTTP, and gives each of their
//! tools as one uniform [`Tool`]. What it gives stays usable: a server that is lost is started again
//! when its host wants that, a list that changes is followed, servers can wait for their first call,
//! and no program gets more of the host's environment than it needs.
//!
//! The rules, with a test for each, are in `SPEC.md`; the decisions behind them in `docs/adr`.

#![forbid(unsafe_code)]

mod catalog;
pub mod config;
mod connection;
mod error;
mod event;
mod json;
mod private_files;
mod protocol;
mod server;
mod session;
mod source;
mod tool;
mod transport;

pub use crate::catalog::Catalog;
pub use crate::config::{
    AutoRestart, CommandFailure, CommandRunner, ConfigError, ConfigInput, ConfigProblem,
    Environment, EnvironmentProvider, ExpandMode, FixedEnvironment, HostEnvironment,
    LimitOverrides, Limits, SecretCommand,
};
pub use crate::error::{CallError, Error, ErrorKind, Executed, FailureKind};
pub use crate::event::{Event, EventKind, State, Status, Subscription, UnknownState};
pub use crate::json::{InvalidJson, RawJson};
pub use crate::protocol::{Answer, Reason, Request, RequestKind, WaitFor};
pub use crate::server::ShellCommandRunner;
pub use crate::session::{
    DEFAULT_EXCHANGE_WAIT, DEFAULT_SESSION_OUTPUT_BYTES, Exchange, ProjectServer, ProjectTrust,
    SEARCH_TOOL, Session, SessionOptions, open_session,
};
pub use crate::source::{
    Implementation, InventoryEntry, InventoryTool, LoadOptions, McpSource, Reloaded, ServerInfo,
    Wait, list_mcp_tools, load_mcp,
};
pub use crate::tool::{
    Arguments, CallContext, FullOutput, Metadata, ProgressObserver, SavedFile, Tool, ToolResult,
};
/// How a process ended.
pub use mcp_resident_process::Exit;
/// Cancels a load, a start, a restart or a call.
pub use tokio_util::sync::CancellationToken;

/// The README's examples are compiled with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
