//! The config that a load is given, and the words in it that stand for something.

use std::collections::BTreeMap;
use std::path::Path;

use mcp_resident::ConfigInput;
use mcp_resident_fixtures::fake::Transport;
use mcp_resident_fixtures::hub::Hub;
use mcp_resident_fixtures::scenario::{Scenario, Server};
use serde_json::{Map, Value, json};

use crate::failure::Failure;

/// Keys laid over the entries of servers, by server.
pub(crate) type Overrides = BTreeMap<String, Map<String, Value>>;

/// Where the servers of a scenario are found.
pub(crate) struct Places<'a> {
    pub(crate) hub: &'a Hub,
    pub(crate) urls: &'a BTreeMap<String, String>,
    pub(crate) directory: &'a Path,
}

impl Places<'_> {
    /// The config of a load: a file, or the object that the scenario gives.
    pub(crate) fn config(
        &self,
        scenario: &Scenario,
        overrides: &Overrides,
    ) -> Result<ConfigInput, Failure> {
        let text = match &scenario.raw_config {
            Some(Value::String(text)) => self.fill(scenario, text)?,
            Some(object) => {
                let text = self.fill(scenario, &object.to_string())?;
                let object: Value = serde_json::from_str(&text)
                    .map_err(|error| Failure::new(format!("raw_config: {error}")))?;
                return Ok(object.into());
            }
            None => json!({ "mcpServers": self.entries(scenario, overrides)? }).to_string(),
        };
        let file = self.directory.join("mcp.json");
        std::fs::write(&file, text)?;
        Ok(file.into())
    }

    fn entries(
        &self,
        scenario: &Scenario,
        overrides: &Overrides,
    ) -> Result<Map<String, Value>, Failure> {
        let mut entries = Map::new();
        for (name, server) in scenario
            .servers
            .iter()
            .filter(|(_, server)| !server.unlisted)
        {
            let mut entry = match server.transport {
                Transport::Stdio => {
                    let mut words = server.prefix.clone();
                    words.extend(self.launch_line(name, server)?);
                    let arguments = words.split_off(1);
                    json!({ "command": words, "args": arguments })
                }
                Transport::Http | Transport::Sse => json!({ "url": self.urls.get(name) }),
            };
            if let Value::Object(entry) = &mut entry {
                entry.extend(server.config.clone());
                entry.extend(overrides.get(name).cloned().unwrap_or_default());
            }
            entries.insert(name.clone(), entry);
        }
        Ok(entries)
    }

    /// Puts launch lines and URLs in the place of the words that stand for them.
    fn fill(&self, scenario: &Scenario, text: &str) -> Result<String, Failure> {
        let mut text = text.to_owned();
        for (name, server) in &scenario.servers {
            if server.transport == Transport::Stdio {
                let line = json!(self.launch_line(name, server)?).to_string();
                let word = format!("${{launch:{name}}}");
                // In an object the word is a string of its own, quotes and all.
                text = text
                    .replace(&format!("\"{word}\""), &line)
                    .replace(&word, &line);
            }
        }
        for (name, url) in self.urls {
            text = text.replace(&format!("${{url:{name}}}"), url);
        }
        Ok(text)
    }

    fn launch_line(&self, name: &str, server: &Server) -> Result<Vec<String>, Failure> {
        Ok(self.hub.launch_line(name, &server.script)?)
    }
}
