//! What storms have in common: dice, a watchdog, and what no storm may make happen.

use std::future::Future;

use mcp_resident_fixtures::hub::Hub;
use serde_json::Value;

use crate::support::PATIENCE;

/// A simple generator: what happens is the same in each run, though when it happens is not.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A watchdog for one operation.
pub(crate) async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => panic!("{what} did not end"),
    }
}

/// How often the text that was echoed most reached a server, over all processes and connections.
pub(crate) fn most_runs_of_a_call(hub: &Hub, servers: &[&str]) -> usize {
    let entries = servers.iter().flat_map(|server| hub.entries(server));
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
