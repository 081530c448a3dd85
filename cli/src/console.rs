//! Where output goes: results to standard output, everything else to standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use mcp_resident::{Environment, HostEnvironment};
use serde::Serialize;
use serde_json::json;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::style::{Look, Style, harmless, one_line};

/// The width of a terminal that does not tell it, in characters.
const DEFAULT_WIDTH: usize = 80;
/// The height of a terminal that does not tell it, in lines.
const DEFAULT_HEIGHT: usize = 24;

/// The program's two streams, as the user wants them.
#[derive(Debug)]
pub(crate) struct Console {
    json: bool,
    out: Style,
    err: Style,
    /// Where variables come from.
    environment: Environment,
}

impl Console {
    pub(crate) fn new(json: bool) -> Self {
        let environment = Environment::read(&HostEnvironment);
        let style = |is_terminal| Style::for_terminal(is_terminal, &environment);
        Self {
            json,
            out: if json {
                Style::PLAIN
            } else {
                style(io::stdout().is_terminal())
            },
            err: style(io::stderr().is_terminal()),
            environment,
        }
    }

    /// The environment as it was when the program started.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Whether results are wanted as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether somebody looks at the results as they come.
    pub(crate) fn is_live(&self) -> bool {
        !self.json && io::stdout().is_terminal()
    }

    /// Whether somebody looks at the notes as they come.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.json && io::stderr().is_terminal()
    }

    /// The width of the terminal that shows the results, in characters; none when there is none.
    pub(crate) fn width(&self) -> Option<usize> {
        self.is_live().then(|| size().0)
    }

    /// The height of the terminal, in lines.
    pub(crate) fn height(&self) -> usize {
        size().1
    }

    /// How results look.
    pub(crate) fn style(&self) -> Style {
        self.out
    }

    /// How notes look.
    pub(crate) fn note_style(&self) -> Style {
        self.err
    }

    /// Writes a line of results.
    pub(crate) fn line(&self, line: impl Display) -> Result<(), Failure> {
        self.write(&format!("{line}\n"))
    }

    /// Writes results as they are.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .map_err(Failure::Output)
    }

    /// Writes a result as one line of JSON.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        match serde_json::to_string(value) {
            Ok(text) => self.line(text),
            Err(error) => Err(Failure::new(
                Exit::Internal,
                format!("the result cannot be written as JSON: {error}"),
            )),
        }
    }

    /// Writes a line beside the results. That nobody can read it is no failure.
    pub(crate) fn note(&self, look: Look, label: &str, text: impl Display) {
        let label = self.err.paint(look, label);
        let text = text.to_string();
        let _ = writeln!(io::stderr(), "{label} {}", harmless(&text));
    }

    /// Writes over the line that the terminal shows beside the results; for progress.
    pub(crate) fn note_in_place(text: &str) {
        let _ = write!(io::stderr(), "\r\x1b[K{}", one_line(text));
    }

    /// Says why the command failed: on standard error, or as the result where that is JSON.
    pub(crate) fn fail(&self, failure: &Failure) {
        let (exit, message, hint) = match failure {
            Failure::Told {
                exit,
                message,
                hint,
            } => (*exit, message.clone(), hint.clone()),
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return,
            Failure::Output(error) => {
                let message = format!("the output cannot be written: {error}");
                (failure.exit(), message, None)
            }
        };
        if self.json {
            let told = json!({"error": {
                "kind": exit.name(),
                "exitCode": exit.code(),
                "message": message,
                "hint": hint,
            }});
            // The exit code still says it.
            let _ = self.json(&told);
            return;
        }
        self.note(Look::Bad, "error:", message);
        if let Some(hint) = hint {
            self.note(Look::Dim, "hint:", hint);
        }
    }
}

/// Columns and lines of the terminal.
fn size() -> (usize, usize) {
    terminal_size::terminal_size().map_or((DEFAULT_WIDTH, DEFAULT_HEIGHT), |(width, height)| {
        (usize::from(width.0), usize::from(height.0))
    })
}
