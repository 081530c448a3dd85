//! What a started process sees: its streams, its environment, and nothing of the host.
#![cfg(target_os = "linux")]

mod support;

use std::{collections::BTreeMap, fs, path::PathBuf};

use mcp_resident_process::Exit;
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The links behind the descriptors of a process.
fn descriptors(id: u32) -> BTreeMap<String, PathBuf> {
    fs::read_dir(format!("/proc/{id}/fd"))
        .expect("the descriptors are readable")
        .flatten()
        .filter_map(|entry| {
            Some((
                entry.file_name().into_string().ok()?,
                fs::read_link(entry.path()).ok()?,
            ))
        })
        .collect()
}

#[tokio::test]
async fn streams_carry_bytes_both_ways() {
    bounded(async {
        let mut child = start(sh("cat")).await;
        let sent = vec![7; 300_000];
        let writing = tokio::spawn({
            let sent = sent.clone();
            async move { child.stdin.write_all(&sent).await }
        });
        let mut received = Vec::new();
        child
            .stdout
            .read_to_end(&mut received)
            .await
            .expect("stdout is readable");
        writing
            .await
            .expect("the task ends")
            .expect("stdin is writable");
        assert_eq!(received, sent);
        assert_eq!(child.process.exited().await, Exit::Code(0));
    })
    .await;
}

#[tokio::test]
async fn writing_to_a_process_that_has_gone_is_an_error() {
    bounded(async {
        let mut child = start(sh("exec true")).await;
        child.process.exited().await;
        let error = child.stdin.write_all(b"x").await.expect_err("nobody reads");
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    })
    .await;
}

#[tokio::test]
async fn an_exit_is_seen_by_all_who_wait_and_later() {
    bounded(async {
        let child = start(sh("read line; exit 3")).await;
        let waiters: Vec<_> = (0..8)
            .map(|_| {
                let process = child.process.clone();
                tokio::spawn(async move { process.exited().await })
            })
            .collect();
        assert_eq!(child.process.exit(), None);
        drop(child.stdin);
        for waiter in waiters {
            assert_eq!(waiter.await.expect("the task ends"), Exit::Code(3));
        }
        assert_eq!(child.process.exit(), Some(Exit::Code(3)));
        assert!(
            is_zombie(child.process.id()),
            "an exit that is seen is not collected"
        );
    })
    .await;
}

#[tokio::test]
async fn a_signal_is_told_from_an_exit_code() {
    bounded(async {
        let child = start(sh("kill -SEGV $$")).await;
        assert_eq!(
            child.process.exited().await.to_string(),
            "signal 11 (SIGSEGV)"
        );
    })
    .await;
}

#[tokio::test]
async fn a_process_leads_a_session_without_terminal() {
    bounded(async {
        let child = start(sh("exec sleep 1000")).await;
        let id = child.process.id();
        let fields = stat(id).expect("it runs");
        assert_eq!(
            fields[2..5],
            [id.to_string(), id.to_string(), "0".to_owned()]
        );
    })
    .await;
}

#[tokio::test]
async fn signals_are_as_at_the_start_of_a_login() {
    bounded(async {
        // The tests themselves ignore SIGPIPE, as all Rust programs do, and the spawner blocks
        // everything.
        let child = start(sh("exec sleep 1000")).await;
        let status = format!("/proc/{}/status", child.process.id());
        let status = fs::read_to_string(status).expect("the status is readable");
        for set in ["SigBlk:\t", "SigIgn:\t"] {
            let mask = status.lines().find_map(|line| line.strip_prefix(set));
            let mask = u64::from_str_radix(mask.expect("the mask is listed"), 16)
                .expect("the mask is a number");
            // Above the standard signals are some that the C library keeps to itself.
            assert_eq!(mask & 0x7fff_ffff, 0, "{set}");
        }
    })
    .await;
}

#[tokio::test]
async fn nothing_is_inherited_but_the_three_streams() {
    bounded(async {
        let leak = fs::File::open("/dev/null").expect("/dev/null opens");
        // SAFETY: the descriptor is open; its copy is left open for the life of the tests, and has
        // no close-on-exec.
        assert!(unsafe { libc::dup(std::os::fd::AsRawFd::as_raw_fd(&leak)) } >= 0);
        // Builtins only, and looked at when it runs: a program that is being loaded has its libraries open.
        let mut first = start(sh("echo up; read -r line")).await;
        let mut second = start(sh("echo up; read -r line")).await;
        for child in [&mut first, &mut second] {
            let mut up = [0; 3];
            child
                .stdout
                .read_exact(&mut up)
                .await
                .expect("it says that it runs");
        }
        let (first, second) = (
            descriptors(first.process.id()),
            descriptors(second.process.id()),
        );
        for descriptors in [&first, &second] {
            assert!(descriptors.keys().eq(["0", "1", "2"]), "{descriptors:?}");
        }
        assert!(
            first
                .values()
                .all(|link| !second.values().any(|other| other == link))
        );
    })
    .await;
}

#[tokio::test]
async fn the_environment_is_exactly_what_was_given() {
    bounded(async {
        let mut launch = launch("/usr/bin/env", &[]);
        launch.environment = vec![("A".into(), "1=2\n3".into()), ("B".into(), "".into())];
        let mut child = start(launch).await;
        let mut printed = String::new();
        child
            .stdout
            .read_to_string(&mut printed)
            .await
            .expect("stdout is readable");
        assert_eq!(printed, "A=1=2\n3\nB=\n");
    })
    .await;
}
