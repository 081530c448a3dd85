//! Cells that call a tool again and again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::block_on;
use crate::client::floor::{self, Floor, Pipes, Sockets};
use crate::client::{Caller, Client, HttpServer, Launch, Ours, Rmcp, Wait};
use crate::plan::{Cell, ClientKind, Metric};
use crate::report::{Report, Work};
use crate::server::LARGE_TEXT_BYTES;
use crate::{Failure, machine};

/// One call in this many is made before the clocks start.
const WARM_UP_PART: usize = 10;

/// What is called, how often and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calls {
    http: bool,
    large: bool,
    one_core: bool,
    in_flight: usize,
    count: usize,
}

/// What a run came to, before it is divided by the calls.
struct Measured {
    latencies: Vec<Duration>,
    wall: Duration,
    cpu: Duration,
    peak_mib: f64,
    work: Work,
}

impl Calls {
    pub(super) fn of(cell: Cell) -> Option<Self> {
        let stdio = Self {
            http: false,
            large: false,
            one_core: true,
            in_flight: 1,
            count: 20_000,
        };
        match cell {
            Cell::StdioSequential => Some(stdio),
            Cell::StdioInFlightOneCore => Some(Self {
                in_flight: 64,
                count: 64_000,
                ..stdio
            }),
            Cell::StdioInFlight => Some(Self {
                one_core: false,
                in_flight: 64,
                count: 64_000,
                ..stdio
            }),
            Cell::HttpSequential => Some(Self {
                http: true,
                count: 8_000,
                ..stdio
            }),
            Cell::HttpInFlight => Some(Self {
                http: true,
                one_core: false,
                in_flight: 64,
                count: 32_000,
                ..stdio
            }),
            Cell::LargeResult => Some(Self {
                large: true,
                count: 20,
                ..stdio
            }),
            Cell::ToolList | Cell::IdleServers | Cell::SlowServer => None,
        }
    }

    pub(super) fn run(self, client: ClientKind) -> Result<Report, Failure> {
        if self.one_core {
            machine::pin_to_one_core()?;
        }
        let server = self.http.then(HttpServer::start).transpose()?;
        let launch = match &server {
            Some(server) => server.launch(),
            None => Launch::stdio(0)?,
        };
        let measured = match (client, self.http) {
            (ClientKind::Floor, false) => self.floor::<Pipes>(&launch),
            (ClientKind::Floor, true) => self.floor::<Sockets>(&launch),
            (ClientKind::Rmcp, _) => block_on(self.client::<Rmcp>(launch)),
            (ClientKind::Ours, _) => block_on(self.client::<Ours>(launch)),
        }?;
        Ok(self.report(measured))
    }

    async fn client<C: Client>(self, launch: Launch) -> Result<Measured, Failure> {
        let client = C::connect(&[launch], Wait::All).await?;
        let caller = client.caller(0, self.tool())?;
        let before_mib = machine::resident_mib()?;
        self.workers(&caller, self.count / WARM_UP_PART).await?;
        let (wall, cpu) = (Instant::now(), machine::cpu_time());
        let (latencies, text_bytes) = self.workers(&caller, self.count).await?;
        let measured = Measured {
            wall: wall.elapsed(),
            cpu: machine::cpu_time().saturating_sub(cpu),
            peak_mib: machine::peak_mib()? - before_mib,
            work: Work {
                answers: latencies.len() as u64,
                text_bytes,
            },
            latencies,
        };
        client.close().await;
        Ok(measured)
    }

    /// Makes the calls on as many tasks as are to be in flight.
    async fn workers<C: Caller>(
        self,
        caller: &C,
        count: usize,
    ) -> Result<(Vec<Duration>, u64), Failure> {
        if self.in_flight == 1 {
            return self.worker(caller.clone(), count).await;
        }
        let mut workers = JoinSet::new();
        for _ in 0..self.in_flight {
            workers.spawn(self.worker(caller.clone(), count / self.in_flight));
        }
        let mut all = (Vec::with_capacity(count), 0);
        while let Some(done) = workers.join_next().await {
            let (latencies, text_bytes) = done??;
            all.0.extend(latencies);
            all.1 += text_bytes;
        }
        Ok(all)
    }

    async fn worker<C: Caller>(
        self,
        caller: C,
        count: usize,
    ) -> Result<(Vec<Duration>, u64), Failure> {
        let mut latencies = Vec::with_capacity(count);
        let mut text_bytes = 0;
        for number in 0..count {
            let sent = self.text(number);
            let start = Instant::now();
            let text = caller.call(json!({ "text": sent })).await?;
            latencies.push(start.elapsed());
            let right = if self.large {
                text.len() == LARGE_TEXT_BYTES
            } else {
                text == sent
            };
            if !right {
                return Err(format!("call {number} was answered with another text").into());
            }
            text_bytes += text.len() as u64;
        }
        Ok((latencies, text_bytes))
    }

    fn floor<F: Floor>(self, launch: &Launch) -> Result<Measured, Failure> {
        let mut floor = F::connect(launch, self.in_flight)?;
        let arguments: Value = json!({ "text": self.text(0) });
        let request = floor.frame(&floor::call(self.tool(), &arguments));
        let mut reply = Vec::new();
        let before_mib = machine::resident_mib()?;
        for _ in 0..(self.count / self.in_flight / WARM_UP_PART) {
            floor.exchange(&request, &mut reply)?;
        }
        let mut latencies = Vec::with_capacity(self.count);
        let (wall, cpu) = (Instant::now(), machine::cpu_time());
        for _ in 0..(self.count / self.in_flight) {
            let start = Instant::now();
            floor.exchange(&request, &mut reply)?;
            latencies.push(start.elapsed());
        }
        let measured = Measured {
            wall: wall.elapsed(),
            cpu: machine::cpu_time().saturating_sub(cpu),
            peak_mib: machine::peak_mib()? - before_mib,
            work: Work::default(),
            latencies,
        };
        let answers = (measured.latencies.len() * self.in_flight) as u64;
        Ok(Measured {
            work: Work {
                answers,
                text_bytes: answers * floor::text_bytes(&reply)? as u64,
            },
            ..measured
        })
    }

    fn tool(self) -> &'static str {
        if self.large { "large" } else { "echo" }
    }

    /// What is sent: of one length, so that all clients send and get the same number of bytes.
    fn text(self, number: usize) -> String {
        format!("{number:08}")
    }

    fn report(self, mut measured: Measured) -> Report {
        measured.latencies.sort_unstable();
        let median = measured.latencies[measured.latencies.len() / 2];
        let answers = measured.work.answers as f64;
        let metrics = BTreeMap::from([
            (Metric::MedianMicros, micros(median)),
            (Metric::CpuMicros, micros(measured.cpu) / answers),
            (
                Metric::CallsPerSecond,
                answers / measured.wall.as_secs_f64(),
            ),
            (Metric::PeakMib, measured.peak_mib),
        ]);
        Report {
            metrics,
            work: measured.work,
        }
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
