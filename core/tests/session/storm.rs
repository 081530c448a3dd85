//! Everything at once in one session, from many tasks, with a watchdog for each operation; then a count of what is left.
//!
//! `MCP_RESIDENT_STORM_SECONDS` makes it as long as somebody wants.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_resident::{CallContext, SEARCH_TOOL, Session, open_session};
use mcp_resident_fixtures::Signal;
use mcp_resident_fixtures::hub::{Hub, Transport};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use super::census::{Census, alone, tasks_settle};
use super::storm_support::{Dice, most_runs_of_a_call, within};
use super::support::PATIENCE;
use super::{Files, ProjectTrust, fake, servers};

/// Tasks that work at the same time.
const WORKERS: u64 = 8;
/// What each of them does before it ends, unless it is to go on for some time.
const DEEDS: u64 = 50;
/// The servers: `h` is reached over HTTP.
const SERVERS: [&str; 3] = ["a", "b", "h"];

fn one_of<'t>(dice: &mut Dice, names: &[&'t str]) -> &'t str {
    names[dice.roll(names.len() as u64) as usize]
}

struct World {
    session: Session,
    files: Files,
    hub: Arc<Hub>,
    url: String,
}

impl World {
    /// A configuration that differs from the one before in this and that.
    fn configuration(&self, dice: &mut Dice) -> Value {
        let mut entries = Vec::new();
        for server in ["a", "b"] {
            let keys = match dice.roll(5) {
                0 => continue,
                1 => json!({"env": {"VARIANT": dice.roll(3).to_string()}}),
                2 => json!({"toolExposure": {"add": "hidden", "count": "deferred"}}),
                3 => json!({"enabled": dice.roll(3) > 0, "timeout": 5000 + dice.roll(3)}),
                _ => json!({}),
            };
            entries.push((server.to_owned(), fake(&self.hub, server, json!({}), keys)));
        }
        let header = dice.roll(3).to_string();
        entries.push((
            "h".to_owned(),
            json!({"url": self.url, "headers": {"X-Variant": header}}),
        ));
        Value::Object(entries.into_iter().collect())
    }

    async fn work(self: Arc<Self>, seed: u64, end: Option<Instant>) {
        let mut dice = Dice(seed);
        let session = &self.session;
        let source = session.source();
        let mut deed = 0;
        while end.map_or(deed < DEEDS, |end| Instant::now() < end) {
            deed += 1;
            let server = one_of(&mut dice, &SERVERS);
            // Errors are fair, as long as they come.
            match dice.roll(16) {
                0 => {
                    self.files.user(self.configuration(&mut dice));
                    drop(within("a reload", session.reload()).await);
                }
                1 => drop(within("a restart", source.restart(server, None)).await),
                2 => {
                    drop(within("a stop", source.stop(server)).await);
                    drop(within("a start", source.start(server, None)).await);
                }
                3 => drop(within("a refresh", source.refresh(None)).await),
                4 => drop(self.hub.kill(one_of(&mut dice, &["a", "b"]), Signal::KILL)),
                5 => drop(
                    within(
                        "an expiry",
                        self.hub.command("h", json!({"expire_session": {}})),
                    )
                    .await,
                ),
                6 => {
                    let tool = json!({"name": format!("extra_{}", dice.roll(5)), "inputSchema": {"type": "object"}});
                    let command = json!({"add_tool": {"tool": tool, "notify": true}});
                    drop(within("a command", self.hub.command(server, command)).await);
                }
                7 => {
                    // Whoever asked goes away.
                    let soon = Duration::from_millis(dice.roll(10));
                    drop(tokio::time::timeout(soon, session.exchange()).await);
                }
                _ => self.call(&mut dice, &format!("{seed}-{deed}")).await,
            }
        }
    }

