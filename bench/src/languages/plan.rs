//! What is measured through the bindings, against whom, and what is to be reached.

use serde_json::{Value, json};

use crate::plan::{Metric, Target};

/// A library in a language, as the client programs in `python/` and `node/` know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Program {
    PythonOurs,
    PythonMcp,
    NodeOurs,
    NodeClient2,
    NodeSdk1,
}

impl Program {
    pub(super) const ALL: [Program; 5] = [
        Program::PythonOurs,
        Program::PythonMcp,
        Program::NodeOurs,
        Program::NodeClient2,
        Program::NodeSdk1,
    ];

    /// The peers of this library, by language.
    pub(super) const PEERS: [Program; 3] =
        [Program::PythonMcp, Program::NodeClient2, Program::NodeSdk1];

    /// As the client program is told.
    pub(super) fn argument(self) -> &'static str {
        match self {
            Program::PythonOurs | Program::NodeOurs => "ours",
            Program::PythonMcp => "mcp",
            Program::NodeClient2 => "client2",
            Program::NodeSdk1 => "sdk1",
        }
    }

    /// In words.
    pub(super) fn title(self) -> &'static str {
        match self {
            Program::PythonOurs => "Python, ours",
            Program::PythonMcp => "Python, `mcp` 2.3.0",
            Program::NodeOurs => "Node, ours",
            Program::NodeClient2 => "Node, `client` 2.4.0",
            Program::NodeSdk1 => "Node, `sdk` 1.32.2",
        }
    }

    /// This library in the same language.
    pub(super) fn ours(self) -> Program {
        match self {
            Program::PythonOurs | Program::PythonMcp => Program::PythonOurs,
            Program::NodeOurs | Program::NodeClient2 | Program::NodeSdk1 => Program::NodeOurs,
        }
    }

    pub(super) fn is_python(self) -> bool {
        self.ours() == Program::PythonOurs
    }
}

/// One kind of work, done alike by every program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    StdioSequential,
    StdioInFlight,
    HttpSequential,
    LargeResult,
    Load,
    Idle,
    Import,
}

impl Work {
    pub(super) const ALL: [Work; 7] = [
        Work::StdioSequential,
        Work::StdioInFlight,
        Work::HttpSequential,
        Work::LargeResult,
        Work::Load,
        Work::Idle,
        Work::Import,
    ];

    /// The work in words.
    pub(super) fn title(self) -> &'static str {
        match self {
            Work::StdioSequential => "stdio, sequential, one core",
            Work::StdioInFlight => "stdio, 64 in flight, two cores",
            Work::HttpSequential => "HTTP, sequential, one core",
            Work::LargeResult => "10 MiB text result, one core",
            Work::Load => "load of 50 servers, two cores",
            Work::Idle => "10 idle servers of 22 tools",
            Work::Import => "import, beyond the bare interpreter",
        }
    }

    /// Whether client and server share one core.
    pub(super) fn one_core(self) -> bool {
        matches!(
            self,
            Work::StdioSequential | Work::HttpSequential | Work::LargeResult
        )
    }

    /// How many servers there are, and how many tools each has beside its own two. None: one that is reached over HTTP.
    pub(super) fn servers(self) -> Option<(usize, usize)> {
        match self {
            Work::StdioSequential | Work::StdioInFlight | Work::LargeResult => Some((1, 0)),
            Work::Load | Work::Idle => Some((if self == Work::Load { 50 } else { 10 }, 20)),
            Work::HttpSequential | Work::Import => None,
        }
    }

    /// What the client program is told. An import is none: there the start of a process is measured from outside.
    pub(super) fn form(self, servers: &[Value]) -> Option<Value> {
        let calls = |tool: &str, calls: usize, in_flight: usize| json!({ "do": "calls", "servers": servers, "tool": tool, "calls": calls, "inFlight": in_flight });
        Some(match self {
            Work::StdioSequential => calls("echo", 20_000, 1),
            Work::StdioInFlight => calls("echo", 12_800, 64),
            Work::HttpSequential => calls("echo", 1_500, 1),
            Work::LargeResult => calls("large", 10, 1),
            Work::Load => json!({ "do": "load", "servers": servers }),
            Work::Idle => json!({ "do": "idle", "servers": servers }),
            Work::Import => return None,
        })
    }

    /// Whether the program can do it: the SDKs for Node end the connection at a message of 10 MiB.
    pub(super) fn is_done_by(self, program: Program) -> bool {
        self != Work::LargeResult || program.is_python()
    }

    /// What it shows, and what that must come to against each peer.
    pub(super) fn metrics(self) -> &'static [(Metric, [Target; 3])] {
        use Target::{AtLeast, AtMost, None};
        match self {
            Work::StdioSequential => &[
                (
                    Metric::MedianMicros,
                    [AtMost(0.12), AtMost(0.6), AtMost(0.85)],
                ),
                (Metric::CpuMicros, [None, None, None]),
            ],
            Work::StdioInFlight => &[
                (
                    Metric::CallsPerSecond,
                    [AtLeast(10.0), AtLeast(2.0), AtLeast(1.0)],
                ),
                (Metric::CpuMicros, [AtMost(0.1), AtMost(0.6), AtMost(1.2)]),
            ],
            Work::HttpSequential => {
                &[(Metric::CpuMicros, [AtMost(0.15), AtMost(0.25), AtMost(0.3)])]
            }
            Work::LargeResult => &[(Metric::CpuMicros, [AtMost(0.15), None, None])],
            Work::Load => &[(Metric::LoadMillis, [AtMost(0.5), AtMost(0.5), AtMost(0.5)])],
            Work::Idle => &[(Metric::ProcessMib, [AtMost(0.4), AtMost(0.75), AtMost(0.8)])],
            Work::Import => &[(
                Metric::ImportMillis,
                [AtMost(0.15), AtMost(0.3), AtMost(0.3)],
            )],
        }
    }
}
