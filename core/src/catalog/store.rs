//! Builds the next catalog from what each server lists.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Catalog;
use super::names::NameTable;
use crate::tool::{Backend, Tool, ToolDefinition};

/// The lists of all servers of a source, and the catalog made of them.
#[derive(Debug)]
pub(crate) struct CatalogStore {
    state: Mutex<StoreState>,
}

#[derive(Debug)]
struct StoreState {
    names: NameTable,
    /// Server names in the order of the configuration.
    order: Vec<Arc<str>>,
    listings: HashMap<Arc<str>, Listing>,
    catalog: Arc<Catalog>,
    /// While a source loads, lists are held back so that names do not depend on who was faster.
    held: bool,
}

#[derive(Debug)]
struct Listing {
    definitions: Vec<ToolDefinition>,
    backend: Arc<dyn Backend>,
    tools: Vec<Arc<Tool>>,
}

/// What a new list changed, as names for models.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
    pub(crate) changed: Vec<String>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

impl CatalogStore {
    /// A store for these servers, which holds back what is listed until [`release`](Self::release).
    pub(crate) fn new(order: Vec<Arc<str>>) -> Self {
        let state = StoreState {
            names: NameTable::default(),
            order,
            listings: HashMap::new(),
            catalog: Arc::default(),
            held: true,
        };
        Self {
            state: Mutex::new(state),
        }
    }

    /// The newest catalog.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.lock().catalog)
    }

    /// Names and publishes everything that was held back; from now on lists appear at once.
    pub(crate) fn release(&self) {
        let mut state = self.lock();
        if std::mem::take(&mut state.held) {
            state.publish();
        }
    }

    /// Takes a server's new list in the place of its old one. Tools are compared by their own name:
    /// what did not change stays the same tool, in its place; new tools come after.
    pub(crate) fn replace(
        &self,
        server: &Arc<str>,
        definitions: Vec<ToolDefinition>,
        backend: Arc<dyn Backend>,
    ) -> Changes {
        let mut state = self.lock();
        let old = state.listings.remove(server);
        let (definitions, tools) = match old {
            Some(old) => (in_old_order(definitions, &old.definitions), old.tools),
            None => (definitions, Vec::new()),
        };
        let listing = Listing {
            definitions,
            backend,
            tools: tools.clone(),
        };
        state.listings.insert(Arc::clone(server), listing);
        if state.held {
            return Changes::default();
        }
        state.publish();
        let new = state
            .listings
            .get(server)
            .map_or(&[][..], |listing| &listing.tools);
        compare(&tools, new)
    }

    /// The server and the tool's own name behind a name for models.
    pub(crate) fn owner(&self, name: &str) -> Option<(String, String)> {
        self.lock().names.owner(name).cloned()
    }

    /// The name for models of a server's tool.
    pub(crate) fn name(&self, server: &str, tool: &str) -> Option<String> {
        self.lock().names.name(server, tool).map(str::to_owned)
    }

    /// The definitions that a server listed last.
    pub(crate) fn definitions(&self, server: &str) -> Vec<ToolDefinition> {
        self.lock()
            .listings
            .get(server)
            .map_or_else(Vec::new, |listing| listing.definitions.clone())
    }

    fn lock(&self) -> MutexGuard<'_, StoreState> {
        // A panic while building leaves the old catalog in place, which is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoreState {
    fn publish(&mut self) {
        let tools = self.listings.iter().flat_map(|(server, listing)| {
            listing
                .definitions
                .iter()
                .map(|definition| (&**server, &*definition.name))
        });
        self.names.assign(tools);
        for (server, listing) in &mut self.listings {
            listing.rebuild(server, &self.names);
        }
        let listed = self
            .order
            .iter()
            .filter_map(|server| self.listings.get(server));
        let tools: Vec<Arc<Tool>> = listed.flat_map(|listing| listing.tools.clone()).collect();
        let current = &self.catalog.tools;
        let same = tools.len() == current.len()
            && tools
                .iter()
                .zip(current)
                .all(|(new, old)| Arc::ptr_eq(new, old));
        if !same {
            self.catalog = Arc::new(Catalog::new(self.catalog.version + 1, tools));
        }
    }
}

impl Listing {
    /// Makes the wrappers that are missing and keeps those that still fit.
    fn rebuild(&mut self, server: &Arc<str>, names: &NameTable) {
        let mut old: HashMap<&str, &Arc<Tool>> = self
            .tools
            .iter()
            .map(|tool| (tool.server_tool(), tool))
            .collect();
        let tools =
            self.definitions
                .iter()
                .filter_map(|definition| match old.remove(&*definition.name) {
                    Some(tool) if tool.definition() == definition => Some(Arc::clone(tool)),
                    _ => {
                        let name = names.name(server, &definition.name)?.to_owned();
                        let backend = Arc::clone(&self.backend);
                        let tool = Tool::new(name, Arc::clone(server), definition.clone(), backend);
                        Some(Arc::new(tool))
                    }
                });
        self.tools = tools.collect();
    }
}

