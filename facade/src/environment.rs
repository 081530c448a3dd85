//! The environment of hosts that keep a copy of their own.
//!
//! The JVM and .NET read the process's environment once; what a program changes there later, the C library never sees.
//! Such a binding hands its copy over at the load, and again whenever it starts something.

use std::ffi::OsString;
use std::sync::{Arc, Mutex};

use mcp_resident::{EnvironmentProvider, FixedEnvironment, HostEnvironment};

use crate::io_thread::lock;

/// Variables that the host can replace as a whole.
pub(crate) struct SharedEnvironment(Mutex<Arc<dyn EnvironmentProvider>>);

impl SharedEnvironment {
    /// Those that the options of a load name; without any those of the process, as they are at each start.
    pub(crate) fn new(given: Option<Arc<dyn EnvironmentProvider>>) -> Self {
        Self(Mutex::new(
            given.unwrap_or_else(|| Arc::new(HostEnvironment)),
        ))
    }

    /// Replaces all of them.
    pub(crate) fn replace(&self, variables: impl IntoIterator<Item = (String, String)>) {
        let variables: FixedEnvironment = variables.into_iter().collect();
        *lock(&self.0) = Arc::new(variables);
    }
}

impl EnvironmentProvider for SharedEnvironment {
    fn variables(&self) -> Vec<(OsString, OsString)> {
        let provider = Arc::clone(&*lock(&self.0));
        provider.variables()
    }
}
