//! Builds the next catalog from what each server lists.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Catalog;
use super::names::{NameStyle, NameTable};
use crate::tool::{Backend, SchemaForm, Tool, ToolDefinition};

/// The lists of all servers of a source, and the catalog made of them.
#[derive(Debug)]
pub(crate) struct CatalogStore {
    state: Mutex<StoreState>,
}

#[derive(Debug)]
struct StoreState {
    names: NameTable,
    /// How a model is shown the schemas of arguments.
    schemas: SchemaForm,
    /// The servers in the order of the configuration, each with the instance whose lists count.
    order: Vec<(Arc<str>, u64)>,
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
    /// A store without servers, which holds back what is listed until [`release`](Self::release).
    pub(crate) fn new(names: NameStyle, schemas: SchemaForm) -> Self {
        let state = StoreState {
            names: NameTable::new(names),
            schemas,
            order: Vec::new(),
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

    /// Puts the servers in this order, and says for each which instance's lists count. What an instance listed that served
    /// before stays until the new one has listed. Returns the names of the tools of each server that is gone.
    pub(crate) fn arrange(&self, order: Vec<(Arc<str>, u64)>) -> Vec<(Arc<str>, Vec<String>)> {
        let mut state = self.lock();
        let stays = |name: &Arc<str>| order.iter().any(|(known, _)| known == name);
        let mut gone = Vec::new();
        state.listings.retain(|name, listing| {
            let stays = stays(name);
            if !stays {
                let mut names: Vec<_> = listing.tools.iter().map(|t| t.name().to_owned()).collect();
                names.sort_unstable();
                gone.push((Arc::clone(name), names));
            }
            stays
        });
        gone.sort_unstable();
        state.order = order;
        if !state.held {
            state.publish();
        }
        gone
    }

    /// Takes an instance's new list in the place of its server's old one. Tools are compared by their own name:
    /// what did not change stays the same tool, in its place; new tools come after. A list of an instance that no
    /// longer has the place changes nothing.
    pub(crate) fn replace(
        &self,
        server: &Arc<str>,
        instance: u64,
        definitions: Vec<ToolDefinition>,
        backend: Arc<dyn Backend>,
    ) -> Changes {
        let mut state = self.lock();
        if !state
            .order
            .iter()
            .any(|(name, id)| name == server && *id == instance)
        {
            return Changes::default();
        }
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
            listing.rebuild(server, &self.names, self.schemas);
        }
        let listed = self
            .order
            .iter()
            .filter_map(|(server, _)| self.listings.get(server));
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
    fn rebuild(&mut self, server: &Arc<str>, names: &NameTable, schemas: SchemaForm) {
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
                        let server = Arc::clone(server);
                        let tool = Tool::new(name, server, definition.clone(), schemas, backend);
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

    fn store(servers: &[&str]) -> CatalogStore {
        let store = CatalogStore::new(NameStyle::Source, SchemaForm::Closed);
        store.arrange(servers.iter().map(|name| ((*name).into(), 1)).collect());
        store
    }

    fn list(store: &CatalogStore, server: &str, tools: &[(&str, &str)]) -> Changes {
        let entries = tools.iter().map(|(name, about)| {
            RawJson::from(
                serde_json::json!({ "name": name, "description": about, "inputSchema": {} }),
            )
        });
        let (definitions, _) = read_listing(entries.collect());
        store.replace(&server.into(), 1, definitions, Arc::new(Nobody))
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
        let store = store(&["b", "a"]);
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
        let store = store(&["a"]);
        store.release();
        list(&store, "a", &[("x", ""), ("y", "")]);
        let before = store.catalog();
        assert!(list(&store, "a", &[("y", ""), ("x", "")]).is_empty());
        assert!(Arc::ptr_eq(&before, &store.catalog()));
    }

    #[test]
    fn a_new_order_takes_tools_away_and_the_instance_before_no_longer_counts() {
        let store = store(&["a", "b"]);
        store.release();
        list(&store, "a", &[("x", "")]);
        list(&store, "b", &[("y", ""), ("z", "")]);
        let gone = store.arrange(vec![("c".into(), 1), ("a".into(), 2)]);
        assert_eq!(
            gone,
            [("b".into(), vec!["b_y".to_owned(), "b_z".to_owned()])]
        );
        assert_eq!(names(&store), ["a_x"]);
        // Instance 1 of it has lost its place, and so has what left the configuration.
        assert!(list(&store, "a", &[("late", "")]).is_empty());
        assert!(list(&store, "b", &[("y", "")]).is_empty());
        list(&store, "c", &[("n", "")]);
        assert_eq!(names(&store), ["c_n", "a_x"]);
    }

    #[test]
    fn names_do_not_depend_on_which_server_was_faster() {
        let build = |first: &str, second: &str| {
            let store = store(&["a", "a_b"]);
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
