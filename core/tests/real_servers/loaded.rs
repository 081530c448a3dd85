//! A loaded configuration, with everything that the tests ask of it, bounded.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mcp_resident::{
    CallContext, Event, EventKind, LoadOptions, McpSource, State, Status, Subscription, Tool,
    ToolResult, load_mcp,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::processes;

/// Longer than any of these servers takes to start on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Far more events than a test causes.
const EVENT_QUEUE: usize = 4_096;

/// Fails the test when the work takes too long.
pub(crate) async fn bounded<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work)
        .await
        .expect("took too long")
}

pub(crate) struct Loaded {
    pub(crate) source: McpSource,
    events: mpsc::Receiver<Event>,
    _subscription: Subscription,
    /// The leaders of all server processes so far.
    leaders: Vec<u32>,
}

impl Loaded {
    /// Loads these entries. Every server has to be connected.
    pub(crate) async fn load(entries: Value, options: LoadOptions) -> Self {
        let source = bounded(load_mcp(json!({ "mcpServers": entries }), options))
            .await
            .unwrap();
        for (server, status) in source.status() {
            let info = source.info(&server).unwrap();
            assert_eq!(status, Status::Connected, "{server}: {:?}", info.last_error);
        }
        let (sender, events) = mpsc::channel(EVENT_QUEUE);
        let subscription = source.on_event(move |event| {
            sender.try_send(event.clone()).expect("too many events");
        });
        let mut loaded = Self {
            source,
            events,
            _subscription: subscription,
            leaders: Vec::new(),
        };
        loaded.remember_leaders();
        loaded
    }

    /// The tool of a server, by its own name.
    pub(crate) fn tool(&self, server: &str, tool: &str) -> Arc<Tool> {
        self.source
            .name_of(server, tool)
            .and_then(|name| self.source.tool(&name))
            .unwrap_or_else(|| panic!("{server} does not list {tool}"))
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, server: &str, tool: &str, arguments: Value) -> ToolResult {
        let tool = self.tool(server, tool);
        bounded(tool.execute(arguments, CallContext::default())).await
    }

    /// The text that a tool answers, which must not be a failure.
    pub(crate) async fn answer(&self, server: &str, tool: &str, arguments: Value) -> String {
        let result = self.call(server, tool, arguments).await;
        assert!(!result.is_error, "{server} {tool}: {result:?}");
        result.output
    }

    /// Waits until this happens to a server.
    pub(crate) async fn event(&mut self, server: &str, awaited: impl Fn(&EventKind) -> bool) {
        bounded(async {
            loop {
                let event = self.events.recv().await.expect("the source is open");
                if &*event.server == server && awaited(&event.kind) {
                    return;
                }
            }
        })
        .await;
    }

    /// Waits until a server gets into a state.
    pub(crate) async fn changed_to(&mut self, server: &str, state: State) {
        self.event(
            server,
            |kind| matches!(kind, EventKind::State { to, .. } if *to == state),
        )
        .await;
    }

    /// The process that leads a server's session.
    pub(crate) fn leader(&self, server: &str) -> u32 {
        let info = self.source.info(server).unwrap();
        info.process_id.expect("the server runs as a process")
    }

    /// Closes. Every server has to end by itself, and nothing of any of them may be left.
    pub(crate) async fn close(mut self) {
        self.remember_leaders();
        bounded(self.source.close()).await;
        for leader in &self.leaders {
            let left = processes::of_session(*leader);
            assert!(left.is_empty(), "left of {leader}: {left:?}");
        }
        let history = self.source.events(0);
        for server in self.source.servers() {
            let last_close = history.iter().rev().find_map(|event| match &event.kind {
                EventKind::Closed { killed, .. } if *event.server == *server => Some(*killed),
                _ => None,
            });
            assert_eq!(last_close, Some(false), "{server} had to be killed");
        }
    }

    pub(crate) fn remember_leaders(&mut self) {
        for server in self.source.servers() {
            self.leaders
                .extend(self.source.info(&server).unwrap().process_id);
        }
    }
}
