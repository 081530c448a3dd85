//! What one more connected server costs while nothing happens.

use std::collections::BTreeMap;

use super::block_on;
use crate::client::{Caller as _, Client, Launch, Wait};
use crate::plan::Metric;
use crate::report::{Report, Work};
use crate::{Failure, machine};

/// Tools that each server lists beside its own two.
const TOOLS: usize = 18;
const FEW: usize = 10;
const MANY: usize = 100;

/// Connects a few servers and then the rest, and compares the memory of this process.
pub(super) fn run<C: Client>() -> Result<Report, Failure> {
    block_on(async {
        let launch = Launch::stdio(TOOLS)?;
        let few = C::connect(&vec![launch.clone(); FEW], Wait::All).await?;
        let few_mib = machine::resident_mib()?;
        let more = C::connect(&vec![launch; MANY - FEW], Wait::All).await?;
        let many_mib = machine::resident_mib()?;

        let mut work = Work::default();
        for (client, servers) in [(&few, FEW), (&more, MANY - FEW)] {
            for server in 0..servers {
                let echo = client.caller(server, "echo")?;
                let text = echo.call(serde_json::json!({"text": "here"})).await?;
                work.answers += 1;
                work.text_bytes += text.len() as u64;
            }
        }
        few.close().await;
        more.close().await;
        let kib = (many_mib - few_mib) * 1024.0 / (MANY - FEW) as f64;
        Ok(Report {
            metrics: BTreeMap::from([(Metric::KibPerServer, kib)]),
            work,
        })
    })
}
