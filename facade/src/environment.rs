//! The environment of hosts that keep a copy of their own.
//!
//! The JVM and .NET read the process's environment once; what a program changes there later, the C library never sees.
//! Such a binding hands its copy over at the load, and again whenever it starts something.

use std::ffi::OsString;
use std::sync::Mutex;

use mcp_resident::{EnvironmentProvider, HostEnvironment};

use crate::io_thread::lock;

/// Variables that the host replaces as a whole; until it does so, those of the process.
#[derive(Default)]
pub struct SharedEnvironment {
    variables: Mutex<Option<Vec<(OsString, OsString)>>>,
}

impl SharedEnvironment {
    /// Replaces all of them.
    pub fn replace(&self, variables: impl IntoIterator<Item = (String, String)>) {
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        *lock(&self.variables) = Some(variables);
    }
}

impl EnvironmentProvider for SharedEnvironment {
    fn variables(&self) -> Vec<(OsString, OsString)> {
        let own = lock(&self.variables).clone();
        own.unwrap_or_else(|| HostEnvironment.variables())
    }
}
