//! A source as the native half holds it: it starts operations and answers what is known at once, as JSON text.

use std::sync::Arc;

use mcp_resident_facade as facade;
use mcp_resident_facade::mcp_resident::{Error, State};
use mcp_resident_facade::{Configuration, Interest, milliseconds};
use napi::bindgen_prelude::Result;
use napi_derive::napi;

use crate::error::{id, number, text, thrown};
use crate::tool::Tool;

/// The servers of a configuration.
#[napi]
pub struct Source {
    pub(crate) source: Arc<facade::Source>,
    /// Where its outcomes and events arrive.
    pub(crate) queue: Arc<facade::Queue>,
}

#[napi]
impl Source {
    /// Changes whenever the list of tools does.
    #[napi]
    pub fn tools_version(&self) -> f64 {
        number(self.source.tools_version())
    }

    /// All tools as they are now.
    #[napi]
    pub fn tools(&self) -> Vec<Tool> {
        let tools = self.source.tools();
        tools
            .iter()
            .map(|tool| Tool {
                tool: Arc::clone(tool),
                queue: Arc::clone(&self.queue),
            })
            .collect()
    }

    /// Server and own name behind a name for models.
    #[napi]
    pub fn owner_of(&self, name: String) -> Option<Vec<String>> {
        let (server, tool) = self.source.owner_of(&name)?;
        Some(vec![server, tool])
    }

    /// The name for models of a server's tool.
    #[napi]
    pub fn name_of(&self, server: String, tool: String) -> Option<String> {
        self.source.name_of(&server, &tool)
    }

    /// The names of all servers.
    #[napi]
    pub fn servers(&self) -> Vec<String> {
        self.source.servers()
    }

    /// JSON: how the newest attempt of each server ended.
    #[napi]
    pub fn status(&self) -> String {
        text(&self.source.status())
    }

    /// A server's state.
    #[napi]
    pub fn state(&self, server: String) -> Result<&'static str> {
        let state = self.source.state(&server);
        state.map(State::as_str).map_err(|error| thrown(&error))
    }

    /// JSON: what is known of a server.
    #[napi]
    pub fn info(&self, server: String) -> Result<String> {
        let info = self.source.info(&server);
        info.map(|info| text(&info)).map_err(|error| thrown(&error))
    }

    /// JSON: what is wrong in the configuration.
    #[napi]
    pub fn problems(&self) -> String {
        text(&self.source.problems())
    }

    /// JSON: the newest events after a sequence.
    #[napi]
    pub fn events(&self, after: f64) -> String {
        text(&self.source.events(id(after)))
    }

    /// Connects a server.
    #[napi]
    pub fn start(&self, server: String) -> Result<f64> {
        begun(self.source.start(&self.queue, &server))
    }

    /// Disconnects a server.
    #[napi]
    pub fn stop(&self, server: String) -> Result<f64> {
        begun(self.source.stop(&self.queue, &server))
    }

    /// Disconnects a server and connects it again.
    #[napi]
    pub fn restart(&self, server: String) -> Result<f64> {
        begun(self.source.restart(&self.queue, &server))
    }

    /// Lists a server's tools again, or all.
    #[napi]
    pub fn refresh(&self, server: Option<String>) -> Result<f64> {
        begun(self.source.refresh(&self.queue, server.as_deref()))
    }

    /// Takes a new configuration, or reads the file again.
    #[napi]
    pub fn reload(&self, config: Option<String>, is_path: bool) -> Result<f64> {
        let config = config.map(|text| Configuration::given(&text, is_path));
        let config = config.transpose().map_err(|error| thrown(&error))?;
        begun(self.source.reload(&self.queue, config))
    }

    /// Waits until a server is in one of the states.
    #[napi]
    pub fn wait_for(&self, server: String, states: Vec<String>, timeout_ms: f64) -> Result<f64> {
        let states: std::result::Result<Vec<State>, _> =
            states.iter().map(|name| name.parse()).collect();
        let states = states.map_err(|unknown| napi::Error::from_reason(unknown.to_string()))?;
        let timeout = milliseconds(timeout_ms);
        begun(self.source.wait_for(&self.queue, &server, &states, timeout))
    }

    /// Disconnects every server.
    #[napi]
    pub fn close(&self) -> Result<f64> {
        begun(self.source.close(&self.queue))
    }

    /// Events of `interest` (`events`, `states`, `tools`) arrive from now on.
    #[napi]
    pub fn subscribe(&self, interest: String) -> Result<f64> {
        let interest = match interest.as_str() {
            "states" => Interest::States,
            "tools" => Interest::Tools,
            _ => Interest::Everything,
        };
        begun(self.source.subscribe(&self.queue, interest))
    }

    /// Ends a subscription.
    #[napi]
    pub fn unsubscribe(&self, subscription: f64) {
        self.source.unsubscribe(id(subscription));
    }
}

pub(crate) fn begun(operation: std::result::Result<u64, Error>) -> Result<f64> {
    operation.map(number).map_err(|error| thrown(&error))
}
