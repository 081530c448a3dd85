//! The options of a load, from the JSON form that they have for every language.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp_resident::{
    AutoRestart, ExpandMode, FixedEnvironment, Implementation, LoadOptions, ShellCommandRunner,
    Wait,
};
use serde::Deserialize;

/// What is left out is not given.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub(crate) struct Options {
    auto_restart: Option<Restart>,
    live_tool_list: Option<bool>,
    resident: bool,
    default_inherit_env: Option<Vec<String>>,
    expand: Option<Expand>,
    wait: Option<Waiting>,
    base_dir: Option<PathBuf>,
    environment: Option<BTreeMap<String, String>>,
    secret_commands: bool,
    limits: BTreeMap<String, u64>,
    cache_dir: Option<PathBuf>,
    guardian: Option<bool>,
    replay_repeatable_calls: bool,
    client_info: Option<Client>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Restart {
    Switch(bool),
    Numbers(RestartNumbers),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RestartNumbers {
    max_retries: Option<u32>,
    backoff_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Expand {
    Headers,
    All,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Waiting {
    Until(Until),
    Milliseconds(u64),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Until {
    All,
    Ready,
    None,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Client {
    name: String,
    version: String,
}

impl Options {
    /// The same for the library.
    pub(crate) fn decode(self) -> Result<LoadOptions, String> {
        let mut options = LoadOptions::default();
        options.auto_restart = self.auto_restart.map(auto_restart);
        options.live_tool_list = self.live_tool_list;
        options.resident = self.resident;
        options.default_inherit_env = self.default_inherit_env;
        options.expand = self.expand.map(|expand| match expand {
            Expand::Headers => ExpandMode::HeadersOnly,
            Expand::All => ExpandMode::All,
        });
        options.wait = self.wait.map(wait).unwrap_or_default();
        options.base_dir = self.base_dir;
        if let Some(variables) = self.environment {
            let variables: FixedEnvironment = variables.into_iter().collect();
            options.environment = Some(Arc::new(variables));
        }
        if self.secret_commands {
            options.secret_commands = Some(Arc::new(ShellCommandRunner));
        }
        for (key, amount) in self.limits {
            options
                .limits
                .set(&key, amount)
                .map_err(|refused| format!("limits: {key:?} {refused}"))?;
        }
        options.cache_dir = self.cache_dir;
        options.guardian = self.guardian;
        options.replay_repeatable_calls = self.replay_repeatable_calls;
        options.client_info = self
            .client_info
            .map(|Client { name, version }| Implementation { name, version });
        Ok(options)
    }
}

fn auto_restart(chosen: Restart) -> AutoRestart {
    match chosen {
        Restart::Switch(false) => AutoRestart::Off,
        Restart::Switch(true) => AutoRestart::On {
            max_retries: None,
            backoff: None,
        },
        Restart::Numbers(numbers) => AutoRestart::On {
            max_retries: numbers.max_retries,
            backoff: numbers.backoff_ms.map(Duration::from_millis),
        },
    }
}

fn wait(chosen: Waiting) -> Wait {
    match chosen {
        Waiting::Until(Until::All) => Wait::All,
        Waiting::Until(Until::Ready) => Wait::Ready,
        Waiting::Until(Until::None) => Wait::None,
        Waiting::Milliseconds(amount) => Wait::For(Duration::from_millis(amount)),
    }
}
