//! `run`: all servers, with commands line by line, while the configuration is followed.
//!
//! What the commands give goes to standard output, what happens to servers to standard error; with `--json` both are lines of
//! standard output.

mod command;
mod files;

use std::io::BufRead;
use std::thread;

use mcp_resident::{CallContext, Event, McpSource, Reloaded};
use serde_json::json;
use tokio::sync::mpsc;

use self::command::Command;
use self::files::WatchedFiles;
use super::call::show;
use super::tools::{list, report};
use super::watch::line;
use crate::arguments::ConfigArguments;
use crate::call_arguments::assemble;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::feed::Feed;
use crate::interrupt::Interrupt;
use crate::records::{ServerRecord, ToolRecord};
use crate::selection::Selection;
use crate::servers::{self, Stay};
use crate::style::{Look, one_line};
use crate::table::{Cell, Table};

/// Lines that wait for the command before them.
const MAX_WAITING_LINES: usize = 64;

pub(crate) async fn run(arguments: &ConfigArguments, console: &Console) -> Result<Exit, Failure> {
    let selection = Selection::read(arguments, console.environment())?;
    let interrupt = Interrupt::listen();
    let source = servers::load(&selection, Stay::Interactive, &interrupt).await?;
    let untrusted = selection.untrusted.iter().map(ServerRecord::untrusted);
    report(&untrusted.collect::<Vec<_>>(), console);
    let session = Interactive {
        arguments,
        console,
        source: &source,
        interrupt: &interrupt,
    };
    let served = session.serve(WatchedFiles::of(&selection)).await;
    // Also when the output is gone: nothing is left behind.
    source.close().await;
    served.map(|()| Exit::Success)
}

struct Interactive<'r> {
    arguments: &'r ConfigArguments,
    console: &'r Console,
    source: &'r McpSource,
    interrupt: &'r Interrupt,
}

