//! What the tests of this folder share: fakes with a hub, and bounded waits.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::future::Future;
use std::time::Duration;

use mcp_resident_fixtures::hub::Hub;
use serde_json::{Map, Value, json};

/// Longer than anything here takes, on a loaded machine too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Fails the test when the work takes too long.
pub(crate) async fn bounded<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work)
        .await
        .expect("took too long")
}

/// The entry of a fake behind standard input, with further keys of the entry.
pub(crate) fn entry(hub: &Hub, server: &str, script: Value, keys: Value) -> Value {
    let words = hub.launch_line(server, script).expect("a launch line");
    let mut entry = Map::new();
    entry.insert("command".to_owned(), json!(words[0]));
    entry.insert("args".to_owned(), json!(words[1..]));
    if let Value::Object(keys) = keys {
        entry.extend(keys);
    }
    Value::Object(entry)
}

/// A configuration of one fake named `s`.
pub(crate) fn config(hub: &Hub, script: Value, keys: Value) -> Value {
    json!({ "mcpServers": { "s": entry(hub, "s", script, keys) } })
}
