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
use super::support::PATIENCE;
use super::{Files, ProjectTrust, fake, servers};

/// Tasks that work at the same time.
const WORKERS: u64 = 8;
/// What each of them does before it ends, unless it is to go on for some time.
const DEEDS: u64 = 50;
/// The servers: `h` is reached over HTTP.
const SERVERS: [&str; 3] = ["a", "b", "h"];

/// A simple generator: what happens is the same in each run, though when it happens is not.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn one_of<'t>(&mut self, names: &[&'t str]) -> &'t str {
        names[self.roll(names.len() as u64) as usize]
    }
}

/// A watchdog for one operation.
async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => panic!("{what} did not end"),
    }
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
            let server = dice.one_of(&SERVERS);
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
                4 => drop(self.hub.kill(dice.one_of(&["a", "b"]), Signal::KILL)),
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
        let name = format!("mcp__{}__echo", dice.one_of(&SERVERS));
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

/// How often each text reached a server, over all processes and connections.
fn most_runs_of_a_call(hub: &Hub) -> usize {
    let entries = SERVERS.iter().flat_map(|server| hub.entries(server));
    let mut texts: Vec<String> = entries
        .filter_map(|entry| {
            let message = entry.data.get("message")?;
            let call = message.get("method").and_then(Value::as_str) == Some("tools/call");
            let text = message.pointer("/params/arguments/text")?.as_str()?;
            call.then(|| text.to_owned())
        })
        .collect();
    texts.sort_unstable();
    texts
        .chunk_by(|a, b| a == b)
        .map(<[String]>::len)
        .max()
        .unwrap_or(0)
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
    assert_eq!(most_runs_of_a_call(&hub), 1);
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
