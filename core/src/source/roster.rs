//! The servers of a source, and how a new configuration takes the place of the old one (SPEC 2.22).
//!
//! What a configuration says is compared with what is there. A server that is started in the same way keeps its
//! connection; one that is not gets a new instance at once, while the old one ends beside it. Nothing here waits for a
//! server.

use std::sync::{Arc, PoisonError, RwLock};

use futures_util::future::join_all;
use serde::Serialize;

use super::policy::Policy;
use crate::catalog::CatalogStore;
use crate::config::{ConfigProblem, Lazy, ParsedConfig, ServerEntry};
use crate::error::{Error, ErrorKind};
use crate::event::{EventKind, Status};
use crate::server::{Lease, Placed, Seat, Server, ServerSpec, Shared, Tenant};

/// What a new configuration changed, as names of servers in the order of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Reloaded {
    /// Servers that were not there, or could not be used before.
    pub added: Vec<String>,
    /// Servers that are gone. Their processes end in the background.
    pub removed: Vec<String>,
    /// Servers whose way of being started changed, or that were switched on or off: they are connected anew.
    pub restarted: Vec<String>,
    /// Servers that keep their connection and have other settings.
    pub adjusted: Vec<String>,
}

pub(super) struct Roster {
    pub(super) catalog: Arc<CatalogStore>,
    pub(super) shared: Arc<Shared>,
    pub(super) policy: Policy,
    seating: RwLock<Arc<Seating>>,
    /// One new configuration at a time.
    turn: tokio::sync::Mutex<()>,
}

/// What the configuration has, at one time.
#[derive(Default)]
pub(super) struct Seating {
    /// In the order of the configuration.
    pub(super) entries: Vec<Entry>,
    pub(super) problems: Vec<ConfigProblem>,
}

/// One entry of the configuration. One that cannot be used has no seat.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) name: Arc<str>,
    pub(super) place: Result<Place, ConfigProblem>,
}

/// A seat and the instance that has it.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) seat: Arc<Seat>,
    pub(super) server: Arc<Server>,
}

/// What a new configuration changed, and the instances that are to be started.
pub(super) struct Reconfigured {
    pub(super) changes: Reloaded,
    pub(super) fresh: Vec<Arc<Server>>,
}

/// What becomes of one server.
enum Step {
    /// Its entry cannot be used.
    Keep(Place),
    /// On the same connection; `differs` is false when only its place in the file may be another one.
    Adopt {
        place: Place,
        spec: Arc<ServerSpec>,
        differs: bool,
    },
    /// In the place of an instance, or for a name that is new.
    Launch(Option<Place>, Arc<ServerSpec>),
    Unusable(ConfigProblem),
}

impl Roster {
    pub(super) fn new(shared: Arc<Shared>, policy: Policy) -> Arc<Self> {
        Arc::new(Self {
            catalog: Arc::new(policy.catalog()),
            shared,
            policy,
            seating: RwLock::default(),
            turn: tokio::sync::Mutex::new(()),
        })
    }

