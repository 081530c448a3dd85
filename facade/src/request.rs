//! What a host asks to load: a configuration and options, both in forms that every language has.

use std::sync::Arc;

use mcp_resident::{CancellationToken, ConfigInput, Error, LoadOptions};

use crate::configuration::Configuration;
use crate::environment::SharedEnvironment;
use crate::io_thread::Lease;
use crate::operation::OperationId;
use crate::question::Asker;
use crate::queue::Queue;

/// A configuration with the options of its load.
pub struct LoadRequest {
    config: Configuration,
    options: LoadOptions,
    asks: bool,
}

impl LoadRequest {
    /// With a JSON object of [options](LoadOptions::from_json).
    ///
    /// # Errors
    /// [`Config`](mcp_resident::ErrorKind::Config) names the option that cannot be used.
    pub fn new(config: Configuration, options: &str) -> Result<Self, Error> {
        Ok(Self {
            config,
            options: LoadOptions::from_json(options)?,
            asks: false,
        })
    }

    /// With `asks`, questions of servers are asked through the queue of the load. Only then servers are told that they
    /// may ask.
    #[must_use]
    pub fn asking(mut self, asks: bool) -> Self {
        self.asks = asks;
        self
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
        (self.config.into_input(), options, environment)
    }
}
