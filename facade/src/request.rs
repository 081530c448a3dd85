//! What a host asks to load: a configuration and options, both in forms that every language has.

use std::sync::Arc;

use mcp_resident::{CancellationToken, ConfigInput, Error, ErrorKind, LoadOptions};

use crate::environment::SharedEnvironment;
use crate::io_thread::Lease;
use crate::operation::OperationId;
use crate::question::Asker;
use crate::queue::Queue;

/// A configuration with the options of its load.
pub struct LoadRequest {
    config: ConfigInput,
    options: LoadOptions,
    asks: bool,
}

impl LoadRequest {
    /// From the path of a file, which is read by the load, and a JSON object of [options](LoadOptions::from_json).
    ///
    /// # Errors
    /// [`Config`](ErrorKind::Config) names the option that cannot be used.
    pub fn from_file(path: &str, options: &str) -> Result<Self, Error> {
        Self::new(ConfigInput::File(path.into()), options)
    }

    /// From a configuration that the host has as an object, in JSON, and a JSON object of
    /// [options](LoadOptions::from_json).
    ///
    /// # Errors
    /// [`Config`](ErrorKind::Config) says what is no JSON, or names the option that cannot be used.
    pub fn from_json(config: &str, options: &str) -> Result<Self, Error> {
        let config: serde_json::Value = serde_json::from_str(config).map_err(|error| {
            let message = format!("the configuration is not valid JSON: {error}");
            Error::new(ErrorKind::Config, message)
        })?;
        Self::new(ConfigInput::Object(config), options)
    }

    /// From one text, for languages that pass nothing else: what begins with `{` is JSON, everything else a path.
    ///
    /// # Errors
    /// As for the two.
    pub fn from_text(config: &str, options: &str) -> Result<Self, Error> {
        if config.trim_start().starts_with('{') {
            Self::from_json(config, options)
        } else {
            Self::from_file(config, options)
        }
    }

    /// With `asks`, questions of servers are asked through the queue of the load. Only then servers are told that they
    /// may ask.
    #[must_use]
    pub fn asking(mut self, asks: bool) -> Self {
        self.asks = asks;
        self
    }

    fn new(config: ConfigInput, options: &str) -> Result<Self, Error> {
        Ok(Self {
            config,
            options: LoadOptions::from_json(options)?,
            asks: false,
        })
    }

    /// What the core takes, for an operation of this queue.
    pub(crate) fn prepare(
        self,
        queue: &Arc<Queue>,
        operation: OperationId,
        lease: &Lease,
        cancel: CancellationToken,
    ) -> (ConfigInput, LoadOptions, Arc<SharedEnvironment>) {
        let mut options = self.options;
        let environment = Arc::new(SharedEnvironment::new(options.environment.take()));
        options.environment = Some(Arc::clone(&environment) as Arc<_>);
        options.cancel = Some(cancel);
        if self.asks {
            options.wait_for = Some(Arc::new(Asker::new(queue, operation, lease)));
        }
        (self.config, options, environment)
    }
}
