//! What was resolved from the environment appears nowhere, also when a server repeats it.

mod support;

use std::sync::Arc;

use mcp_resident::{CallContext, ExpandMode, FixedEnvironment, LoadOptions, Status, load_mcp};
use mcp_resident_fixtures::hub::Hub;
use serde_json::json;
use support::{bounded, config};

const SECRET: &str = "canary-5f0c1a";

fn with_secret() -> LoadOptions {
    let mut options = LoadOptions::default();
    options.expand = Some(ExpandMode::All);
    options.environment = Some(Arc::new(FixedEnvironment::from_iter([("KEY", SECRET)])));
    options
}

#[tokio::test]
async fn a_failed_start_does_not_repeat_a_secret() {
    let hub = Hub::start().await.unwrap();
    let script = json!({"exit_at_start": {"code": 1, "stderr": format!("bad key {SECRET}")}});
    let config = config(&hub, script, json!({"env": {"KEY": "${KEY}"}}));
    let source = bounded(load_mcp(config, with_secret())).await.unwrap();
    assert_eq!(source.status()["s"], Status::Failed);
    let info = source.info("s").unwrap();
    let told = format!("{info:?} {:?} {source:?}", source.events(0));
    assert!(told.contains("bad key ***"), "{told}");
    assert!(!told.contains(SECRET), "{told}");
    bounded(source.close()).await;
}

#[tokio::test]
async fn a_crash_and_an_error_do_not_repeat_a_secret() {
    let hub = Hub::start().await.unwrap();
    let script = json!({"stderr_text": format!("using {SECRET}")});
    let config = config(&hub, script, json!({"env": {"KEY": "${KEY}"}}));
    let source = bounded(load_mcp(config, with_secret())).await.unwrap();
    let refused = source.tool("s_raw_error").unwrap();
    let error = json!({"code": -32000, "message": format!("no {SECRET}"), "data": [SECRET]});
    let refused = bounded(refused.execute(json!({"error": error}), CallContext::default())).await;
    let crash = source.tool("s_crash").unwrap();
    let crashed = bounded(crash.execute((), CallContext::default())).await;
    let told = format!("{refused:?} {crashed:?} {:?}", source.events(0));
    assert!(told.contains("no ***"), "{told}");
    assert!(told.contains("using ***"), "{told}");
    assert!(!told.contains(SECRET), "{told}");
    bounded(source.close()).await;
}
