//! What a host asks to load: a configuration and options, both in forms that every language has.

use std::sync::Arc;

use mcp_resident::{ConfigInput, Error, ErrorKind};

use crate::environment::SharedEnvironment;
use crate::options::{Options, decode};

/// A configuration with the options of its load.
pub struct LoadRequest {
    config: ConfigInput,
    options: Options,
    environment: Arc<SharedEnvironment>,
}

impl LoadRequest {
    /// From the path of a file, which is read by the load, and a JSON object of options.
    ///
    /// # Errors
    /// [`Config`](ErrorKind::Config) names the option that cannot be used.
    pub fn from_file(path: &str, options: &str) -> Result<Self, Error> {
        Self::new(ConfigInput::File(path.into()), options)
    }

    /// From a configuration that the host has as an object, in JSON, and a JSON object of options.
    ///
    /// # Errors
    /// [`Config`](ErrorKind::Config) says what is no JSON, or names the option that cannot be used.
    pub fn from_json(config: &str, options: &str) -> Result<Self, Error> {
        let config: serde_json::Value = serde_json::from_str(config).map_err(|error| {
            Error::new(
                ErrorKind::Config,
                format!("the configuration is not valid JSON: {error}"),
            )
        })?;
        Self::new(ConfigInput::Object(config), options)
    }

    /// The same, with questions of servers asked through the queue of the load. Only then servers are told that they
    /// may ask.
    #[must_use]
    pub fn asking(mut self) -> Self {
        self.options.asks = true;
        self
    }

    fn new(config: ConfigInput, options: &str) -> Result<Self, Error> {
        let environment = Arc::new(SharedEnvironment::default());
        let options = decode(options, &environment)?;
        Ok(Self {
            config,
            options,
            environment,
        })
    }

    pub(crate) fn into_parts(self) -> (ConfigInput, Options, Arc<SharedEnvironment>) {
        (self.config, self.options, self.environment)
    }
}
