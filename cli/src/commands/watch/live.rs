//! The table on a terminal, drawn over itself with everything that happens.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use mcp_resident::{Event, EventKind, McpSource, ServerInfo, State};

use super::{line, time_of_day};
use crate::console::Console;
use crate::failure::Failure;
use crate::style::{Look, Style, one_line};
use crate::table::{Cell, Table, shortened};

/// As many events are shown under the table, if the terminal is high enough.
const MOST_EVENTS: usize = 12;

/// What is on the terminal.
#[derive(Debug, Default)]
pub(super) struct LiveView {
    newest: VecDeque<Event>,
    last_errors: HashMap<Arc<str>, String>,
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
        for event in events {
            if let Some(error) = error_of(event) {
                self.last_errors.insert(Arc::clone(&event.server), error);
            }
        }
        self.newest.extend(events.iter().cloned());
        let too_many = self.newest.len().saturating_sub(MOST_EVENTS);
        self.newest.drain(..too_many);

        let width = console.width().unwrap_or(usize::MAX);
        // The cursor's own line is the last one.
        let height = console.height().saturating_sub(1);
        let mut lines = self.table(source).lines(console.style(), Some(width));
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

    fn table(&self, source: &McpSource) -> Table<6> {
        let tools = source.tools();
        let mut table = Table::new(["SERVER", "STATE", "TOOLS", "RESTARTS", "PID", "LAST ERROR"]);
        let infos = source.servers().into_iter();
        for info in infos.filter_map(|name| source.info(&name).ok()) {
            let own = tools.iter().filter(|tool| tool.server() == info.server);
            let own = own.count();
            let last_error = self.last_errors.get(info.server.as_str());
            table.add(row(info, own, last_error.map(String::as_str)));
        }
        table
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

/// What is to be remembered of an event as its server's last error.
fn error_of(event: &Event) -> Option<String> {
    match &event.kind {
        EventKind::Dropped { reason, .. } | EventKind::AttemptFailed { reason, .. } => {
            let at = time_of_day(event.at);
            Some(format!("{} ({at})", one_line(reason)))
        }
        _ => None,
    }
}

fn row(info: ServerInfo, tools: usize, last_error: Option<&str>) -> [Cell; 6] {
    let look = match info.state {
        State::Running => Look::Good,
        State::Starting => Look::Odd,
        State::Error => Look::Bad,
        State::Stopped => Look::Dim,
    };
    let process = info.process_id.map(|id| id.to_string());
    // An entry that cannot be used has no events.
    let own_error = info.last_error.map(|error| one_line(error.message()));
    let last_error = last_error.map(str::to_owned).or(own_error);
    [
        Cell::new(Look::Bold, one_line(&info.server)),
        Cell::new(look, info.state.as_str()),
        tools.to_string().into(),
        info.restarts.to_string().into(),
        process.unwrap_or_else(|| "-".to_owned()).into(),
        last_error.unwrap_or_default().into(),
    ]
}
