//! Everything at once, from many tasks, and then a count of what is left.

use std::sync::Arc;
use std::time::Duration;

use mcp_resident::{AutoRestart, CallContext, CancellationToken, LoadOptions, McpSource, load_mcp};
use mcp_resident_fixtures::Signal;
use mcp_resident_fixtures::hub::Hub;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::census::{Census, alone, tasks_settle};
use crate::storm_support::{Dice, most_runs_of_a_call, within};
use crate::support::{PATIENCE, entry};

/// Tasks that work at the same time.
const WORKERS: u64 = 8;
/// What each of them does before it ends.
const DEEDS: u64 = 60;

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
    assert_eq!(most_runs_of_a_call(&hub, &["a", "b"]), 1);
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
