//! `demo`: a server that is killed, changed and closed, and a host that keeps using it.
//!
//! Nothing but this program is needed: it is also the server. What is printed was observed, and an
//! observation that is not as it should be fails the demo.

mod stage;
mod step;

use std::time::Duration;

use serde_json::{Value, json};

use self::stage::Stage;
use self::step::{Observed, Step};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::style::Look;

/// Longer than any step takes, on a loaded machine too.
const STEP_LIMIT: Duration = Duration::from_secs(30);

pub(crate) async fn run(console: &Console) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen();
    let mut stage = Stage::set(&interrupt).await?;
    let played = tokio::select! {
        biased;
        () = interrupt.cancelled() => {
            Err(Failure::new(Exit::Cancelled, "the demo was cancelled"))
        }
        played = play(&mut stage, console) => played,
    };
    stage.source.close().await;
    Ok(match played? {
        true => Exit::Success,
        false => Exit::ToolFailed,
    })
}

/// Plays step after step as long as all is as it should be, and says whether it was.
async fn play(stage: &mut Stage, console: &Console) -> Result<bool, Failure> {
    let mut records = Vec::new();
    let mut ok = true;
    for step in Step::ALL {
        let outcome = tokio::time::timeout(STEP_LIMIT, step.play(stage))
            .await
            .unwrap_or_else(|_| Err(format!("took longer than {STEP_LIMIT:?}")));
        ok = outcome.is_ok();
        if console.is_json() {
            records.push(record(step, &outcome));
        } else {
            show(step, &outcome, console)?;
        }
        if !ok {
            break;
        }
    }
    if console.is_json() {
        console.json(&json!({"steps": records, "ok": ok}))?;
    } else if ok {
        console.line(console.style().paint(Look::Good, "all as it should be"))?;
    }
    Ok(ok)
}

fn record(step: Step, outcome: &Result<Observed, String>) -> Value {
    let (observed, problem) = match outcome {
        Ok(observed) => (Some(&observed.facts), None),
        Err(problem) => (None, Some(problem)),
    };
    json!({
        "step": step.name(),
        "ok": outcome.is_ok(),
        "observed": observed,
        "problem": problem,
    })
}

fn show(step: Step, outcome: &Result<Observed, String>, console: &Console) -> Result<(), Failure> {
    let width = Step::ALL.map(|step| step.name().len()).into_iter().max();
    let width = width.unwrap_or_default();
    let style = console.style();
    let (look, lines) = match outcome {
        Ok(observed) => (Look::Good, observed.lines.clone()),
        Err(problem) => (Look::Bad, vec![format!("not as it should be: {problem}")]),
    };
    for (index, line) in lines.iter().enumerate() {
        let name = if index == 0 { step.name() } else { "" };
        let label = style.paint(look, &format!("{name:width$}"));
        console.line(format!("{label}  {line}"))?;
    }
    Ok(())
}