    pub(super) fn seating(&self) -> Arc<Seating> {
        Arc::clone(&self.seating.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes a configuration in the place of the one that is there.
    ///
    /// Runs to its end once it is begun, whoever stops waiting for it: half of it would leave a server without a seat.
    pub(super) async fn reconfigure(
        self: &Arc<Self>,
        parsed: ParsedConfig,
    ) -> Result<Reconfigured, Error> {
        let roster = Arc::clone(self);
        let closed = || Error::new(ErrorKind::Closed, "the source was closed");
        let work = self.shared.spawn(async move {
            let _turn = roster.turn.lock().await;
            if roster.shared.closing.is_cancelled() {
                return Err(closed());
            }
            Ok(roster.take(parsed).await)
        });
        let work = work.ok_or_else(closed)?;
        work.await.unwrap_or_else(|error| {
            if error.is_cancelled() {
                // With the runtime of the source, which ends.
                return Err(closed());
            }
            let message =
                "the new configuration was taken only in part, which is a defect: please report it";
            Err(Error::new(ErrorKind::Internal, message))
        })
    }

    async fn take(&self, parsed: ParsedConfig) -> Reconfigured {
        let before = self.seating();
        let problems = parsed.problems().chain(&parsed.warnings).cloned().collect();
        let names: Vec<Arc<str>> = parsed
            .servers
            .iter()
            .map(|entry| entry.name.as_str().into())
            .collect();
        let steps: Vec<Step> = names
            .iter()
            .zip(parsed.servers)
            .map(|(name, entry)| self.decide(name, entry, before.place(name)))
            .collect();
        let stays = |entry: &Entry| {
            let mut steps = names.iter().zip(&steps);
            steps.any(|(name, step)| *name == entry.name && !matches!(step, Step::Unusable(_)))
        };
        let removed: Vec<(&Arc<str>, &Place)> = before
            .entries
            .iter()
            .filter(|entry| !stays(entry))
            .filter_map(|entry| Some((&entry.name, entry.place.as_ref().ok()?)))
            .collect();

        let changes = changes(&names, &steps, removed.iter().map(|(name, _)| *name));
        let removed: Vec<&Place> = removed.into_iter().map(|(_, place)| place).collect();
        let replaced = steps.iter().filter_map(|step| match step {
            Step::Launch(old, _) => old.as_ref(),
            _ => None,
        });
        // At once, and only until each says that it is stopped.
        join_all(
            removed
                .iter()
                .copied()
                .chain(replaced)
                .map(|old| old.server.retire()),
        )
        .await;

        let mut unlaunched = Vec::new();
        let mut fresh = Vec::new();
        let mut adopted = Vec::new();
        let entries: Vec<Entry> = names
            .into_iter()
            .zip(steps)
            .map(|(name, step)| {
                let place = match step {
                    Step::Unusable(problem) => Err(problem),
                    Step::Keep(place) => Ok(place),
                    Step::Adopt { place, spec, .. } => {
                        if place.server.spec().lazy != spec.lazy && spec.lazy != Lazy::Yes {
                            fresh.push(Arc::clone(&place.server));
                        }
                        adopted.push((Arc::clone(&place.server), spec));
                        Ok(place)
                    }
                    Step::Launch(old, spec) => {
                        let generation = old
                            .as_ref()
                            .map_or(0, |old| old.server.snapshot().generation);
                        let seat = old.map_or_else(Seat::vacant, |old| old.seat);
                        let lease = Lease::new(spec);
                        let tenant =
                            Tenant::new(lease, Arc::clone(&seat), Arc::clone(&self.catalog));
                        let placed = Placed::alone(&tenant, generation);
                        let new = Server::prepare(tenant, placed);
                        let server = Arc::clone(new.server());
                        fresh.push(Arc::clone(&server));
                        unlaunched.push((new, Arc::clone(&seat)));
                        Ok(Place { seat, server })
                    }
                };
                Entry { name, place }
            })
            .collect();

        self.withdraw(&entries, &before);
        *self.seating.write().unwrap_or_else(PoisonError::into_inner) =
            Arc::new(Seating { entries, problems });
        for place in removed {
            place.seat.give_to(None);
        }
        join_all(unlaunched.into_iter().map(|(new, seat)| async move {
            let server = Arc::clone(new.server());
            new.launch().await;
            seat.give_to(Some(server));
        }))
        .await;
        // One that closes meanwhile says so elsewhere.
        join_all(
            adopted
                .iter()
                .map(|(server, spec)| server.adopt(Arc::clone(spec))),
        )
        .await;
        Reconfigured { changes, fresh }
    }

    /// What becomes of a server. A definition that cannot be used leaves the instance that is there in service: the
    /// problem is reported, and the tools stay. An entry that only changes a server of a lower layer, which is not there
    /// any more, defines none.
    fn decide(&self, name: &Arc<str>, entry: ServerEntry, old: Option<&Place>) -> Step {
        let definition = match (entry.definition, entry.adjustment, old) {
            (Ok(definition), _, _) => definition,
            (Err(_), None, Some(old)) => return Step::Keep(old.clone()),
            (Err(problem), _, _) => return Step::Unusable(problem),
        };
        let spec = Arc::new(self.policy.spec(Arc::clone(name), definition, &self.shared));
        match old {
            Some(old) if old.server.spec().starts_as(&spec) => {
                let differs = !old.server.spec().serves_as(&spec);
                let place = old.clone();
                Step::Adopt {
                    place,
                    spec,
                    differs,
                }
            }
            old => Step::Launch(old.cloned(), spec),
        }
    }

    /// Puts the catalog in the new order, and takes away the tools of servers that are gone or switched off.
    fn withdraw(&self, entries: &[Entry], before: &Seating) {
        let offering = entries.iter().filter_map(|entry| {
            let server = &entry.place.as_ref().ok()?.server;
            let offers = server.spec().definition.enabled;
            offers.then(|| (Arc::clone(&entry.name), server.id()))
        });
        for (server, removed) in self.catalog.arrange(offering.collect()) {
            if removed.is_empty() {
                continue;
            }
            let kind = EventKind::ToolsChanged {
                added: Vec::new(),
                removed,
                changed: Vec::new(),
            };
            let old = before.place(&server);
            let generation = old.map_or(0, |old| old.server.snapshot().generation);
            self.shared.events.push(&server, generation, kind);
        }
    }
}

fn changes<'a>(
    names: &[Arc<str>],
    steps: &[Step],
    removed: impl Iterator<Item = &'a Arc<str>>,
) -> Reloaded {
    let of = |kind: fn(&Step) -> bool| {
        let these = names.iter().zip(steps).filter(|(_, step)| kind(step));
        these.map(|(name, _)| name.to_string()).collect()
    };
    Reloaded {
        added: of(|step| matches!(step, Step::Launch(None, _))),
        removed: removed.map(|name| name.to_string()).collect(),
        restarted: of(|step| matches!(step, Step::Launch(Some(_), _))),
        adjusted: of(|step| matches!(step, Step::Adopt { differs: true, .. })),
    }
}

impl Seating {
    pub(super) fn entry(&self, name: &str) -> Result<&Entry, Error> {
        let entry = self.entries.iter().find(|entry| &*entry.name == name);
        entry.ok_or_else(|| {
            let names: Vec<&str> = self.entries.iter().map(|entry| &*entry.name).collect();
            let message = match names.len() {
                0 => format!("there is no server `{name}`: the configuration has none"),
                _ => format!(
                    "there is no server `{name}`; there are: {}",
                    names.join(", ")
                ),
            };
            Error::new(ErrorKind::UnknownServer, message)
        })
    }

    pub(super) fn servers(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.entries
            .iter()
            .filter_map(|entry| Some(&entry.place.as_ref().ok()?.server))
    }

    fn place(&self, name: &str) -> Option<&Place> {
        self.entry(name).ok()?.place.as_ref().ok()
    }
}

impl Entry {
    pub(super) fn server(&self) -> Result<&Arc<Server>, &ConfigProblem> {
        self.place.as_ref().map(|place| &place.server)
    }

    pub(super) fn status(&self) -> Status {
        self.server()
            .map_or(Status::Failed, |server| server.standing().1)
    }
}
