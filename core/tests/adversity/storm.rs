//! Everything at once, from many tasks, and then a count of what is left.

use std::sync::Arc;
use std::time::Duration;

use mcp_resident::{AutoRestart, CallContext, CancellationToken, LoadOptions, McpSource, load_mcp};
use mcp_resident_fixtures::Signal;
use mcp_resident_fixtures::hub::Hub;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::census::{Census, alone, tasks_settle};
use crate::support::{PATIENCE, entry};

/// Tasks that work at the same time.
const WORKERS: u64 = 8;
/// What each of them does before it ends.
const DEEDS: u64 = 60;

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
}

/// A watchdog for one operation.
async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => panic!("{what} did not end"),
    }
}

async fn work(source: Arc<McpSource>, hub: Arc<Hub>, seed: u64) {
    let mut dice = Dice(seed);
    let cancel = CancellationToken::new();
    for deed in 0..DEEDS {
        let server = ["a", "b"][usize::from(dice.roll(2) == 1)];
        // Errors are fair, as long as they come.
        match dice.roll(20) {
            0 => drop(within("restart", source.restart(server, None)).await),
            1 => {
                let cancel = cancel.child_token();
                let restart = source.restart(server, Some(&cancel));
                let soon = async {
                    tokio::time::sleep(Duration::from_millis(dice.roll(8))).await;
                    cancel.cancel();
                };
                drop(within("a cancelled restart", async { tokio::join!(restart, soon) }).await);
            }
            2 => {
                drop(within("stop", source.stop(server)).await);
                drop(within("start", source.start(server, None)).await);
            }
            3 => drop(within("refresh", source.refresh(Some(server))).await),
            4 => drop(within("refresh of all", source.refresh(None)).await),
            5 => drop(hub.kill(server, Signal::KILL)),
            6 => {
                let tool = json!({"name": format!("extra_{seed}_{deed}"), "inputSchema": {"type": "object"}});
                let command = json!({"add_tool": {"tool": tool, "notify": true}});
                drop(within("a command", hub.command(server, command)).await);
            }
            7 => {
                let tool = source.tool(&format!("{server}_sleep")).unwrap();
                let call = tool.execute(json!({"ms": 60_000}), CallContext::default());
                // Dropped in the middle.
                drop(tokio::time::timeout(Duration::from_millis(dice.roll(10)), call).await);
            }
            _ => {
                let tool = source.tool(&format!("{server}_echo")).unwrap();
                let text = format!("{seed}-{deed}");
                let result = within(
                    "a call",
                    tool.execute(json!({"text": text}), CallContext::default()),
                )
                .await;
                match result.metadata.error {
                    None => assert_eq!(result.output, text),
                    Some(error) => assert!(result.is_error && !error.message.is_empty()),
                }
            }
        }
    }
}

/// How often each text was echoed, over all processes.
fn most_runs_of_a_call(hub: &Hub) -> usize {
    let mut texts: Vec<String> = ["a", "b"]
        .iter()
        .flat_map(|server| hub.entries(server))
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
    // The hub lives on a runtime of its own, so that it is not counted.
    let hubs = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let hub = Arc::new(hubs.block_on(Hub::start()).unwrap());
    let before = Census::take();
    runtime.block_on(async {
        let tasks = tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks();
        let mut options = LoadOptions::default();
        options.live_tool_list = Some(true);
        options.auto_restart = Some(AutoRestart::On {
            max_retries: Some(50),
            backoff: Some(Duration::from_millis(1)),
        });
        let config = json!({ "mcpServers": {
            "a": entry(&hub, "a", json!({}), json!({})),
            "b": entry(&hub, "b", json!({}), json!({})),
        }});
        let source = Arc::new(within("the load", load_mcp(config, options)).await.unwrap());
        source.on_event(|_| {}).forever();
        let mut workers = JoinSet::new();
        for seed in 1..=WORKERS {
            workers.spawn(work(Arc::clone(&source), Arc::clone(&hub), seed));
        }
        // The close comes while half of them are still at it.
        for _ in 0..WORKERS / 2 {
            workers.join_next().await.unwrap().unwrap();
        }
        within("the close", async {
            tokio::join!(source.close(), source.close())
        })
        .await;
        while let Some(worker) = workers.join_next().await {
            worker.unwrap();
        }
        for server in ["a", "b"] {
            within("the end of all processes", hub.wait_gone(server, PATIENCE))
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
        storm(Builder::new_current_thread().enable_all().build().unwrap())
    });
}

#[test]
fn everything_at_once_on_many_threads() {
    alone("storm::everything_at_once_on_many_threads", || {
        storm(
            Builder::new_multi_thread()
                .worker_threads(4)
                .enable_all()
                .build()
                .unwrap(),
        )
    });
}
