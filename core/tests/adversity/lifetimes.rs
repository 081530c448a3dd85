//! Sources used after their end, and dropped without one.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use mcp_resident::{
    CallContext, CancellationToken, ErrorKind, FailureKind, LoadOptions, State, Wait, load_mcp,
};
use mcp_resident_fixtures::hub::{Filter, Hub};
use serde_json::json;
use tokio::runtime::Handle;

use crate::census::{Census, alone, tasks_settle};
use crate::odd_server;
use crate::support::{PATIENCE, bounded, config, entry};

fn on_one_thread(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work);
}

#[tokio::test]
async fn after_the_close_everything_says_so_and_nothing_starts() {
    let hub = Hub::start().await.unwrap();
    let source = bounded(load_mcp(
        config(&hub, json!({}), json!({"lazy": true})),
        LoadOptions::default(),
    ))
    .await
    .unwrap();
    let connect = source.tool("s_connect").unwrap();
    bounded(connect.execute(json!({}), CallContext::default())).await;
    let echo = source.tool("s_echo").unwrap();
    bounded(source.close()).await;

    for tool in [&connect, &echo] {
        let failed = bounded(tool.execute(json!({"text": "a"}), CallContext::default())).await;
        let failed = failed.metadata.error.unwrap();
        assert_eq!(failed.kind, FailureKind::Closed, "{failed:?}");
    }
    for outcome in [
        bounded(source.start("s", None)).await,
        bounded(source.restart("s", None)).await,
        bounded(source.stop("s")).await,
        bounded(source.refresh(Some("s"))).await,
        bounded(source.wait_for("s", &[State::Running], PATIENCE))
            .await
            .map(drop),
    ] {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Closed);
    }
    bounded(source.refresh(None)).await.unwrap();
    assert_eq!(source.state("s").unwrap(), State::Stopped);
    source
        .on_event(|_| panic!("nothing happens any more"))
        .forever();
    bounded(source.close()).await;
    let started = hub.matching("s", &Filter::event("started"));
    assert_eq!(started.len(), 1);
}

#[tokio::test]
async fn a_call_that_waits_for_its_server_ends_with_the_source() {
    for lazy in [json!(true), json!(false)] {
        let hub = Hub::start().await.unwrap();
        let script = json!({"never_answer": ["initialize"]});
        let mut options = LoadOptions::default();
        options.wait = Wait::None;
        let keys = json!({"lazy": lazy, "autoRestart": true});
        let source = bounded(load_mcp(config(&hub, script, keys), options))
            .await
            .unwrap();
        let Some(tool) = source.tool("s_connect") else {
            bounded(source.close()).await;
            continue;
        };
        let call =
            tokio::spawn(async move { tool.execute(json!({}), CallContext::default()).await });
        let asked = Filter::event("received").holding(json!({"message": {"method": "initialize"}}));
        hub.wait_for("s", &asked, 1, PATIENCE).await.unwrap();
        bounded(source.close()).await;
        let failed = bounded(call).await.unwrap().metadata.error.unwrap();
        assert_eq!(failed.kind, FailureKind::Closed, "{failed:?}");
    }
}

#[tokio::test]
async fn a_call_of_a_lazy_server_that_is_being_connected_ends_with_the_source() {
    let hub = Hub::start().await.unwrap();
    let script = json!({"never_answer": ["initialize"]});
    let source = bounded(load_mcp(
        config(&hub, script, json!({"lazy": true})),
        LoadOptions::default(),
    ))
    .await
    .unwrap();
    let tool = source.tool("s_connect").unwrap();
    let call = tokio::spawn(async move { tool.execute(json!({}), CallContext::default()).await });
    let asked = Filter::event("received").holding(json!({"message": {"method": "initialize"}}));
    hub.wait_for("s", &asked, 1, PATIENCE).await.unwrap();
    bounded(source.close()).await;
    let failed = bounded(call).await.unwrap().metadata.error.unwrap();
    assert_eq!(failed.kind, FailureKind::Closed, "{failed:?}");
}

