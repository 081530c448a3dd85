//! Carries out the scenarios of `fixtures/scenarios` against this library.
//!
//! `cargo test -p mcp-resident --test scenarios -- [PART OF A NAME] [--repeat N] [--jobs N]`
//!
//! What a scenario means is in the README of the fixtures. A line for each failure, and at the end a line
//! `N passed, M failed`, with `, K skipped` where something is missing that scenarios need.

mod act;
mod background;
mod check;
mod config;
mod expect;
mod failure;
mod json;
mod load;
mod observe;
mod options;
mod world;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use mcp_resident_fixtures::scenario::{self, Capability, Scenario};

use failure::Failure;
use options::Options;
use world::World;

/// No scenario takes longer, on a loaded machine too.
const SCENARIO_WITHIN: Duration = Duration::from_secs(90);

#[tokio::main]
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "the report")]
async fn main() -> ExitCode {
    let (options, scenarios) = match prepare() {
        Ok(prepared) => prepared,
        Err(failure) => {
            eprintln!("{failure}");
            return ExitCode::FAILURE;
        }
    };
    let runs = (0..options.repeat).flat_map(|_| scenarios.iter().cloned());
    let mut outcomes = stream::iter(runs)
        .map(run_alone)
        .buffer_unordered(options.jobs);
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    while let Some((name, outcome)) = outcomes.next().await {
        match outcome {
            Outcome::Passed => passed += 1,
            Outcome::Skipped(capability) => {
                skipped += 1;
                println!("skipped {name}: {capability:?} is missing here");
            }
            Outcome::Failed(failure) => {
                failed += 1;
                println!("FAILED {name}: {failure}");
            }
        }
    }
    match skipped {
        0 => println!("{passed} passed, {failed} failed"),
        _ => println!("{passed} passed, {failed} failed, {skipped} skipped"),
    }
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn prepare() -> Result<(Options, Vec<Arc<Scenario>>), Failure> {
    let options = Options::parse(std::env::args().skip(1))?;
    let scenarios = scenario::load_all().map_err(|error| Failure::new(error.to_string()))?;
    let chosen = scenarios
        .into_iter()
        .filter(|scenario| scenario.name.contains(&options.part_of_name))
        .map(Arc::new)
        .collect();
    Ok((options, chosen))
}

enum Outcome {
    Passed,
    Failed(Failure),
    Skipped(Capability),
}

/// On a task of its own: a panic is the failure of one scenario.
async fn run_alone(scenario: Arc<Scenario>) -> (String, Outcome) {
    let name = scenario.name.clone();
    if let Some(capability) = scenario.requires.iter().find(|needed| is_missing(**needed)) {
        return (name, Outcome::Skipped(*capability));
    }
    let task = tokio::spawn(async move {
        tokio::time::timeout(SCENARIO_WITHIN, run(&scenario))
            .await
            .unwrap_or_else(|_| {
                let reason = format!("took longer than {SCENARIO_WITHIN:?}");
                Err(Failure::new(reason))
            })
    });
    let outcome = match task.await {
        Ok(Ok(())) => Outcome::Passed,
        Ok(Err(failure)) => Outcome::Failed(failure),
        Err(error) => Outcome::Failed(Failure::new(error.to_string())),
    };
    (name, outcome)
}

/// Only systems without POSIX processes lack something.
fn is_missing(capability: Capability) -> bool {
    capability == Capability::PosixProcesses && cfg!(not(unix))
}

async fn run(scenario: &Scenario) -> Result<(), Failure> {
    let mut world = World::new(scenario).await?;
    let steps = world.carry_out().await;
    let end = world.end().await;
    // What a step found explains what is left behind, not the other way round.
    steps.and(end)
}
