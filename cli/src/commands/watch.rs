//! `watch`: how all servers are, live.
//!
//! On a terminal a table that is drawn again with everything that happens; elsewhere one line for
//! each event.

mod live;

use std::time::{SystemTime, UNIX_EPOCH};

use mcp_resident::{Event, EventKind, McpSource, State};

use self::live::LiveView;
use super::tools::report;
use crate::arguments::ConfigArguments;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::feed::Feed;
use crate::interrupt::Interrupt;
use crate::records::ServerRecord;
use crate::selection::Selection;
use crate::servers::{self, Stay};
use crate::style::{Look, Style, one_line};

pub(crate) async fn run(arguments: &ConfigArguments, console: &Console) -> Result<Exit, Failure> {
    let selection = Selection::read(arguments, console.environment())?;
    let interrupt = Interrupt::listen();
    let source = servers::load(&selection, Stay::Resident, &interrupt).await?;
    let untrusted = selection.untrusted.iter().map(ServerRecord::untrusted);
    report(&untrusted.collect::<Vec<_>>(), console);
    let mut view = match console.is_live() {
        true => View::Live(LiveView::default()),
        false => View::Lines,
    };
    let mut feed = Feed::new(&source);
    let watched = watch(&source, &mut feed, &mut view, &interrupt, console).await;
    // Also when the output is gone: nothing is left behind.
    source.close().await;
    watched?;
    view.show(&feed.take(&source), &source, console)?;
    Ok(Exit::Success)
}

async fn watch(
    source: &McpSource,
    feed: &mut Feed,
    view: &mut View,
    interrupt: &Interrupt,
    console: &Console,
) -> Result<(), Failure> {
    view.show(&feed.take(source), source, console)?;
    loop {
        tokio::select! {
            biased;
            () = interrupt.cancelled() => return Ok(()),
            events = feed.next(source) => view.show(&events, source, console)?,
        }
    }
}

/// How what happens is shown.
enum View {
    Live(LiveView),
    Lines,
}

impl View {
    fn show(
        &mut self,
        events: &[Event],
        source: &McpSource,
        console: &Console,
    ) -> Result<(), Failure> {
        match self {
            View::Live(live) => live.draw(events, source, console),
            View::Lines if console.is_json() => {
                events.iter().try_for_each(|event| console.json(event))
            }
            View::Lines => events
                .iter()
                .try_for_each(|event| console.line(line(event, console.style()))),
        }
    }
}

/// One event on one line.
pub(super) fn line(event: &Event, style: Style) -> String {
    let text = one_line(&event.kind.to_string());
    format!(
        "{} {} {}",
        style.paint(Look::Dim, &time_of_day(event.at)),
        style.paint(Look::Bold, &one_line(&event.server)),
        style.paint(look(&event.kind), &text)
    )
}

fn look(kind: &EventKind) -> Look {
    match kind {
        EventKind::State {
            to: State::Running, ..
        } => Look::Good,
        EventKind::State {
            to: State::Error, ..
        }
        | EventKind::AttemptFailed { .. }
        | EventKind::Dropped { .. }
        | EventKind::GaveUp { .. } => Look::Bad,
        EventKind::RetryScheduled { .. }
        | EventKind::ToolDiagnostic { .. }
        | EventKind::Note { .. } => Look::Odd,
        _ => Look::Plain,
    }
}

/// Hours to milliseconds, in UTC.
fn time_of_day(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let milliseconds = since.as_millis();
    let (seconds, rest) = (milliseconds / 1000, milliseconds % 1000);
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}.{rest:03}Z", seconds % 60)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_time_of_day_is_in_utc() {
        let after = |milliseconds| UNIX_EPOCH + Duration::from_millis(milliseconds);
        assert_eq!(time_of_day(after(0)), "00:00:00.000Z");
        let last = after(86_399_999 + 86_400_000);
        assert_eq!(time_of_day(last), "23:59:59.999Z");
    }
}
