//! One use of an instance: what differs between those who share it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::placeholder;
use super::seat::Seat;
use super::spec::ServerSpec;
use crate::catalog::{CatalogStore, Changes};
use crate::event::EventKind;
use crate::tool::ToolDefinition;

/// The number of the next lease.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// The settings of one source for a server that it uses: the choice of tools, the limits of calls, the exposure.
#[derive(Debug)]
pub(crate) struct Lease {
    /// Unique in this process: what is listed for a lease counts only while it has its seat.
    id: u64,
    /// Replaced as a whole when a new configuration changes what needs no new process.
    spec: RwLock<Arc<ServerSpec>>,
}

impl Lease {
    pub(crate) fn new(spec: Arc<ServerSpec>) -> Arc<Self> {
        Arc::new(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            spec: RwLock::new(spec),
        })
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn spec(&self) -> Arc<ServerSpec> {
        Arc::clone(&self.spec.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn adopt(&self, spec: Arc<ServerSpec>) {
        *self.spec.write().unwrap_or_else(PoisonError::into_inner) = spec;
    }

    /// Whether the source offers this tool of the server.
    pub(super) fn allows(&self, tool: &str) -> bool {
        let spec = self.spec.read().unwrap_or_else(PoisonError::into_inner);
        !spec.filtered || spec.definition.tools.allows(tool)
    }
}

/// A lease as its instance holds it: with where the list of tools goes, and who calls them.
#[derive(Debug)]
pub(crate) struct Tenant {
    pub(super) lease: Arc<Lease>,
    seat: Arc<Seat>,
    catalog: Arc<CatalogStore>,
    /// Whether names were reported that the choice of tools has and the server does not list.
    filter_checked: AtomicBool,
}

impl Tenant {
    pub(crate) fn new(lease: Arc<Lease>, seat: Arc<Seat>, catalog: Arc<CatalogStore>) -> Arc<Self> {
        Arc::new(Self {
            lease,
            seat,
            catalog,
            filter_checked: AtomicBool::new(false),
        })
    }

    pub(crate) fn spec(&self) -> Arc<ServerSpec> {
        self.lease.spec()
    }

    pub(super) fn catalog(&self) -> &Arc<CatalogStore> {
        &self.catalog
    }

    /// Takes other settings; the choice of tools is checked anew when it is another one.
    pub(super) fn adopt(&self, spec: Arc<ServerSpec>) {
        if self.spec().definition.tools != spec.definition.tools {
            self.filter_checked.store(false, Ordering::Release);
        }
        self.lease.adopt(spec);
    }

    /// Puts a list in the place of the old one, as far as the source offers it, and says what changed. Returns whether
    /// anything did.
    pub(super) fn offer(&self, tools: &[ToolDefinition], generation: u64) -> bool {
        if !self.filter_checked.swap(true, Ordering::AcqRel) {
            self.report_unknown_filter_names(tools, generation);
        }
        let offered = tools.iter().filter(|tool| self.lease.allows(&tool.name));
        let changes = self.replace(offered.cloned().collect());
        let changed = !changes.is_empty();
        if changed {
            let Changes {
                added,
                removed,
                changed,
            } = changes;
            self.event(
                generation,
                EventKind::ToolsChanged {
                    added,
                    removed,
                    changed,
                },
            );
        }
        changed
    }

    /// Offers one tool that starts the server, whose own ones are not known.
    pub(super) fn offer_placeholder(&self) {
        self.replace(vec![placeholder::definition(&self.spec().name)]);
    }

    fn replace(&self, offered: Vec<ToolDefinition>) -> Changes {
        let name = &self.spec().name;
        self.catalog
            .replace(name, self.lease.id(), offered, self.seat.clone())
    }

    fn report_unknown_filter_names(&self, tools: &[ToolDefinition], generation: u64) {
        let spec = self.spec();
        let names = spec.definition.tools.names();
        let unknown: Vec<&str> = names
            .filter(|name| !tools.iter().any(|tool| &*tool.name == *name))
            .collect();
        if !unknown.is_empty() {
            let message = format!(
                "`tools` names what the server does not list: {}",
                unknown.join(", ")
            );
            self.event(generation, EventKind::Note { message });
        }
    }

    fn event(&self, generation: u64, kind: EventKind) {
        let spec = self.spec();
        spec.shared.events.push(&spec.name, generation, kind);
    }
}
