//! What the host chose for all of its servers, and how a definition becomes what a server works from.

use std::sync::Arc;

use super::options::{LoadOptions, Purpose};
use crate::catalog::{CatalogStore, NameStyle};
use crate::config::{AutoRestart, Lazy, Limits, ServerDefinition, listing_key};
use crate::server::{ServerSpec, Shared};
use crate::tool::SchemaForm;

/// The host's choices, for servers that have none of their own.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) limits: Limits,
    auto_restart: Option<bool>,
    live_tool_list: Option<bool>,
    resident: bool,
    purpose: Purpose,
}

impl Policy {
    pub(super) fn of(options: &LoadOptions) -> Self {
        Self {
            limits: limits(options),
            auto_restart: options.auto_restart.map(restarts),
            live_tool_list: options.live_tool_list,
            resident: options.resident,
            purpose: options.purpose,
        }
    }

    /// An empty catalog for what is offered.
    pub(super) fn catalog(&self) -> CatalogStore {
        match self.purpose {
            Purpose::Source | Purpose::Inventory => {
                CatalogStore::new(NameStyle::Source, SchemaForm::Closed)
            }
            Purpose::Session => CatalogStore::new(NameStyle::Session, SchemaForm::AsListed),
        }
    }

    /// A server's own key wins over the host's option, and that over `resident`, the server's own `resident` first.
    pub(super) fn spec(
        &self,
        name: Arc<str>,
        definition: ServerDefinition,
        shared: &Arc<Shared>,
    ) -> ServerSpec {
        let own_resident = definition.resident;
        let resident = own_resident.unwrap_or(self.resident);
        let option = |option: Option<bool>| match own_resident {
            Some(true) => None,
            _ => option,
        };
        let auto_restart = definition
            .auto_restart
            .map(restarts)
            .or_else(|| option(self.auto_restart))
            .unwrap_or(resident);
        let live_tool_list = definition
            .live_tool_list
            .or_else(|| option(self.live_tool_list))
            .unwrap_or(resident);
        ServerSpec {
            limits: definition.limits_over(&self.limits),
            lazy: match self.purpose {
                Purpose::Inventory => Lazy::No,
                Purpose::Source | Purpose::Session => definition.lazy,
            },
            filtered: self.purpose != Purpose::Inventory,
            auto_restart,
            live_tool_list,
            listing_key: listing_key(&definition),
            shared: Arc::clone(shared),
            definition,
            name,
        }
    }
}

fn restarts(choice: AutoRestart) -> bool {
    matches!(choice, AutoRestart::On { .. })
}

fn limits(options: &LoadOptions) -> Limits {
    let mut limits = Limits::default();
    if let Some(AutoRestart::On {
        max_retries,
        backoff,
    }) = options.auto_restart
    {
        limits.restart_retries = max_retries.unwrap_or(limits.restart_retries);
        limits.restart_first_delay = backoff.unwrap_or(limits.restart_first_delay);
    }
    limits.with(&options.limits)
}