/// The new definitions: those that were known in the old order, then the others as they came.
fn in_old_order(new: Vec<ToolDefinition>, old: &[ToolDefinition]) -> Vec<ToolDefinition> {
    let places: HashMap<&str, usize> = old
        .iter()
        .enumerate()
        .map(|(at, definition)| (&*definition.name, at))
        .collect();
    let mut new = new;
    // Stable: what was not known keeps the order in which it came.
    new.sort_by_cached_key(|definition| {
        places.get(&*definition.name).copied().unwrap_or(usize::MAX)
    });
    new
}

fn compare(old: &[Arc<Tool>], new: &[Arc<Tool>]) -> Changes {
    let mut gone: HashMap<&str, &Arc<Tool>> = old.iter().map(|tool| (tool.name(), tool)).collect();
    let mut changes = Changes::default();
    for tool in new {
        match gone.remove(tool.name()) {
            Some(before) if Arc::ptr_eq(before, tool) => {}
            Some(_) => changes.changed.push(tool.name().to_owned()),
            None => changes.added.push(tool.name().to_owned()),
        }
    }
    changes.removed = gone.into_keys().map(str::to_owned).collect();
    changes.added.sort_unstable();
    changes.removed.sort_unstable();
    changes
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::json::RawJson;
    use crate::tool::{CallContext, ToolResult, read_listing};

    #[derive(Debug)]
    struct Nobody;

    #[async_trait]
    impl Backend for Nobody {
        async fn call(&self, tool: &Tool, _: RawJson, _: CallContext) -> ToolResult {
            tool.failed(crate::error::CallError::new(
                crate::error::FailureKind::Internal,
                crate::error::Executed::No,
                "nobody",
            ))
        }
    }

    fn list(store: &CatalogStore, server: &str, tools: &[(&str, &str)]) -> Changes {
        let entries = tools.iter().map(|(name, about)| {
            RawJson::from(
                serde_json::json!({ "name": name, "description": about, "inputSchema": {} }),
            )
        });
        let (definitions, _) = read_listing(entries.collect());
        store.replace(&server.into(), definitions, Arc::new(Nobody))
    }

    fn names(store: &CatalogStore) -> Vec<String> {
        store
            .catalog()
            .tools()
            .iter()
            .map(|tool| tool.name().to_owned())
            .collect()
    }

    #[test]
    fn what_did_not_change_stays_the_same_tool_in_its_place() {
        let store = CatalogStore::new(vec!["b".into(), "a".into()]);
        store.release();
        list(&store, "a", &[("x", "")]);
        list(&store, "b", &[("one", "1"), ("two", "2"), ("three", "3")]);
        assert_eq!(names(&store), ["b_one", "b_two", "b_three", "a_x"]);
        let before = store.catalog();

        let changes = list(
            &store,
            "b",
            &[("new", ""), ("three", "3"), ("one", "other")],
        );
        assert_eq!(changes.added, ["b_new"]);
        assert_eq!(changes.removed, ["b_two"]);
        assert_eq!(changes.changed, ["b_one"]);
        assert_eq!(names(&store), ["b_one", "b_three", "b_new", "a_x"]);
        let after = store.catalog();
        assert!(Arc::ptr_eq(
            before.tool("b_three").unwrap(),
            after.tool("b_three").unwrap()
        ));
        assert!(!Arc::ptr_eq(
            before.tool("b_one").unwrap(),
            after.tool("b_one").unwrap()
        ));
        assert_eq!(after.version(), before.version() + 1);
    }

    #[test]
    fn an_equal_list_is_no_change() {
        let store = CatalogStore::new(vec!["a".into()]);
        store.release();
        list(&store, "a", &[("x", ""), ("y", "")]);
        let before = store.catalog();
        assert!(list(&store, "a", &[("y", ""), ("x", "")]).is_empty());
        assert!(Arc::ptr_eq(&before, &store.catalog()));
    }

    #[test]
    fn names_do_not_depend_on_which_server_was_faster() {
        let build = |first: &str, second: &str| {
            let store = CatalogStore::new(vec!["a".into(), "a_b".into()]);
            for server in [first, second] {
                let tool = if server == "a" { "b_c" } else { "c" };
                list(&store, server, &[(tool, "")]);
            }
            store.release();
            names(&store)
        };
        assert_eq!(build("a", "a_b"), build("a_b", "a"));
    }
}
