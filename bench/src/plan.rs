//! What is measured, and what is to be reached.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// One kind of work, done alike by every client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cell {
    /// One call after the other over stdio; client and server share one core.
    StdioSequential,
    /// 64 calls at once over stdio; client and server share one core.
    StdioInFlightOneCore,
    /// 64 calls at once over stdio, on all cores.
    StdioInFlight,
    /// One call after the other over HTTP; client and server share one core.
    HttpSequential,
    /// 64 calls at once over HTTP, on all cores.
    HttpInFlight,
    /// Results of 10 MiB of text over stdio; client and server share one core.
    LargeResult,
    /// Listing 10,000 tools again, one of them changed.
    ToolList,
    /// Memory of one more idle server, from 10 to 100.
    IdleServers,
    /// 50 servers, one of which takes 3 s to answer.
    SlowServer,
}

/// Who does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum ClientKind {
    /// The same bytes; nothing is parsed.
    Floor,
    /// rmcp and nothing else.
    Rmcp,
    /// This library.
    Ours,
}

/// What a number says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Metric {
    /// The median time of a call, in microseconds.
    MedianMicros,
    /// Processor time of the client for one call, in microseconds.
    CpuMicros,
    /// Calls in a second.
    CallsPerSecond,
    /// Memory at its peak beyond what was resident before the first call, in MiB.
    PeakMib,
    /// Time of one listing, in milliseconds.
    ListMillis,
    /// Memory that the list takes, in MiB.
    ResidentMib,
    /// Memory of one more server, in KiB.
    KibPerServer,
    /// When all servers but the slow one had answered a call, in milliseconds.
    UsableMillis,
    /// Time until all servers are connected and listed, in milliseconds.
    LoadMillis,
    /// Memory of the whole process, in MiB.
    ProcessMib,
    /// Time of an import beyond the start of the bare interpreter, in milliseconds.
    ImportMillis,
}

/// What a metric must come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Target {
    /// At most this part of what rmcp takes.
    AtMost(f64),
    /// At least this many times what rmcp does.
    AtLeast(f64),
    /// Below this, whatever rmcp does.
    Below(f64),
    /// Shown only.
    None,
}

impl Cell {
    /// The cell in words.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Cell::StdioSequential => "stdio, sequential, one core",
            Cell::StdioInFlightOneCore => "stdio, 64 in flight, one core",
            Cell::StdioInFlight => "stdio, 64 in flight, two cores",
            Cell::HttpSequential => "HTTP, sequential, one core",
            Cell::HttpInFlight => "HTTP, 64 in flight, two cores",
            Cell::LargeResult => "10 MiB text result, one core",
            Cell::ToolList => "list of 10,000 tools, one core",
            Cell::IdleServers => "idle servers, from 10 to 100",
            Cell::SlowServer => "50 servers, one takes 3 s",
        }
    }

    /// What it measures, and what that must come to.
    pub(crate) fn metrics(self) -> &'static [(Metric, Target)] {
        use Metric::*;
        match self {
            Cell::StdioSequential => &[
                (MedianMicros, Target::AtMost(0.6)),
                (CpuMicros, Target::AtMost(0.6)),
            ],
            Cell::StdioInFlightOneCore | Cell::StdioInFlight => &[
                (CallsPerSecond, Target::AtLeast(3.0)),
                (CpuMicros, Target::None),
            ],
            Cell::HttpSequential => &[
                (MedianMicros, Target::None),
                (CpuMicros, Target::AtMost(0.6)),
            ],
            Cell::HttpInFlight => &[
                (CallsPerSecond, Target::AtLeast(2.0)),
                (CpuMicros, Target::None),
            ],
            Cell::LargeResult => &[
                (CpuMicros, Target::AtMost(0.45)),
                (PeakMib, Target::AtMost(0.7)),
            ],
            Cell::ToolList => &[
                (ListMillis, Target::AtMost(0.4)),
                (ResidentMib, Target::None),
            ],
            Cell::IdleServers => &[(KibPerServer, Target::AtMost(1.2))],
            Cell::SlowServer => &[(UsableMillis, Target::Below(3000.0))],
        }
    }

    /// Who can do it. The last two have no floor: they are not about bytes.
    pub(crate) fn clients(self) -> &'static [ClientKind] {
        match self {
            Cell::IdleServers | Cell::SlowServer => &[ClientKind::Rmcp, ClientKind::Ours],
            _ => &[ClientKind::Floor, ClientKind::Rmcp, ClientKind::Ours],
        }
    }
}

impl Metric {
    /// The metric in words, with its unit.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Metric::MedianMicros => "p50, µs",
            Metric::CpuMicros => "CPU per call, µs",
            Metric::CallsPerSecond => "calls/s",
            Metric::PeakMib => "peak memory, MiB",
            Metric::ListMillis => "time, ms",
            Metric::ResidentMib => "memory of the list, MiB",
            Metric::KibPerServer => "memory per server, KiB",
            Metric::LoadMillis => "time, ms",
            Metric::ProcessMib => "memory of the process, MiB",
            Metric::ImportMillis => "time, ms",
            Metric::UsableMillis => "49 servers have answered, ms",
        }
    }
}
