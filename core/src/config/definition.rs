//! One server as its entry defines it, before anything is expanded.
//!
//! A definition is data and starts nothing. Its texts are templates that `resolve` turns into what is started; until
//! then `${TOKEN}` is still just that.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::expand::ExpandMode;
use super::limits::{LimitOverrides, Limits};
use super::problem::{ConfigProblem, Position};
use super::secret_command::command_in;

/// One server: how it is reached and how it is used.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerDefinition {
    /// The entry's key.
    pub name: String,
    /// Whether it is to be used at all.
    pub enabled: bool,
    /// How it is reached.
    pub transport: Transport,
    /// Budget of each of connect, initialize and list, and of a call without progress; `limits` is more exact.
    pub timeout: Option<Duration>,
    /// Which of its tools are offered.
    pub tools: ToolFilter,
    /// When it is started.
    pub lazy: Lazy,
    /// Whether a dropped connection is made again.
    pub auto_restart: Option<AutoRestart>,
    /// Whether a changed tool list is followed.
    pub live_tool_list: Option<bool>,
    /// Whether the defaults are those of a host that runs for days.
    pub resident: Option<bool>,
    /// Which fields are expanded.
    pub expand: Option<ExpandMode>,
    /// Which era of the protocol is spoken.
    pub protocol: Protocol,
    /// Its own limits.
    pub limits: LimitOverrides,
    /// How its tools are shown to a model.
    pub exposure: Option<Exposure>,
    /// The same by name pattern, in the order written.
    pub tool_exposure: Vec<(String, Exposure)>,
    /// Keys that mean nothing here, kept for whoever understands them.
    pub extra: serde_json::Map<String, serde_json::Value>,
    /// What its relative paths are relative to, and where it runs, when that is not the source's base directory: for
    /// hosts whose layers lie in different directories. Absolute.
    pub base_dir: Option<PathBuf>,
    /// Where it was written.
    pub origin: Origin,
}

impl ServerDefinition {
    /// `base` with this server's `timeout`, `autoRestart` and `limits` in its place, the last one winning.
    #[must_use]
    pub fn limits_over(&self, base: &Limits) -> Limits {
        let mut limits = base.clone();
        if let Some(timeout) = self.timeout {
            limits.connect = timeout;
            limits.initialize = timeout;
            limits.list = timeout;
            limits.call_idle = timeout;
        }
        if let Some(AutoRestart::On {
            max_retries,
            backoff,
        }) = self.auto_restart
        {
            limits.restart_retries = max_retries.unwrap_or(limits.restart_retries);
            limits.restart_first_delay = backoff.unwrap_or(limits.restart_first_delay);
        }
        limits.with(&self.limits)
    }

    /// The texts of the commands in its env or headers, where values that begin with `!` are commands.
    pub fn secret_commands(&self) -> impl Iterator<Item = &str> {
        let (env, headers) = match &self.transport {
            Transport::Stdio(stdio) => (stdio.env.as_slice(), [].as_slice()),
            Transport::Http(remote) | Transport::Sse(remote) => {
                ([].as_slice(), remote.headers.as_slice())
            }
        };
        let values = env
            .iter()
            .filter_map(|(_, value)| value.as_ref())
            .chain(headers.iter().map(|(_, value)| value));
        values.filter_map(|value| command_in(value))
    }

    /// A problem of one of this server's fields, with the field's place.
    pub(crate) fn problem(&self, field: &str, reason: impl Into<String>) -> ConfigProblem {
        ConfigProblem {
            origin: self.origin.source.clone(),
            position: self.origin.position(field),
            server: Some(self.name.clone()),
            field: Some(field.to_owned()),
            reason: reason.into(),
        }
    }
}

impl fmt::Debug for ServerDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerDefinition")
            .field("name", &self.name)
            .field("enabled", &self.enabled)
            .field("transport", &self.transport)
            .finish_non_exhaustive()
    }
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A child process that is spoken to over its standard input and output.
    Stdio(StdioDefinition),
    /// Streamable HTTP; an older server that only speaks HTTP with SSE is recognised.
    Http(RemoteDefinition),
    /// HTTP with SSE as the protocol had it before 2025-03-26.
    Sse(RemoteDefinition),
}

/// How a child process is started.
#[derive(Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StdioDefinition {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables set for it, or, with none as the value, taken away from it.
    pub env: Vec<(String, Option<String>)>,
    /// The directory it runs in.
    pub cwd: Option<String>,
    /// The names it inherits besides a safe base: see [`Inherit`](super::Inherit).
    pub inherit_env: Option<Vec<String>>,
}

impl fmt::Debug for StdioDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("StdioDefinition")
            .field("args", &self.args.len())
            .field("env", &names)
            .field("inherit_env", &self.inherit_env)
            .finish_non_exhaustive()
    }
}

