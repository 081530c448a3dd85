//! The server's list: fetched again, published, remembered.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::time::Instant;

use super::{Done, Listed, Purpose, Refresh, Task, Waiter, answer};
use crate::catalog::Changes;
use crate::config::Lazy;
use crate::connection::Connection;
use crate::event::EventKind;
use crate::server::attempt::{self, ListFailed};
use crate::server::placeholder;
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

    /// Puts a list in the place of the old one, filtered, and says what changed. Returns whether
    /// anything did.
    pub(super) fn publish_tools(
        &mut self,
        tools: Vec<ToolDefinition>,
        diagnostics: Vec<Diagnostic>,
        generation: u64,
    ) -> bool {
        let event = |kind| {
            self.spec
                .shared
                .events
                .push(&self.spec.name, generation, kind)
        };
        for Diagnostic { tool, reason } in diagnostics {
            event(EventKind::ToolDiagnostic { tool, reason });
        }
        if !std::mem::replace(&mut self.unknown_filter_names_reported, true) {
            self.report_unknown_filter_names(&tools);
        }
        let filter = &self.spec.definition.tools;
        let offered: Vec<_> = tools
            .iter()
            .filter(|tool| !self.spec.filtered || filter.allows(&tool.name))
            .cloned()
            .collect();
        self.listed = Some(tools);
        let names = offered.iter().map(|tool| Arc::clone(&tool.name)).collect();
        // Before the catalog: a tool that is found there is never refused as one that is gone.
        self.snapshot
            .send_modify(|snapshot| snapshot.offered = Some(Arc::new(names)));
        let changes = self.catalog.replace(
            &self.spec.name,
            self.server.id(),
            offered,
            self.seat.clone(),
        );
        let changed = !changes.is_empty();
        if changed {
            let Changes {
                added,
                removed,
                changed,
            } = changes;
            event(EventKind::ToolsChanged {
                added,
                removed,
                changed,
            });
        }
        changed
    }

    pub(super) fn report_unknown_filter_names(&self, tools: &[ToolDefinition]) {
        let known: HashSet<&str> = tools.iter().map(|tool| &*tool.name).collect();
        let filter = &self.spec.definition.tools;
        let unknown: Vec<&str> = filter
            .names()
            .filter(|name| !known.contains(name))
            .collect();
        if !unknown.is_empty() {
            let message = format!(
                "`tools` names what the server does not list: {}",
                unknown.join(", ")
            );
            self.event(EventKind::Note { message });
        }
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
        let (log, name) = (self.spec.shared.events.clone(), Arc::clone(&self.spec.name));
        let generation = self.generation;
        self.spec.shared.tasks.spawn(async move {
            if let Err(error) = cache.store(&key, entries).await {
                let message = format!("its list is not cached: {error}");
                log.push(&name, generation, EventKind::Note { message });
            }
        });
    }

    /// What a lazy server offers before it is started: what was listed the last time, or a tool that
    /// starts it.
    pub(in crate::server) async fn offer_unstarted(&mut self) {
        let cached = match &self.spec.shared.cache {
            Some(cache) => cache.load(&self.spec.listing_key).await,
            None => None,
        };
        if let Some(entries) = cached {
            let (tools, diagnostics) = read_listing(entries);
            self.publish_tools(tools, diagnostics, 0);
        } else {
            let tool = placeholder::definition(&self.spec.name);
            self.catalog.replace(
                &self.spec.name,
                self.server.id(),
                vec![tool],
                self.seat.clone(),
            );
        }
    }
}
