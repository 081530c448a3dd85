//! What the host sees and is asked while a scenario runs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_resident::{Answer, EventKind, McpSource, RawJson, Reason, Request, State, Subscription};
use mcp_resident_fixtures::scenario;
use serde_json::Value;
use tokio::sync::watch;

use crate::json;

/// How long the states may take that a scenario names.
const STATES_WITHIN: Duration = Duration::from_secs(10);

/// The states of each server: the one at the end of the load, then every change that an observer is told of.
pub(crate) struct StateLog {
    initial: BTreeMap<String, State>,
    /// The last event of the load.
    load_end: u64,
    seen: watch::Receiver<Vec<(u64, String, State)>>,
    _subscription: Subscription,
}

impl StateLog {
    /// Observes a source that has just been loaded.
    pub(crate) fn of(source: &McpSource) -> Self {
        let (sender, seen) = watch::channel(Vec::new());
        // First the observer and then the history: no change falls between them.
        let subscription = source.on_event(move |event| {
            if let EventKind::State { to, .. } = event.kind {
                let change = (event.sequence, event.server.to_string(), to);
                sender.send_modify(|changes| changes.push(change));
            }
        });
        let mut initial: BTreeMap<_, _> = source
            .servers()
            .into_iter()
            .map(|server| (server, State::Stopped))
            .collect();
        let history = source.events(0);
        for event in &history {
            if let EventKind::State { to, .. } = event.kind {
                initial.insert(event.server.to_string(), to);
            }
        }
        Self {
            initial,
            load_end: history.last().map_or(0, |event| event.sequence),
            seen,
            _subscription: subscription,
        }
    }

    /// All states of a server, once there are so many.
    pub(crate) async fn at_least(&self, server: &str, count: usize) -> Vec<State> {
        let of_server = |changes: &Vec<(u64, String, State)>| -> Vec<State> {
            let changes = changes
                .iter()
                .filter(|(sequence, of, _)| *sequence > self.load_end && of == server)
                .map(|(_, _, state)| *state);
            self.initial
                .get(server)
                .copied()
                .into_iter()
                .chain(changes)
                .collect()
        };
        let mut seen = self.seen.clone();
        let enough = seen.wait_for(|changes| of_server(changes).len() >= count);
        // With fewer the comparison fails and shows them.
        let _ = tokio::time::timeout(STATES_WITHIN, enough).await;
        of_server(&self.seen.borrow())
    }
}

/// The person whom the host asks on behalf of servers.
#[derive(Default)]
pub(crate) struct Person {
    answers: Mutex<VecDeque<scenario::Answer>>,
    asked: Mutex<Vec<Value>>,
}

impl Person {
    pub(crate) fn will_answer(&self, answers: &[scenario::Answer]) {
        *lock(&self.answers) = answers.iter().cloned().collect();
    }

    pub(crate) fn asked(&self) -> Vec<Value> {
        lock(&self.asked).clone()
    }

    pub(crate) async fn ask(self: Arc<Self>, request: Request) -> Answer {
        lock(&self.asked).push(json::request(&request));
        let mut answers = lock(&self.answers);
        let answer = match answers.len() {
            // The last one repeats.
            0 | 1 => answers.front().cloned(),
            _ => answers.pop_front(),
        };
        match answer {
            Some(answer) if answer.ok => {
                Answer::accept(request.id, answer.data.as_ref().map(RawJson::from))
            }
            Some(answer) if answer.reason.as_deref() == Some("declined") => {
                Answer::refuse(request.id, Reason::Declined)
            }
            Some(answer) if answer.reason.as_deref() == Some("expired") => {
                Answer::refuse(request.id, Reason::Expired)
            }
            _ => Answer::refuse(request.id, Reason::Cancelled),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
