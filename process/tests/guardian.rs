//! A host that is killed leaves no server and no descendant of one, and harms nothing else.
//!
//! The host is this test program again, running only the ignored test [`host`].
#![cfg(target_os = "linux")]

mod support;

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStdout, Command, Stdio},
};

use support::*;

/// Says a line to the test that started the host; the harness prints lines of its own.
const MARK: &str = "host: ";

#[tokio::test]
#[ignore = "the host that the other tests start and kill; by itself it waits for the end of its input"]
async fn host() {
    let script = format!("{STUBBORN_MEMBER} {STUBBORN_MEMBER} wait");
    let mut kept = Vec::new();
    for guarded in [true, true, false] {
        let mut launch = sh(&script);
        launch.guarded = guarded;
        let child = start(launch).await;
        let mut lines = lines(child.stdout);
        let members = [next_id(&mut lines).await, next_id(&mut lines).await];
        println!("{MARK}{} {} {}", child.process.id(), members[0], members[1]);
        kept.push((child.stdin, child.process, lines));
    }
    let mut command = Command::new("sleep");
    let unrelated = command.arg("1000").spawn().expect("sleep starts");
    println!("{MARK}{}", unrelated.id());
    std::io::stdin()
        .read_to_end(&mut Vec::new())
        .expect("input is readable");
    std::mem::forget(unrelated);
}

/// A host with its servers: two guarded ones, an unguarded one, and an unrelated process.
struct Host {
    process: Child,
    /// Kept open, because the harness in the host writes to it at its end.
    _stdout: BufReader<ChildStdout>,
    guarded: Vec<u32>,
    unguarded: Vec<u32>,
    unrelated: u32,
}

impl Host {
    fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().expect("the test knows its file"))
            .args(["--ignored", "--exact", "host", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the host starts");
        let mut stdout = BufReader::new(process.stdout.take().expect("stdout is piped"));
        let mut told = stdout
            .by_ref()
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| {
                let (_, ids) = line.split_once(MARK)?;
                Some(
                    ids.split(' ')
                        .map(|id| id.parse().expect("an id"))
                        .collect::<Vec<u32>>(),
                )
            });
        let mut next = || told.next().expect("the host tells its servers");
        let guarded = [next(), next()].concat();
        let (unguarded, unrelated) = (next(), next()[0]);
        Self {
            process,
            _stdout: stdout,
            guarded,
            unguarded,
            unrelated,
        }
    }

    fn guardian(&self) -> Option<u32> {
        let host = self.process.id().to_string();
        fs::read_dir("/proc")
            .expect("/proc is readable")
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .find(|id| {
                stat(*id).is_some_and(|fields| fields[1] == host && fields[0] != "Z")
                    && fs::read_to_string(format!("/proc/{id}/cmdline"))
                        .is_ok_and(|line| line.contains("mcp-guardian"))
            })
    }

    async fn kill_and_check(mut self) {
        self.process.kill().expect("the host is killed");
        self.process.wait().expect("the host is collected");
        eventually("no guarded server is left", || {
            !self.guarded.iter().any(|id| runs(*id))
        })
        .await;
        let (leader, members) = (self.unguarded[0], &self.unguarded[1..]);
        eventually("the unguarded server itself is gone", || !runs(leader)).await;
        assert!(
            members.iter().all(|id| runs(*id)),
            "only the guardian reaches members"
        );
        assert!(runs(self.unrelated));
        members
            .iter()
            .chain([&self.unrelated])
            .for_each(|id| kill(*id, libc::SIGKILL));
    }
}

#[tokio::test]
async fn a_killed_host_leaves_no_guarded_server() {
    bounded(Host::start().kill_and_check()).await;
}

#[tokio::test]
async fn a_guardian_that_was_killed_is_replaced_and_knows_all_groups() {
    bounded(async {
        let host = Host::start();
        let first = host.guardian().expect("there is a guardian");
        kill(first, libc::SIGKILL);
        eventually("another guardian runs", || {
            host.guardian().is_some_and(|id| id != first)
        })
        .await;
        assert!(
            host.guarded.iter().all(|id| runs(*id)),
            "its death harms no server"
        );
        host.kill_and_check().await;
    })
    .await;
}

#[tokio::test]
async fn a_guardian_shrugs_off_polite_signals_and_ends_with_its_host() {
    bounded(async {
        let mut host = Host::start();
        let guardian = host.guardian().expect("there is a guardian");
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
            kill(guardian, signal);
        }
        drop(host.process.stdin.take());
        host.process.wait().expect("the host ends by itself");
        let left = || {
            host.guarded
                .iter()
                .chain(&host.unguarded)
                .chain([&guardian])
                .any(|id| runs(*id))
        };
        eventually("nothing is left", || !left()).await;
        kill(host.unrelated, libc::SIGKILL);
    })
    .await;
}
