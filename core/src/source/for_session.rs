//! What a session asks of its servers that no host of a source does.

use std::collections::HashMap;
use std::sync::Arc;

use super::load::settle;
use super::options::Wait;
use super::{McpSource, Reloaded};
use crate::config::{ParsedConfig, ServerDefinition};
use crate::error::Error;
use crate::event::State;
use crate::server::Server;

impl McpSource {
    pub(crate) fn current_servers(&self) -> Vec<Arc<Server>> {
        self.roster.seating().servers().cloned().collect()
    }

    /// What each server is made of, by name.
    pub(crate) fn definitions(&self) -> HashMap<String, ServerDefinition> {
        let seating = self.roster.seating();
        let servers = seating.servers().map(|server| server.spec());
        servers
            .map(|spec| (spec.name.to_string(), spec.definition.clone()))
            .collect()
    }

    /// Takes a configuration and connects what is new or started in another way, in the background.
    pub(crate) async fn take_config(
        &self,
        config: ParsedConfig,
    ) -> Result<(Reloaded, Vec<Arc<Server>>), Error> {
        let reconfigured = self.roster.reconfigure(config).await?;
        let fresh = reconfigured.fresh;
        settle(&self.roster.shared, fresh.clone(), Wait::None).await;
        Ok((reconfigured.changes, fresh))
    }

    /// Connects in the background those that failed or were lost, unless that is under way or due.
    pub(crate) fn retry_failed(&self) {
        for server in self.current_servers() {
            let now = server.snapshot();
            if now.state == State::Error && !now.attempt_expected {
                // How it went is in its state.
                self.roster.shared.spawn(async move { server.wake().await });
            }
        }
    }

    /// Shows what was listed while names were held back.
    pub(crate) fn publish(&self) {
        self.roster.catalog.release();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.roster.shared.closing.is_cancelled()
    }
}