impl Interactive<'_> {
    /// Until the input ends, `quit`, or Ctrl-C.
    async fn serve(&self, mut files: WatchedFiles) -> Result<(), Failure> {
        let mut lines = input_lines();
        let mut feed = Feed::new(self.source);
        if self.console.shows_progress() {
            self.console
                .note(Look::Dim, "hint:", "`help` lists the commands");
        }
        loop {
            tokio::select! {
                biased;
                () = self.interrupt.cancelled() => return Ok(()),
                events = feed.next(self.source) => self.tell(&events)?,
                text = lines.recv() => match text.as_deref().map(str::parse) {
                    None | Some(Ok(Command::Quit)) => return self.tell(&feed.take(self.source)),
                    Some(Ok(Command::Nothing)) => {}
                    Some(Ok(command)) => self.obey(command).await?,
                    Some(Err(reason)) => self.refuse(&reason)?,
                },
                () = files.changed() => self.reload().await?,
            }
        }
    }

    async fn obey(&self, command: Command) -> Result<(), Failure> {
        match command {
            Command::Help => self.console.line(command::HELP),
            Command::Tools => self.tools(),
            Command::Servers => self.servers(),
            Command::Call { tool, json, pairs } => self.call(&tool, json.as_deref(), &pairs).await,
            Command::Start(server) => {
                let done = self
                    .source
                    .start(&server, Some(&self.interrupt.token()))
                    .await;
                self.done(&done)
            }
            Command::Stop(server) => self.done(&self.source.stop(&server).await),
            Command::Restart(server) => {
                let done = self
                    .source
                    .restart(&server, Some(&self.interrupt.token()))
                    .await;
                self.done(&done)
            }
            Command::Reload => self.reload().await,
            Command::Quit | Command::Nothing => Ok(()),
        }
    }

    fn tools(&self) -> Result<(), Failure> {
        let tools = self.source.tools();
        if self.console.is_json() {
            let tools: Vec<_> = tools.iter().map(|tool| ToolRecord::from(&**tool)).collect();
            return self.console.json(&json!({ "tools": tools }));
        }
        list(&tools, self.console)
    }

    fn servers(&self) -> Result<(), Failure> {
        let names = self.source.servers();
        let infos: Vec<_> = names
            .iter()
            .filter_map(|name| self.source.info(name).ok())
            .collect();
        if self.console.is_json() {
            return self.console.json(&json!({ "servers": infos }));
        }
        let mut table = Table::new(["SERVER", "STATE", "TOOLS", "LAST ERROR"]);
        for info in &infos {
            let tools = self.source.tools();
            let count = tools
                .iter()
                .filter(|tool| tool.server() == info.server)
                .count();
            let error = info
                .last_error
                .as_ref()
                .map(|error| error.message().to_owned());
            table.add([
                Cell::new(Look::Bold, one_line(&info.server)),
                info.state.as_str().into(),
                count.to_string().into(),
                one_line(&error.unwrap_or_default()).into(),
            ]);
        }
        let lines = table.lines(self.console.style(), self.console.width());
        lines.iter().try_for_each(|line| self.console.line(line))
    }

    async fn call(
        &self,
        name: &str,
        json: Option<&str>,
        pairs: &[crate::call_arguments::Pair],
    ) -> Result<(), Failure> {
        let Some(tool) = self.source.tool(name) else {
            return self.refuse(&format!("there is no tool `{name}`; `tools` lists them"));
        };
        let given = match assemble(json, pairs, tool.server_schema()) {
            Ok(given) => given,
            Err(reason) => return self.refuse(&format!("{name}: {reason}")),
        };
        let context = CallContext::with_cancel(self.interrupt.token());
        let result = tool.execute(given, context).await;
        show(&result, name, self.console)
    }

    /// Takes the configuration as it is now. One that cannot be used leaves everything as it was.
    async fn reload(&self) -> Result<(), Failure> {
        let selection = match Selection::read(self.arguments, self.console.environment()) {
            Ok(selection) => selection,
            Err(Failure::Told { message, .. }) => {
                return self.refuse(&format!("the configuration stays as it was: {message}"));
            }
            Err(output) => return Err(output),
        };
        let config = selection.config.into();
        let token = self.interrupt.token();
        match self.source.reload(Some(config), Some(&token)).await {
            Ok(changes) if self.console.is_json() => {
                self.console.json(&json!({ "reloaded": changes }))
            }
            Ok(changes) => {
                self.console
                    .note(Look::Good, "reloaded:", in_words(&changes));
                for problem in self.source.problems() {
                    self.console
                        .note(Look::Odd, "problem:", one_line(&problem.to_string()));
                }
                Ok(())
            }
            Err(error) => self.refuse(&error.to_string()),
        }
    }

    fn done(&self, done: &Result<(), mcp_resident::Error>) -> Result<(), Failure> {
        match done {
            Ok(()) if self.console.is_json() => self.console.json(&json!({ "done": true })),
            Ok(()) => self.console.line("done"),
            Err(error) => self.refuse(&error.to_string()),
        }
    }

    /// Says why a command was not carried out. The next one may be.
    fn refuse(&self, reason: &str) -> Result<(), Failure> {
        if self.console.is_json() {
            return self
                .console
                .json(&json!({ "error": { "message": reason } }));
        }
        self.console.note(Look::Bad, "error:", reason);
        Ok(())
    }

    fn tell(&self, events: &[Event]) -> Result<(), Failure> {
        for event in events {
            if self.console.is_json() {
                self.console.json(event)?;
            } else {
                self.console
                    .note(Look::Dim, "event:", line(event, self.console.note_style()));
            }
        }
        Ok(())
    }
}

/// What is typed, line by line. The thread ends with the input, or with the program.
fn input_lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(MAX_WAITING_LINES);
    thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// The changes, or that there were none.
fn in_words(changes: &Reloaded) -> String {
    let parts = [
        ("added", &changes.added),
        ("removed", &changes.removed),
        ("restarted", &changes.restarted),
        ("adjusted", &changes.adjusted),
    ];
    let told: Vec<String> = parts
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what} {}", one_line(&names.join(", "))))
        .collect();
    if told.is_empty() {
        "nothing changed".to_owned()
    } else {
        told.join("; ")
    }
}
