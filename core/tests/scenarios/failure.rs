//! Why a scenario failed.

use std::fmt;

use mcp_resident_fixtures::hub::HubError;

/// One line for the report.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// The same, saying where.
    pub(crate) fn within(self, place: impl fmt::Display) -> Self {
        Self(format!("{place}: {}", self.0))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<HubError> for Failure {
    fn from(error: HubError) -> Self {
        Self(error.to_string())
    }
}

impl From<mcp_resident::Error> for Failure {
    fn from(error: mcp_resident::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Fails with the reason unless the condition holds.
pub(crate) fn ensure(holds: bool, reason: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds {
        Ok(())
    } else {
        Err(Failure(reason()))
    }
}
