//! One interleaved run: round by round, cell by cell, client by client, each in a fresh process.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use clap::ValueEnum;

use crate::Failure;
use crate::plan::{Cell, ClientKind};
use crate::report::{self, Report, Reports};

/// Runs the cells, prints the table and writes it.
pub(crate) fn all(rounds: usize, only: &[Cell], output: &Path) -> Result<(), Failure> {
    let cells = if only.is_empty() {
        Cell::value_variants()
    } else {
        only
    };
    let mut reports: Reports = cells.iter().map(|cell| (*cell, BTreeMap::new())).collect();
    for round in 0..rounds {
        for (cell, by_client) in &mut reports {
            let clients = cell.clients();
            // Nobody is always the first.
            for turn in 0..clients.len() {
                let client = clients[(round + turn) % clients.len()];
                writeln!(
                    io::stderr(),
                    "round {} of {rounds}: {} by {}",
                    round + 1,
                    name(*cell),
                    name(client)
                )?;
                let report = measure(*cell, client)?;
                by_client.entry(client).or_default().push(report);
            }
        }
    }
    for (cell, by_client) in &reports {
        report::same_work(&name(*cell), by_client.values().flatten())?;
    }
    let page = report::page(&reports, rounds);
    io::stdout().write_all(page.as_bytes())?;
    std::fs::write(output, page)?;
    Ok(())
}

fn measure(cell: Cell, client: ClientKind) -> Result<Report, Failure> {
    let output = Command::new(std::env::current_exe()?)
        .args(["cell", &name(cell), "--client", &name(client)])
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        let (cell, client) = (name(cell), name(client));
        return Err(format!("cell {cell} by {client} failed: {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn name(value: impl ValueEnum) -> String {
    // Every value here has a name: none is skipped.
    value
        .to_possible_value()
        .map_or_else(String::new, |value| value.get_name().to_owned())
}
