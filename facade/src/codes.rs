//! Every code that a host can meet, in one list: each binding has a test that it knows them all.

use mcp_resident::{ErrorKind, FailureKind};

/// The codes of SPEC section 5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Codes {
    /// Of errors: what a binding throws.
    pub errors: Vec<&'static str>,
    /// Of failed calls: `metadata.error.kind`.
    pub failures: Vec<&'static str>,
}

/// All codes, in the order of SPEC's tables.
pub fn codes() -> Codes {
    Codes {
        errors: ErrorKind::ALL.iter().map(|kind| kind.code()).collect(),
        failures: FailureKind::ALL.iter().map(|kind| kind.code()).collect(),
    }
}
