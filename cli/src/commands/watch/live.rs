//! The table on a terminal, drawn over itself with everything that happens.

use std::collections::VecDeque;

use mcp_resident::{Event, McpSource, ServerInfo, State};

use super::{line, time_of_day};
use crate::console::Console;
use crate::failure::Failure;
use crate::records;
use crate::style::{Look, Style, one_line};
use crate::table::{Cell, Table, shortened};

/// As many events are shown under the table, if the terminal is high enough.
const MOST_EVENTS: usize = 12;

/// What is on the terminal.
#[derive(Debug, Default)]
pub(super) struct LiveView {
    newest: VecDeque<Event>,
    /// Lines of the last drawing, to be drawn over.
    drawn: usize,
}

impl LiveView {
    /// Draws how things are now, and what happened.
    pub(super) fn draw(
        &mut self,
        events: &[Event],
        source: &McpSource,
        console: &Console,
    ) -> Result<(), Failure> {
        self.newest.extend(events.iter().cloned());
        let too_many = self.newest.len().saturating_sub(MOST_EVENTS);
        self.newest.drain(..too_many);

        let width = console.width().unwrap_or(usize::MAX);
        // The cursor's own line is the last one.
        let height = console.height().saturating_sub(1);
        let mut lines = table(source).lines(console.style(), Some(width));
        let room = height.saturating_sub(lines.len() + 1);
        let shown = self.newest.len().min(room);
        if shown > 0 {
            lines.push(String::new());
        }
        let newest = self.newest.iter().skip(self.newest.len() - shown);
        lines.extend(newest.map(|event| fitting(event, console.style(), width)));
        lines.truncate(height);

        let mut drawing = String::new();
        if self.drawn > 0 {
            drawing.push_str(&format!("\x1b[{}F", self.drawn));
        }
        for line in &lines {
            drawing.push_str(line);
            drawing.push_str("\x1b[K\n");
        }
        // What the last drawing had below.
        drawing.push_str("\x1b[J");
        self.drawn = lines.len();
        console.write(&drawing)
    }
}

/// An event's line, without colours where it has to be cut.
fn fitting(event: &Event, style: Style, width: usize) -> String {
    let plain = line(event, Style::PLAIN);
    if plain.chars().count() <= width {
        line(event, style)
    } else {
        shortened(&plain, width)
    }
}

fn table(source: &McpSource) -> Table<6> {
    let tools = source.tools();
    let mut table = Table::new(["SERVER", "STATE", "TOOLS", "RESTARTS", "PID", "LAST ERROR"]);
    let infos = source.servers().into_iter();
    for info in infos.filter_map(|name| source.info(&name).ok()) {
        let count = tools.iter().filter(|tool| tool.server() == info.server);
        table.add(row(&info, count.count(), source));
    }
    table
}

fn row(info: &ServerInfo, tools: usize, source: &McpSource) -> [Cell; 6] {
    let look = match info.state {
        State::Running => Look::Good,
        State::Starting => Look::Odd,
        State::Error => Look::Bad,
        State::Stopped => Look::Dim,
    };
    [
        Cell::new(Look::Bold, one_line(&info.server)),
        Cell::new(look, info.state.as_str()),
        tools.to_string().into(),
        info.restarts.to_string().into(),
        info.process_id
            .map_or_else(|| "-".to_owned(), |id| id.to_string())
            .into(),
        last_error(info, source).into(),
    ]
}

/// Why the server is down, or why it last was.
fn last_error(info: &ServerInfo, source: &McpSource) -> String {
    if let Some(error) = &info.last_error {
        return one_line(error.message());
    }
    let events = source.events(0);
    let newest = events.iter().rev().find_map(|event| {
        use mcp_resident::EventKind::{AttemptFailed, Dropped};
        match &event.kind {
            Dropped { reason, .. } | AttemptFailed { reason, .. }
                if *event.server == *info.server =>
            {
                Some((event, reason))
            }
            _ => None,
        }
    });
    newest.map_or_else(String::new, |(event, reason)| {
        let at = time_of_day(records::milliseconds(event));
        format!("{} ({at})", one_line(reason))
    })
}
