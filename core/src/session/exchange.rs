//! [`Exchange`]: what a model works with from one prompt of a person to the next.

use std::collections::HashMap;
use std::sync::Arc;

use crate::tool::Tool;

/// The tools of one exchange. They stay as they are until it is over, whatever servers do meanwhile; a call uses the
/// connection that its server has when it runs.
#[derive(Debug, Clone)]
pub struct Exchange {
    declared: Vec<Arc<Tool>>,
    callable: HashMap<String, Arc<Tool>>,
    catalog_version: u64,
}

impl Exchange {
    pub(super) fn new(
        declared: Vec<Arc<Tool>>,
        others: impl IntoIterator<Item = Arc<Tool>>,
        catalog_version: u64,
    ) -> Self {
        let all = declared.iter().cloned().chain(others);
        let callable = all.map(|tool| (tool.name().to_owned(), tool)).collect();
        Self {
            declared,
            callable,
            catalog_version,
        }
    }

    /// The tools to declare to the model, in an order that changes as little as it can: direct ones as their servers are
    /// configured, then the one that searches, then what it found.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.declared
    }

    /// A tool by its name for models, hidden and deferred ones included.
    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.callable.get(name)
    }

    /// Every tool that can be called, in no order.
    pub fn callable(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.callable.values()
    }

    /// The version of the list that this exchange has pinned.
    pub fn catalog_version(&self) -> u64 {
        self.catalog_version
    }
}
