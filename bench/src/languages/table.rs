//! The table of what the bindings came to.

use std::fmt::Write as _;

use super::Reports;
use super::plan::{Program, Work};
use crate::machine;
use crate::plan::Metric;
use crate::report::{met, ratio, span, target_form};
use crate::statistics::Summary;

pub(super) fn page(reports: &Reports, rounds: usize) -> String {
    let mut page = format!(
        "# Results of the bindings\n\n\
         Written by `make bench-languages` on {}.\n\n\
         Medians of {rounds} interleaved rounds, with the least and the most in brackets; the ratio is the median of the\n\
         rounds' own ratios. CPU and memory are the client's process alone. `README.md` says how each row works.\n\n\
         | work | metric | peer | peer's | ours | ours ÷ peer | target | met |\n\
         |---|---|---|---:|---:|---:|---|---|\n",
        machine::description()
    );
    for work in reports.keys() {
        for (metric, targets) in work.metrics() {
            for (peer, target) in Program::PEERS.into_iter().zip(targets) {
                if !work.is_done_by(peer) {
                    continue;
                }
                let theirs = values(reports, *work, peer, *metric);
                let ours = values(reports, *work, peer.ours(), *metric);
                let ratio = ratio(&ours, &theirs);
                // Writing to a string cannot fail.
                let _ = writeln!(
                    page,
                    "| {} | {} | {} | {} | {} | {} | {} | {} |",
                    work.title(),
                    metric.title(),
                    peer.title(),
                    span(Summary::of(theirs)),
                    span(Summary::of(ours.iter().copied())),
                    span(ratio),
                    target_form(*target),
                    met(*target, ratio, &ours),
                );
            }
        }
    }
    page
}

fn values(reports: &Reports, work: Work, program: Program, metric: Metric) -> Vec<f64> {
    let reports = reports
        .get(&work)
        .and_then(|by_program| by_program.get(&program));
    reports
        .into_iter()
        .flatten()
        .filter_map(|report| report.metrics.get(&metric).copied())
        .collect()
}
