//! The server's list: fetched again, published, remembered.

use std::sync::Arc;

use futures_util::FutureExt;
use tokio::time::Instant;

use super::{Done, Listed, Purpose, Refresh, Task, Waiter, answer};
use crate::config::Lazy;
use crate::connection::Connection;
use crate::event::{EventKind, State};
use crate::server::attempt::{self, ListFailed};
use crate::server::lease::Tenant;
use crate::tool::{Diagnostic, ToolDefinition, read_listing};

impl Task {
    pub(super) fn begin_refresh(&mut self, waiters: Vec<Done>) {
        let Some(current) = &self.current else {
            for done in waiters {
                answer(done, Err(self.not_running()));
            }
            return;
        };
        let connection = Arc::clone(&current.connection);
        let spec = Arc::clone(&self.spec);
        let generation = connection.generation();
        let listing = async move { attempt::list(&connection, &spec, None).await }.boxed();
        self.refresh = Some(Refresh {
            generation,
            listing,
            waiters,
        });
    }

    pub(super) fn refreshed(&mut self, result: Listed) {
        let Some(refresh) = self.refresh.take() else {
            return;
        };
        let is_current = self
            .current
            .as_ref()
            .is_some_and(|current| current.connection.generation() == refresh.generation);
        let result = match result {
            Ok((tools, diagnostics)) if is_current => {
                let changed = self.publish_tools(tools, diagnostics, refresh.generation);
                self.pace.fetched(Instant::now(), changed);
                Ok(())
            }
            Ok(_) => Err(self.not_running()),
            // The new session is listed, which is what was asked for.
            Err(failed) if is_current && failed.session_unknown && self.attempt.is_none() => {
                let waiters = refresh
                    .waiters
                    .into_iter()
                    .map(|done| Waiter { id: 0, done });
                let waiters = waiters.chain(
                    self.refresh_next
                        .drain(..)
                        .map(|done| Waiter { id: 0, done }),
                );
                let waiters = waiters.collect();
                return self.begin_attempt(Purpose::ReplaceSession, waiters, "session expired");
            }
            Err(ListFailed { error, .. }) => {
                // The last good list stays.
                self.pace.fetched(Instant::now(), false);
                if is_current {
                    self.event(EventKind::Note {
                        message: error.message().to_owned(),
                    });
                    if self.spec.live_tool_list && refresh.waiters.is_empty() {
                        // A notice that was not followed is not forgotten.
                        self.refresh_due = Some(self.pace.due(Instant::now()));
                    }
                }
                Err(error)
            }
        };
        for done in refresh.waiters {
            answer(done, result.clone());
        }
        let next = std::mem::take(&mut self.refresh_next);
        if !next.is_empty() {
            self.begin_refresh(next);
        }
    }

    /// Puts a list in the place of the old one for all who use the instance. Returns whether anything changed for one of
    /// them.
    pub(super) fn publish_tools(
        &mut self,
        tools: Vec<ToolDefinition>,
        diagnostics: Vec<Diagnostic>,
        generation: u64,
    ) -> bool {
        for Diagnostic { tool, reason } in diagnostics {
            self.event_of(generation, EventKind::ToolDiagnostic { tool, reason });
        }
        let names = tools.iter().map(|tool| Arc::clone(&tool.name)).collect();
        // Before the catalogs: a tool that is found there is never refused as one that is gone.
        self.snapshot
            .send_modify(|snapshot| snapshot.listed = Some(Arc::new(names)));
        let tenants = self.instance.tenants();
        let changed = tenants
            .iter()
            .map(|tenant| tenant.offer(&tools, generation));
        let changed = changed.fold(false, |any, changed| any | changed);
        self.listed = Some(tools);
        changed
    }

    /// Keeps the list for the next load of a lazy server.
    pub(super) fn remember_listing(&self, tools: &[ToolDefinition], connection: &Connection) {
        let Some(cache) = self
            .spec
            .shared
            .cache
            .clone()
            .filter(|_| self.spec.lazy != Lazy::No)
        else {
            return;
        };
        let entries: Vec<_> = tools.iter().map(|tool| tool.raw.clone()).collect();
        let repeats_a_secret = entries
            .iter()
            .any(|entry| connection.mask_json(entry.clone()) != *entry);
        if repeats_a_secret {
            self.event(EventKind::Note {
                message: "its list is not cached: it repeats a secret".to_owned(),
            });
            return;
        }
        let key = self.spec.listing_key.clone();
        let (audience, name) = (self.instance.audience.clone(), Arc::clone(&self.spec.name));
        let generation = self.generation;
        self.instance.tasks.spawn(async move {
            if let Err(error) = cache.store(&key, entries).await {
                let message = format!("its list is not cached: {error}");
                audience.push(&name, generation, EventKind::Note { message });
            }
        });
    }

    /// What a lazy server offers before it is started: what was listed the last time, or a tool that
    /// starts it.
    pub(in crate::server) async fn offer_unstarted(&mut self) {
        if self.spec.lazy != Lazy::Yes {
            return;
        }
        let cached = match &self.spec.shared.cache {
            Some(cache) => cache.load(&self.spec.listing_key).await,
            None => None,
        };
        if let Some(entries) = cached {
            let (tools, diagnostics) = read_listing(entries);
            self.publish_tools(tools, diagnostics, 0);
        } else {
            for tenant in self.instance.tenants() {
                tenant.offer_placeholder();
            }
        }
    }

    /// Tells somebody who joins of the state, and offers them what the others have been offered.
    pub(super) fn welcome(&self, tenant: &Tenant) {
        let spec = tenant.spec();
        let to = self.snapshot.borrow().state;
        if to != State::Stopped {
            let kind = EventKind::State {
                from: State::Stopped,
                to,
                cause: "shared with another session".to_owned(),
            };
            spec.shared.events.push(&spec.name, self.generation, kind);
        }
        match &self.listed {
            Some(tools) => {
                tenant.offer(tools, self.generation);
            }
            None if spec.lazy == Lazy::Yes => tenant.offer_placeholder(),
            None => {}
        }
    }
}
