//! The immutable, versioned list of tools.
//!
//! A catalog never changes; a new one takes its place. A model that works with one sees the same
//! tools until its host looks again, and a provider's prompt cache stays warm, because the order and
//! the bytes of what did not change do not change.

mod cache;
mod names;
mod store;

use std::collections::HashMap;
use std::sync::Arc;

use crate::tool::Tool;

pub(crate) use cache::ListingCache;
pub(crate) use names::{NameStyle, sanitize};
pub(crate) use store::{CatalogStore, Changes};

/// A list of tools at one time.
#[derive(Debug, Default)]
pub struct Catalog {
    version: u64,
    tools: Vec<Arc<Tool>>,
    places: HashMap<String, usize>,
}

impl Catalog {
    fn new(version: u64, tools: Vec<Arc<Tool>>) -> Self {
        let places = tools
            .iter()
            .enumerate()
            .map(|(at, tool)| (tool.name().to_owned(), at));
        Self {
            version,
            places: places.collect(),
            tools,
        }
    }

    /// Grows by one with each change, from 0 for the empty list before any server was listed.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The tools: servers in the order of the configuration, tools in the order in which their
    /// server listed them first.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// The tool that a model knows by this name.
    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.places.get(name).map(|place| &self.tools[*place])
    }
}
