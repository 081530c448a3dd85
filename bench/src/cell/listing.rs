//! A long list, read again on a connection that stands.

use std::collections::BTreeMap;
use std::time::Instant;

use memchr::memmem;
use serde_json::{Value, json};

use super::block_on;
use crate::client::floor::{Floor, Pipes};
use crate::client::{Client, Launch, Wait};
use crate::plan::Metric;
use crate::report::{Report, Work};
use crate::server::TOOLS_BESIDES;
use crate::statistics::Summary;
use crate::{Failure, machine};

const TOOLS: usize = 10_000;
const LISTINGS: usize = 10;

/// Connects, which reads the list for the first time, and reads it again some times.
pub(super) fn run<C: Client>() -> Result<Report, Failure> {
    machine::pin_to_one_core()?;
    block_on(async {
        let launch = Launch::stdio(TOOLS - TOOLS_BESIDES)?;
        let before_mib = machine::resident_mib()?;
        let mut client = C::connect(&[launch], Wait::All).await?;
        let resident_mib = machine::resident_mib()? - before_mib;
        let mut times = Vec::new();
        let mut tools = 0;
        for _ in 0..LISTINGS {
            let start = Instant::now();
            tools += client.list_again().await?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        client.close().await;
        Ok(report(times, Some(resident_mib), tools))
    })
}

/// Reads all pages, looking only for the next cursor and counting the tools afterwards.
pub(super) fn floor() -> Result<Report, Failure> {
    machine::pin_to_one_core()?;
    let mut pipes = Pipes::connect(&Launch::stdio(TOOLS - TOOLS_BESIDES)?, 1)?;
    let mut times = Vec::new();
    let mut tools = 0;
    for _ in 0..LISTINGS {
        let mut pages = Vec::new();
        let mut cursor = None;
        let start = Instant::now();
        loop {
            let request = pipes.frame(&list_request(cursor.as_deref()));
            let mut page = Vec::new();
            pipes.exchange(&request, &mut page)?;
            cursor = next_cursor(&page);
            pages.push(page);
            if cursor.is_none() {
                break;
            }
        }
        times.push(start.elapsed().as_secs_f64() * 1e3);
        for page in pages {
            tools += memmem::find_iter(&page, br#""inputSchema":"#).count();
        }
    }
    Ok(report(times, None, tools))
}

fn report(times: Vec<f64>, resident_mib: Option<f64>, tools: usize) -> Report {
    let time = Summary::of(times).map(|times| (Metric::ListMillis, times.median));
    let memory = resident_mib.map(|mib| (Metric::ResidentMib, mib));
    Report {
        metrics: BTreeMap::from_iter(time.into_iter().chain(memory)),
        work: Work {
            answers: tools as u64,
            text_bytes: 0,
        },
    }
}

fn list_request(cursor: Option<&str>) -> Value {
    let params = match cursor {
        Some(cursor) => json!({ "cursor": cursor }),
        None => json!({}),
    };
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params})
}

fn next_cursor(page: &[u8]) -> Option<String> {
    const MARK: &[u8] = br#""nextCursor":""#;
    let start = memmem::rfind(page, MARK)? + MARK.len();
    let length = memchr::memchr(b'"', &page[start..])?;
    String::from_utf8(page[start..start + length].to_vec()).ok()
}
