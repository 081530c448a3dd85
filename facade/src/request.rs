//! What a host asks to load: a configuration and options, both in forms that every language has.

use std::sync::Arc;

use mcp_resident::{CancellationToken, ConfigInput, Error, LoadOptions, SessionOptions};

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
        let environment = connect(&mut options, self.asks, queue, operation, lease);
        options.cancel = Some(cancel);
        (self.config.into_input(), options, environment)
    }
}

/// What a host asks of a session: options, in a form that every language has.
pub struct SessionRequest {
    options: SessionOptions,
    asks: bool,
}

impl SessionRequest {
    /// From a JSON object of [options](SessionOptions::from_json). With `asks`, questions of servers are asked through the
    /// queue that the session is opened with.
    ///
    /// # Errors
    /// [`Config`](mcp_resident::ErrorKind::Config) names the option that cannot be used.
    pub fn new(options: &str, asks: bool) -> Result<Self, Error> {
        Ok(Self {
            options: SessionOptions::from_json(options)?,
            asks,
        })
    }

    /// What the core takes, for an operation of this queue.
    pub(crate) fn prepare(
        self,
        queue: &Arc<Queue>,
        operation: OperationId,
        lease: &Lease,
    ) -> (SessionOptions, Arc<SharedEnvironment>) {
        let mut options = self.options;
        let environment = connect(&mut options.load, self.asks, queue, operation, lease);
        (options, environment)
    }
}

/// Gives options what they have of the host: its environment, and who is asked.
fn connect(
    options: &mut LoadOptions,
    asks: bool,
    queue: &Arc<Queue>,
    operation: OperationId,
    lease: &Lease,
) -> Arc<SharedEnvironment> {
    let environment = Arc::new(SharedEnvironment::new(options.environment.take()));
    options.environment = Some(Arc::clone(&environment) as Arc<_>);
    if asks {
        options.wait_for = Some(Arc::new(Asker::new(queue, operation, lease)));
    }
    environment
}