/// A host that forgets to close, and keeps what it was given.
#[test]
fn a_source_that_is_dropped_leaves_nothing_though_its_tools_are_kept() {
    alone(
        "lifetimes::a_source_that_is_dropped_leaves_nothing_though_its_tools_are_kept",
        || {
            on_one_thread(async {
                let tasks = Handle::current().metrics().num_alive_tasks();
                let before = Census::take();
                let source = odd_server::load(r#"reply "$id" fine"#, json!({})).await;
                let process = source.info("s").unwrap().process_id.unwrap();
                let tool = source.tool("s_t").unwrap();
                source.on_event(|_| {}).forever();
                drop(source);
                tasks_settle(tasks).await;
                before.settles().await;
                assert!(!std::path::Path::new(&format!("/proc/{process}")).exists());
                let failed = bounded(tool.execute(json!({}), CallContext::default())).await;
                assert_eq!(failed.metadata.error.unwrap().kind, FailureKind::Closed);
            })
        },
    );
}

/// Drops a load at each place where it can wait.
#[test]
fn a_load_that_is_dropped_leaves_nothing() {
    alone("lifetimes::a_load_that_is_dropped_leaves_nothing", || {
        on_one_thread(async {
            let tasks = Handle::current().metrics().num_alive_tasks();
            let before = Census::take();
            let cache = tempfile::tempdir().unwrap();
            let config = json!({ "mcpServers": {
                "eager": odd_server::entry("", json!({})),
                "lazy": odd_server::entry("", json!({"lazy": true})),
                "list": odd_server::entry("", json!({"lazy": "list"})),
            }});
            for polls in 0..40 {
                let mut options = LoadOptions::default();
                options.cache_dir = Some(cache.path().to_owned());
                let mut load = Box::pin(load_mcp(config.clone(), options));
                for _ in 0..polls {
                    if let Some(loaded) = load.as_mut().now_or_never() {
                        drop(loaded);
                        load = Box::pin(load_mcp(config.clone(), LoadOptions::default()));
                        break;
                    }
                    tokio::time::sleep(Duration::from_micros(500)).await;
                }
                drop(load);
            }
            tasks_settle(tasks).await;
            // Threads of the blocking pool live on for a while by themselves.
            Census {
                threads: usize::MAX,
                ..before
            }
            .settles()
            .await;
        })
    });
}

/// Cancels a start and a restart at many moments, and looks for a process that nobody ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_is_cancelled_at_any_moment_leaves_nothing() {
    let hub = Hub::start().await.unwrap();
    let servers =
        json!({ "mcpServers": { "s": entry(&hub, "s", json!({}), json!({"lazy": true})) } });
    let source = bounded(load_mcp(servers, LoadOptions::default()))
        .await
        .unwrap();
    let source = Arc::new(source);
    for round in 0u32..60 {
        let cancel = CancellationToken::new();
        let starting = {
            let (source, cancel) = (Arc::clone(&source), cancel.clone());
            tokio::spawn(async move {
                if round % 2 == 0 {
                    source.start("s", Some(&cancel)).await
                } else {
                    source.restart("s", Some(&cancel)).await
                }
            })
        };
        tokio::time::sleep(Duration::from_micros(u64::from(round) * 200)).await;
        if round % 3 == 0 {
            starting.abort();
        } else {
            cancel.cancel();
            if let Err(error) = bounded(starting).await.unwrap() {
                assert_eq!(error.kind(), ErrorKind::Cancelled);
            }
        }
        bounded(source.stop("s")).await.unwrap();
        let living = hub
            .pids("s")
            .into_iter()
            .filter(|pid| hub.alive(*pid))
            .count();
        assert_eq!(living, 0, "round {round}");
    }
    bounded(source.restart("s", None)).await.unwrap();
    bounded(source.close()).await;
    hub.wait_gone("s", PATIENCE).await.unwrap();
}