/// How a remote server is reached.
#[derive(Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RemoteDefinition {
    /// The address.
    pub url: String,
    /// Headers sent with every request.
    pub headers: Vec<(String, String)>,
}

impl fmt::Debug for RemoteDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("RemoteDefinition")
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

/// Which of a server's tools are offered, by the names the server gives them.
///
/// Without rules: all. With at least one `true`: only those. With only `false`: all but those.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    rules: BTreeMap<String, bool>,
}

impl ToolFilter {
    /// Whether the tool is offered.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        let only_listed = self.rules.values().any(|&offered| offered);
        self.rules.get(tool).copied().unwrap_or(!only_listed)
    }

    /// The names that have a rule, in byte order; one the server does not have deserves a warning.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rules.keys().map(String::as_str)
    }

    /// Whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

impl FromIterator<(String, bool)> for ToolFilter {
    fn from_iter<I: IntoIterator<Item = (String, bool)>>(rules: I) -> Self {
        Self {
            rules: rules.into_iter().collect(),
        }
    }
}

/// When a server is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lazy {
    /// At load.
    #[default]
    No,
    /// By the first call.
    Yes,
    /// At load to list its tools, and again by the first call.
    List,
}

/// What happens when a connection drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutoRestart {
    /// The server stays in error.
    Off,
    /// The server is connected again, a bounded number of times.
    On {
        /// Attempts before giving up.
        max_retries: Option<u32>,
        /// Wait before the second attempt.
        backoff: Option<Duration>,
    },
}

/// Which era of the protocol is spoken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Whichever the server speaks.
    #[default]
    Auto,
    /// Up to 2025-11-25, with `initialize` and sessions.
    Legacy,
    /// From 2026-07-28 on, without them.
    Modern,
}

/// How a tool is shown to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Declared to the model.
    Direct,
    /// Not declared; the host may call it.
    Hidden,
    /// Declared when it is asked for.
    Deferred,
    /// Offered to code that the model writes. Accepted, not supported yet.
    Codemode,
}

/// Where a definition was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file, or the name the host gave the text.
    pub source: Option<String>,
    /// The entry's key.
    pub entry: Option<Position>,
    /// The keys inside it: `command`, `args[0]`, `env.TOKEN`.
    pub fields: BTreeMap<String, Position>,
    /// The fields that an upper layer changed without restating the entry, with where it did.
    pub changed: BTreeMap<String, FieldOrigin>,
}

/// Where one field was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldOrigin {
    /// The file, or the name the host gave the text.
    pub source: Option<String>,
    /// The key.
    pub position: Position,
}

impl Origin {
    /// Each field with where its value comes from, in the order of the entry; what upper layers changed comes last.
    #[must_use]
    pub fn explain(&self) -> Vec<(&str, FieldOrigin)> {
        let mut own: Vec<_> = self
            .fields
            .iter()
            .filter(|(field, _)| !self.is_changed(field))
            .collect();
        own.sort_by_key(|(_, position)| **position);
        let own = own.into_iter().map(|(field, position)| {
            let source = self.source.clone();
            let position = *position;
            (field.as_str(), FieldOrigin { source, position })
        });
        let changed = self.changed.iter();
        own.chain(changed.map(|(field, origin)| (field.as_str(), origin.clone())))
            .collect()
    }

    /// Whether an upper layer changed this field, or what it is in.
    fn is_changed(&self, field: &str) -> bool {
        let outer = field.split(['.', '[']).next().unwrap_or(field);
        self.changed.contains_key(outer)
            // Two spellings of one choice.
            || (field == "disabled" && self.changed.contains_key("enabled"))
            || (field == "enabled" && self.changed.contains_key("disabled"))
    }

    /// The place of a field, else of what it is in, else of the entry.
    #[must_use]
    pub fn position(&self, field: &str) -> Option<Position> {
        let outer = || field.split(['.', '[']).next().unwrap_or(field);
        self.fields
            .get(field)
            .or_else(|| self.fields.get(outer()))
            .copied()
            .or(self.entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_with_a_true_offers_only_those_and_one_of_falses_all_but_those() {
        let filter = |rules: &[(&str, bool)]| {
            rules
                .iter()
                .map(|&(name, offered)| (name.to_owned(), offered))
                .collect::<ToolFilter>()
        };
        let cases = [
            (filter(&[]), [true, true, true]),
            (filter(&[("a", true)]), [true, false, false]),
            (filter(&[("a", false)]), [false, true, true]),
            (filter(&[("a", true), ("b", false)]), [true, false, false]),
        ];
        for (filter, expected) in cases {
            assert_eq!(
                ["a", "b", "c"].map(|tool| filter.allows(tool)),
                expected,
                "{filter:?}"
            );
        }
    }
}