    async fn call(&self, dice: &mut Dice, text: &str) {
        let Ok(exchange) = within("an exchange", self.session.exchange()).await else {
            return;
        };
        if dice.roll(8) == 0
            && let Some(search) = exchange.tool(SEARCH_TOOL)
        {
            let found = search.execute(json!({"query": "count"}), CallContext::default());
            assert!(!within("a search", found).await.is_error);
        }
        let name = format!("mcp__{}__echo", one_of(dice, &SERVERS));
        let Some(tool) = exchange.tool(&name).cloned() else {
            return;
        };
        let call = tool.execute(json!({"text": text}), CallContext::default());
        if dice.roll(10) == 0 {
            drop(tokio::time::timeout(Duration::from_millis(dice.roll(10)), call).await);
            return;
        }
        let result = within("a call", call).await;
        match result.metadata.error {
            None => assert_eq!(result.output, text),
            Some(error) => assert!(result.is_error && !error.message.is_empty()),
        }
    }
}

fn storm(runtime: Runtime) {
    let seconds = std::env::var_os("MCP_RESIDENT_STORM_SECONDS");
    let end = seconds
        .and_then(|text| Some(Instant::now() + Duration::from_secs(text.to_str()?.parse().ok()?)));
    // The hub lives on a runtime of its own, so that it is not counted.
    let hubs = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let hub = Arc::new(hubs.block_on(Hub::start()).unwrap());
    let url = hubs
        .block_on(hub.start_http("h", Transport::Http, json!({}), 0))
        .unwrap();
    let before = Census::take();
    runtime.block_on(async {
        let tasks = tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks();
        let files = Files::new();
        let entry = |server| (server, fake(&hub, server, json!({}), json!({})));
        files.user(servers([
            entry("a"),
            entry("b"),
            ("h", json!({"url": url})),
        ]));
        let mut options = files.options(ProjectTrust::All);
        options.load.limits.call_idle = Some(Duration::from_secs(5));
        let session = within("the opening", open_session(options)).await.unwrap();
        session.source().on_event(|_| {}).forever();
        let hub = Arc::clone(&hub);
        let world = Arc::new(World {
            session,
            files,
            hub,
            url,
        });
        let mut workers = JoinSet::new();
        for seed in 1..=WORKERS {
            workers.spawn(Arc::clone(&world).work(seed, end));
        }
        // The close comes while half of them are still at it.
        for _ in 0..WORKERS / 2 {
            workers.join_next().await.unwrap().unwrap();
        }
        if tokio::time::timeout(PATIENCE, world.session.close())
            .await
            .is_err()
        {
            let source = world.session.source();
            let events = source.events(0);
            let newest = events.iter().rev().take(40).rev();
            let newest: Vec<String> = newest
                .map(|e| format!("{} {}#{} {}", e.sequence, e.server, e.generation, e.kind))
                .collect();
            let infos: Vec<_> = source
                .servers()
                .iter()
                .map(|server| source.info(server))
                .collect();
            panic!("the close did not end: {infos:#?} {}", newest.join("\n"));
        }
        while let Some(worker) = workers.join_next().await {
            worker.unwrap();
        }
        for server in ["a", "b"] {
            within(
                "the end of all processes",
                world.hub.wait_gone(server, PATIENCE),
            )
            .await
            .unwrap();
        }
        tasks_settle(tasks).await;
    });
    drop(runtime);
    hubs.block_on(before.settles());
    assert_eq!(most_runs_of_a_call(&hub, &SERVERS), 1);
}

#[test]
fn everything_at_once_on_one_thread() {
    alone("storm::everything_at_once_on_one_thread", || {
        storm(Builder::new_current_thread().enable_all().build().unwrap());
    });
}

#[test]
fn everything_at_once_on_many_threads() {
    alone("storm::everything_at_once_on_many_threads", || {
        let runtime = Builder::new_multi_thread()
            .worker_threads(4)
            .enable_all()
            .build();
        storm(runtime.unwrap());
    });
}
