//! What a source decides for all its servers, and who wins: a server's own key, the source's option, the default.

use std::path::Path;

use super::definition::{ServerDefinition, StdioDefinition, Transport};
use super::env_scope::Inherit;
use super::environment::Environment;
use super::expand::ExpandMode;
use super::limits::Limits;
use super::secret_command::SecretCommands;

/// What a definition is resolved with.
#[derive(Debug, Clone)]
pub struct ResolveContext<'a> {
    /// The environment at this moment.
    pub environment: &'a Environment,
    /// The directory that relative paths are relative to, and the default directory of a child process, for servers
    /// without their own. Absolute.
    pub base_dir: &'a Path,
    /// The source's choice of what is expanded, for servers without their own.
    pub expand: Option<ExpandMode>,
    /// The source's choice of what is inherited, for servers without their own.
    pub default_inherit_env: Option<&'a [String]>,
    /// Whether the source has the defaults of a host that runs for days.
    pub resident: bool,
    /// Where values that begin with `!` are run; none forbids them.
    pub secret_commands: Option<&'a SecretCommands>,
    /// The source's limits, for servers without their own; the time of a secret command counts here.
    pub limits: &'a Limits,
}

impl ResolveContext<'_> {
    /// What is expanded for one server: its own key, else the source's, else the default.
    #[must_use]
    pub fn expand_mode(&self, definition: &ServerDefinition) -> ExpandMode {
        let own = definition
            .expand
            .or_else(|| is_resident(definition).then_some(ExpandMode::All));
        let default = if self.resident_by_default(definition) {
            ExpandMode::All
        } else {
            ExpandMode::HeadersOnly
        };
        own.or(self.expand).unwrap_or(default)
    }

    /// What one server inherits: its own key, else the source's, else the default.
    #[must_use]
    pub fn inherit(&self, definition: &ServerDefinition) -> Inherit {
        if let Transport::Stdio(StdioDefinition {
            inherit_env: Some(names),
            ..
        }) = &definition.transport
        {
            return Inherit::from_names(Some(names));
        }
        if is_resident(definition) {
            return Inherit::safe_base();
        }
        self.source_inherit(self.resident_by_default(definition))
    }

    /// What the source has servers inherit.
    pub(crate) fn source_inherit(&self, resident: bool) -> Inherit {
        match self.default_inherit_env {
            None if resident => Inherit::safe_base(),
            names => Inherit::from_names(names),
        }
    }

    fn resident_by_default(&self, definition: &ServerDefinition) -> bool {
        self.resident && definition.resident.is_none()
    }
}

fn is_resident(definition: &ServerDefinition) -> bool {
    definition.resident == Some(true)
}
