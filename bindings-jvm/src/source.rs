//! A source as the native half holds it.

use std::collections::HashMap;
use std::sync::Arc;

use mcp_resident_facade as facade;
use mcp_resident_facade::mcp_resident::{Error, ErrorKind, State};
use mcp_resident_facade::{Configuration, Interest, milliseconds};

use crate::error::{NativeFailure, json};
use crate::queue::NativeQueue;
use crate::tool::NativeTool;

/// The servers of a configuration.
#[derive(uniffi::Object)]
pub struct NativeSource {
    pub(crate) source: Arc<facade::Source>,
}

#[uniffi::export]
impl NativeSource {
    /// Changes whenever the list of tools does.
    pub fn tools_version(&self) -> u64 {
        self.source.tools_version()
    }

    /// All tools as they are now.
    pub fn tools(&self) -> Vec<Arc<NativeTool>> {
        let tools = self.source.tools();
        tools
            .iter()
            .map(|tool| {
                Arc::new(NativeTool {
                    tool: Arc::clone(tool),
                })
            })
            .collect()
    }

    /// JSON: `[server, tool]` behind a name for models.
    pub fn owner_of(&self, name: String) -> Option<String> {
        self.source.owner_of(&name).map(|owner| json(&owner))
    }

    /// The name for models of a server's tool.
    pub fn name_of(&self, server: String, tool: String) -> Option<String> {
        self.source.name_of(&server, &tool)
    }

    /// The names of all servers.
    pub fn servers(&self) -> Vec<String> {
        self.source.servers()
    }

    /// JSON: how the newest attempt of each server ended.
    pub fn status(&self) -> String {
        json(&self.source.status())
    }

    /// A server's state.
    pub fn state(&self, server: String) -> Result<String, NativeFailure> {
        Ok(self.source.state(&server)?.as_str().to_owned())
    }

    /// JSON: what is known of a server.
    pub fn info(&self, server: String) -> Result<String, NativeFailure> {
        Ok(json(&self.source.info(&server)?))
    }

    /// JSON: what is wrong in the configuration.
    pub fn problems(&self) -> String {
        json(&self.source.problems())
    }

    /// JSON: the newest events after a sequence.
    pub fn events(&self, after: u64) -> String {
        json(&self.source.events(after))
    }

    /// Replaces the variables that servers started from now on see.
    pub fn set_environment(&self, variables: HashMap<String, String>) {
        self.source.set_environment(variables);
    }

    /// Connects a server.
    pub fn start(&self, queue: Arc<NativeQueue>, server: String) -> Result<u64, NativeFailure> {
        Ok(self.source.start(&queue.queue, &server)?)
    }

    /// Disconnects a server.
    pub fn stop(&self, queue: Arc<NativeQueue>, server: String) -> Result<u64, NativeFailure> {
        Ok(self.source.stop(&queue.queue, &server)?)
    }

    /// Disconnects a server and connects it again.
    pub fn restart(&self, queue: Arc<NativeQueue>, server: String) -> Result<u64, NativeFailure> {
        Ok(self.source.restart(&queue.queue, &server)?)
    }

    /// Lists a server's tools again, or all.
    pub fn refresh(
        &self,
        queue: Arc<NativeQueue>,
        server: Option<String>,
    ) -> Result<u64, NativeFailure> {
        Ok(self.source.refresh(&queue.queue, server.as_deref())?)
    }

    /// Takes a new configuration, or with none reads the file again.
    pub fn reload(
        &self,
        queue: Arc<NativeQueue>,
        config: Option<String>,
    ) -> Result<u64, NativeFailure> {
        let config = config
            .map(|text| Configuration::from_text(&text))
            .transpose()?;
        Ok(self.source.reload(&queue.queue, config)?)
    }

    /// Waits until a server is in one of the states.
    pub fn wait_for(
        &self,
        queue: Arc<NativeQueue>,
        server: String,
        states: Vec<String>,
        timeout_ms: f64,
    ) -> Result<u64, NativeFailure> {
        let states: Result<Vec<State>, _> = states.iter().map(|name| name.parse()).collect();
        let states =
            states.map_err(|unknown| Error::new(ErrorKind::Config, unknown.to_string()))?;
        let timeout = milliseconds(timeout_ms);
        Ok(self
            .source
            .wait_for(&queue.queue, &server, &states, timeout)?)
    }

    /// Disconnects every server.
    pub fn shut(&self, queue: Arc<NativeQueue>) -> Result<u64, NativeFailure> {
        Ok(self.source.close(&queue.queue)?)
    }

    /// Events of `interest` (`events`, `states`, `tools`) arrive in `queue` from now on.
    pub fn subscribe(
        &self,
        queue: Arc<NativeQueue>,
        interest: String,
    ) -> Result<u64, NativeFailure> {
        let interest = match interest.as_str() {
            "states" => Interest::States,
            "tools" => Interest::Tools,
            _ => Interest::Everything,
        };
        Ok(self.source.subscribe(&queue.queue, interest)?)
    }

    /// Ends a subscription.
    pub fn unsubscribe(&self, subscription: u64) {
        self.source.unsubscribe(subscription);
    }
}
