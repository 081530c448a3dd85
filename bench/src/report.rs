//! What one process measured, and the table of all of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};

use serde::{Deserialize, Serialize};

use crate::plan::{Cell, ClientKind, Metric, Target};
use crate::statistics::Summary;
use crate::{Failure, machine};

/// What one run of one cell by one client came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) metrics: BTreeMap<Metric, f64>,
    pub(crate) work: Work,
}

/// What was done, to be the same for all clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Work {
    /// Calls that were answered, or tools that were listed.
    pub(crate) answers: u64,
    /// Bytes of text in the answers.
    pub(crate) text_bytes: u64,
}

/// All reports of a run: by cell, then client, one a round.
pub(crate) type Reports = Vec<(Cell, BTreeMap<ClientKind, Vec<Report>>)>;

/// Prints a report for the process that started this one.
pub(crate) fn print(report: &Report) -> Result<(), Failure> {
    let mut line = serde_json::to_string(report)?;
    line.push('\n');
    Ok(io::stdout().write_all(line.as_bytes())?)
}

/// Says why the program fails.
pub(crate) fn complain(failure: &Failure) {
    // With standard error closed there is nobody to tell.
    let _ = writeln!(io::stderr(), "{failure}");
}

/// The page that says what was measured where, and what it came to.
pub(crate) fn page(reports: &Reports, rounds: usize) -> String {
    let mut page = format!(
        "# Results\n\n\
         Written by `cargo run --release -p mcp-resident-bench -- all --rounds {rounds}` on {}.\n\n\
         Medians of {rounds} interleaved rounds, with the least and the most in brackets; the ratio is the median of the\n\
         rounds' own ratios. CPU and memory are the client's alone. `README.md` says how each cell works.\n\n\
         | cell | metric | floor | rmcp | ours | ours ÷ rmcp | target | met | ours ÷ floor |\n\
         |---|---|---:|---:|---:|---:|---|---|---:|\n",
        machine::description()
    );
    for (cell, by_client) in reports {
        for (metric, target) in cell.metrics() {
            // Writing to a string cannot fail.
            let _ = writeln!(page, "{}", row(*cell, *metric, *target, by_client));
        }
    }
    page
}

fn row(
    cell: Cell,
    metric: Metric,
    target: Target,
    by_client: &BTreeMap<ClientKind, Vec<Report>>,
) -> String {
    let values = |client: ClientKind| -> Vec<f64> {
        let reports = by_client.get(&client).into_iter().flatten();
        reports
            .filter_map(|report| report.metrics.get(&metric).copied())
            .collect()
    };
    let [floor, rmcp, ours] = [ClientKind::Floor, ClientKind::Rmcp, ClientKind::Ours].map(values);
    let to_rmcp = ratio(&ours, &rmcp);
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        cell.title(),
        metric.title(),
        span(Summary::of(floor.iter().copied())),
        span(Summary::of(rmcp.iter().copied())),
        span(Summary::of(ours.iter().copied())),
        span(to_rmcp),
        target_form(target),
        met(target, to_rmcp, &ours),
        ratio(&ours, &floor).map_or_else(|| "-".to_owned(), |ratio| number(ratio.median)),
    )
}

/// Whether a target is met, in a table's words.
pub(crate) fn met(target: Target, ratio: Option<Summary>, ours: &[f64]) -> &'static str {
    let met = match target {
        Target::AtMost(limit) => ratio.map(|ratio| ratio.median <= limit),
        Target::AtLeast(limit) => ratio.map(|ratio| ratio.median >= limit),
        Target::Below(limit) => Summary::of(ours.iter().copied()).map(|ours| ours.median < limit),
        Target::None => None,
    };
    match met {
        Some(true) => "yes",
        Some(false) => "**no**",
        None => "",
    }
}

/// A client that did less work measured something else.
pub(crate) fn same_work<'r>(
    what: &str,
    reports: impl IntoIterator<Item = &'r Report>,
) -> Result<(), Failure> {
    let mut works = reports.into_iter().map(|report| report.work);
    let first = works.next();
    match works.find(|work| Some(*work) != first) {
        Some(other) => Err(format!(
            "{what}: the clients did not do the same work: {first:?}, {other:?}"
        )
        .into()),
        None => Ok(()),
    }
}

/// The ratios of the rounds in which both were measured.
pub(crate) fn ratio(of: &[f64], to: &[f64]) -> Option<Summary> {
    Summary::of(of.iter().zip(to).map(|(of, to)| of / to))
}

/// A target in a table's words.
pub(crate) fn target_form(target: Target) -> String {
    match target {
        Target::AtMost(limit) => format!("≤ {limit}"),
        Target::AtLeast(limit) => format!("≥ {limit}"),
        Target::Below(limit) => format!("ours < {limit}"),
        Target::None => String::new(),
    }
}

/// The median with the least and the most.
pub(crate) fn span(summary: Option<Summary>) -> String {
    match summary {
        Some(Summary {
            median,
            least,
            most,
        }) => format!("{} [{}–{}]", number(median), number(least), number(most)),
        None => "-".to_owned(),
    }
}

/// Three digits that count.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reports(metric: Metric, values: [f64; 2]) -> BTreeMap<ClientKind, Vec<Report>> {
        let report = |value| Report {
            metrics: BTreeMap::from([(metric, value)]),
            work: Work::default(),
        };
        BTreeMap::from([
            (ClientKind::Rmcp, vec![report(values[0])]),
            (ClientKind::Ours, vec![report(values[1])]),
        ])
    }

    #[test]
    fn a_target_is_met_or_not() {
        let by_client = reports(Metric::CpuMicros, [10.0, 5.0]);
        let row = |target| row(Cell::StdioSequential, Metric::CpuMicros, target, &by_client);
        assert!(row(Target::AtMost(0.6)).contains("| ≤ 0.6 | yes |"));
        assert!(row(Target::AtMost(0.4)).contains("| **no** |"));
        assert!(row(Target::AtLeast(0.5)).contains("| yes |"));
        assert!(row(Target::Below(5.0)).contains("| **no** |"));
        assert!(row(Target::None).contains("| 0.50 [0.50–0.50] |  |  | - |"));
    }
}
