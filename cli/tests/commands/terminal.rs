//! What only a terminal gets: colours, a table that is drawn over itself, progress, a question.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::mpsc;

use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};

use crate::support::{Home, PATIENCE, Running, fake};

/// A terminal with the program on it.
struct Terminal {
    running: Running,
    keyboard: File,
    screen: mpsc::Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn start(home: &Home, words: &[&str], variables: &[(&str, &str)]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize {
            ws_row: 12,
            ws_col: 70,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap();
        let open = || {
            let path = path.to_str().unwrap();
            OpenOptions::new()
                .read(true)
                .write(true)
                .open(path)
                .unwrap()
        };
        let mut command = home.command(words);
        command
            .env("TERM", "xterm")
            .envs(variables.iter().copied())
            .stdin(Stdio::from(open()))
            .stdout(Stdio::from(open()))
            .stderr(Stdio::from(open()));
        let child = command.spawn().unwrap();
        // It still holds the terminal open for the program.
        drop(command);

        let mut master = File::from(master);
        let keyboard = master.try_clone().unwrap();
        let (written, screen) = mpsc::sync_channel(64);
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            // It cannot be read any more once nobody has it open.
            while let Ok(length @ 1..) = master.read(&mut chunk) {
                if written.send(chunk[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            running: Running { child },
            keyboard,
            screen,
            seen: String::new(),
        }
    }

    /// Waits until something is shown, and forgets everything up to its end.
    fn wait_for(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            match self.screen.recv_timeout(PATIENCE) {
                Ok(chunk) => self.seen.push_str(&String::from_utf8_lossy(&chunk)),
                Err(error) => panic!("{error}, without {text:?} in {:?}", self.seen),
            }
        }
    }

    fn type_line(&mut self, line: &str) {
        writeln!(self.keyboard, "{line}").unwrap();
    }

    /// The exit code, and what was shown until then.
    fn end(mut self) -> (Option<i32>, String) {
        let code = self.running.wait_for_status().code();
        while let Ok(chunk) = self.screen.recv_timeout(PATIENCE) {
            self.seen.push_str(&String::from_utf8_lossy(&chunk));
        }
        (code, self.seen)
    }
}

fn one_server(script: Value) -> Home {
    Home::with_servers(json!({ "s": fake(script) }))
}

#[test]
fn a_person_is_asked_before_anything_is_trusted() {
    let home = Home::new();
    home.write_project(json!({"local": {"command": "their-program"}}));
    for (answer, code, told) in [
        ("", 6, "not trusted: local"),
        ("n", 6, "not trusted: local"),
        ("y", 0, "trusted: local"),
    ] {
        let mut terminal = Terminal::start(&home, &["trust"], &[("NO_COLOR", "1")]);
        let shown = terminal.wait_for("Trust it? [y/N] ");
        assert!(shown.contains("    their-program\r\n"), "{shown}");
        terminal.type_line(answer);
        terminal.wait_for(told);
        assert_eq!(terminal.end().0, Some(code), "{answer:?}");
    }
    home.run(["trust"]).ended_with(0);
}

#[test]
fn the_table_is_drawn_over_itself_as_servers_change() {
    let home = one_server(json!({}));
    let mut terminal = Terminal::start(&home, &["watch"], &[]);
    let first = terminal.wait_for("SERVER");
    assert!(!first.contains('\n'), "{first:?}");
    terminal.wait_for("\x1b[32mrunning\x1b[0m  16 ");
    terminal.wait_for("connected and listed");
    terminal.running.signal(Signal::INT);
    let (code, rest) = terminal.end();
    assert_eq!(code, Some(0));
    let (_, last) = rest.rsplit_once("F\x1b[2mSERVER").unwrap();
    assert!(last.contains("stopped"), "{last:?}");
    assert!(last.ends_with("\r\n\x1b[J"), "{last:?}");
}

#[test]
fn progress_is_shown_in_place() {
    let home = one_server(json!({}));
    let words = ["call", "s_sleep", "ms=1500", "progress_ms=20"];
    let mut terminal = Terminal::start(&home, &words, &[]);
    terminal.wait_for("\r\x1b[Kprogress: 2");
    terminal.wait_for("\r\x1b[Kslept\r\n");
    assert_eq!(terminal.end().0, Some(0));
}

#[test]
fn what_a_server_says_cannot_steer_the_terminal() {
    let home = one_server(json!({}));
    let words = ["call", "s_echo", "--args", r#"{"text": "\u001b[2Jhi"}"#];
    let (code, shown) = Terminal::start(&home, &words, &[]).end();
    assert_eq!(code, Some(0));
    assert!(shown.ends_with("\u{fffd}[2Jhi\r\n"), "{shown:?}");
}

#[test]
fn colours_can_be_switched_off() {
    let home = Home::with_servers(json!({"s": {"command": 3}}));
    let shown = |variables: &[(&str, &str)]| {
        let (code, shown) = Terminal::start(&home, &["check"], variables).end();
        assert_eq!(code, Some(3));
        shown.contains('\x1b')
    };
    assert!(shown(&[]));
    assert!(!shown(&[("NO_COLOR", "1")]));
    assert!(!shown(&[("TERM", "dumb")]));
}

#[test]
fn long_lines_are_cut_to_the_width() {
    let description = "word ".repeat(40);
    let tools =
        json!([{"name": "t", "description": description, "inputSchema": {"type": "object"}}]);
    let home = one_server(json!({ "tools": tools }));
    let (code, shown) = Terminal::start(&home, &["tools"], &[("NO_COLOR", "1")]).end();
    assert_eq!(code, Some(0));
    let line = shown.lines().nth(1).unwrap();
    assert!(line.chars().count() <= 70 && line.ends_with('…'), "{line}");
}
