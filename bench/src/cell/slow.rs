//! Many servers, of which one keeps its host waiting.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::json;

use super::block_on;
use crate::Failure;
use crate::client::{Caller as _, Client, Launch, Wait};
use crate::plan::Metric;
use crate::report::{Report, Work};

const SERVERS: usize = 50;
const DELAY_MS: u64 = 3_000;
/// Tools that each server lists beside its own two.
const TOOLS: usize = 18;

/// Loads all servers and calls each of those that are not slow.
pub(super) fn run<C: Client>() -> Result<Report, Failure> {
    block_on(async {
        let mut servers = vec![Launch::stdio(TOOLS)?; SERVERS];
        servers[0] = Launch::slow_stdio(TOOLS, DELAY_MS)?;
        let start = Instant::now();
        let client = C::connect(&servers, Wait::Ready).await?;
        let mut work = Work::default();
        for server in 1..SERVERS {
            let echo = client.caller(server, "echo")?;
            let text = echo.call(json!({"text": "here"})).await?;
            work.answers += 1;
            work.text_bytes += text.len() as u64;
        }
        let usable = start.elapsed();
        client.close().await;
        Ok(Report {
            metrics: BTreeMap::from([(Metric::UsableMillis, usable.as_secs_f64() * 1e3)]),
            work,
        })
    })
}
