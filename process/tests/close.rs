//! A close leaves nothing behind, is no rougher than needed, and takes no longer than its graces.
#![cfg(target_os = "linux")]

mod support;

use std::time::{Duration, Instant};

use mcp_resident_process::{Closed, Ending, Exit, Grace};
use support::*;

#[tokio::test]
async fn a_polite_server_ends_by_itself() {
    bounded(async {
        let child = start(sh("cat >/dev/null; exit 3")).await;
        drop(child.stdin);
        let closed = child.process.close(LONG).await;
        let expected = Closed {
            exit: Some(Exit::Code(3)),
            ending: Ending::Exited,
            survivors: vec![],
            escaped: vec![],
        };
        assert_eq!(closed, expected);
    })
    .await;
}

#[tokio::test]
async fn a_member_that_ignores_everything_is_killed() {
    bounded(async {
        let child = start(sh(&format!("{STUBBORN_MEMBER} wait"))).await;
        let member = next_id(&mut lines(child.stdout)).await;
        drop(child.stdin);
        let closed = child.process.close(SHORT).await;
        assert_eq!(closed.ending, Ending::Killed);
        assert!(!runs(member));
        assert!(
            stat(child.process.id()).is_none(),
            "the leader is collected"
        );
    })
    .await;
}

#[tokio::test]
async fn the_group_is_judged_and_not_its_leader() {
    bounded(async {
        let script = format!("trap 'exit 7' TERM; {STUBBORN_MEMBER} wait");
        let child = start(sh(&script)).await;
        let member = next_id(&mut lines(child.stdout)).await;
        drop(child.stdin);
        let grace = Grace {
            eof: Duration::ZERO,
            term: Duration::from_millis(300),
        };
        let closed = child.process.close(grace).await;
        assert_eq!(closed.exit, Some(Exit::Code(7)));
        assert_eq!(closed.ending, Ending::Killed);
        assert!(!runs(member));
    })
    .await;
}

#[tokio::test]
async fn a_leader_keeps_its_id_until_its_members_are_gone() {
    bounded(async {
        let script = format!("trap 'exit 0' TERM; {STUBBORN_MEMBER} wait");
        let child = start(sh(&script)).await;
        let member = next_id(&mut lines(child.stdout)).await;
        let leader = child.process.id();
        let closing = tokio::spawn({
            let process = child.process.clone();
            async move { process.close(TERM).await }
        });
        child.process.exited().await;
        assert!(is_zombie(leader) && runs(member));
        assert!(!closing.is_finished());
        kill(member, libc::SIGKILL);
        assert_eq!(
            closing.await.expect("the close ends").ending,
            Ending::Terminated
        );
        assert!(stat(leader).is_none());
    })
    .await;
}

#[tokio::test]
async fn a_tree_of_three_levels_is_gone() {
    bounded(async {
        let script =
            r#"sh -c 'sh -c "sleep 1000 & echo \$!; wait" & echo $!; wait' & echo $!; wait"#;
        let child = start(sh(script)).await;
        let mut lines = lines(child.stdout);
        let members = [
            next_id(&mut lines).await,
            next_id(&mut lines).await,
            next_id(&mut lines).await,
        ];
        assert_eq!(child.process.close(TERM).await.ending, Ending::Terminated);
        assert!(members.into_iter().all(|member| !runs(member)));
    })
    .await;
}

#[tokio::test]
async fn a_member_in_a_group_of_its_own_is_gone() {
    bounded(async {
        let script = "
import os, time
member = os.fork()
if member == 0:
    os.setpgid(0, 0)
    print(os.getpid(), flush=True)
time.sleep(1000)
";
        let child = start(python(script)).await;
        let member = next_id(&mut lines(child.stdout)).await;
        child.process.close(TERM).await;
        assert!(!runs(member));
    })
    .await;
}

#[tokio::test]
async fn who_left_the_session_is_reported_and_left_alone() {
    bounded(async {
        let child = start(python(
            "
import os, time
if os.fork() == 0:
    os.setsid()
    print(os.getpid(), flush=True)
time.sleep(1000)
",
        ))
        .await;
        let escaped = next_id(&mut lines(child.stdout)).await;
        let closed = child.process.close(TERM).await;
        assert_eq!(closed.escaped, [escaped]);
        assert!(runs(escaped));
        kill(escaped, libc::SIGKILL);
    })
    .await;
}

#[tokio::test]
async fn a_stopped_server_is_terminated() {
    bounded(async {
        let child = start(sh("trap 'exit 5' TERM; kill -STOP $$; sleep 1000")).await;
        let id = child.process.id();
        eventually("the server is stopped", || {
            stat(id).is_some_and(|fields| fields[0] == "T")
        })
        .await;
        let closed = child.process.close(TERM).await;
        assert_eq!(
            (closed.exit, closed.ending),
            (Some(Exit::Code(5)), Ending::Terminated)
        );
    })
    .await;
}

#[tokio::test]
async fn many_servers_close_in_the_time_of_one() {
    bounded(async {
        let directory = tempfile::tempdir().expect("a directory");
        let mut children = Vec::new();
        let ready = "echo ready;";
        for number in 0..24 {
            let script = match number {
                0..8 => format!("{ready} cat >/dev/null; sleep 0.05"),
                8..16 => format!("{ready} exec sleep 1000"),
                16..20 => format!("trap '' TERM; {ready} while :; do sleep 1000; done"),
                _ => format!("{ready} cat >/dev/null; sleep 1.5; echo yes >saved{number}"),
            };
            let mut launch = sh(&script);
            launch.directory = directory.path().to_owned();
            let child = start(launch).await;
            let mut lines = lines(child.stdout);
            assert_eq!(
                lines.next_line().await.expect("readable").as_deref(),
                Some("ready")
            );
            children.push((child.stdin, child.process));
        }
        let grace = Grace {
            eof: Duration::from_secs(5),
            term: Duration::from_secs(1),
        };
        let begun = Instant::now();
        let closes: Vec<_> = children
            .into_iter()
            .map(|(stdin, process)| {
                drop(stdin);
                tokio::spawn(async move { process.close(grace).await.ending })
            })
            .collect();
        let mut endings = Vec::new();
        for close in closes {
            endings.push(close.await.expect("the close ends"));
        }
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(20), "took {took:?}");
        assert!(
            endings[..8]
                .iter()
                .chain(&endings[20..])
                .all(|ending| *ending == Ending::Exited)
        );
        assert!(
            endings[8..16]
                .iter()
                .all(|ending| *ending == Ending::Terminated)
        );
        assert!(
            endings[16..20]
                .iter()
                .all(|ending| *ending == Ending::Killed)
        );
        for number in 20..24 {
            assert!(directory.path().join(format!("saved{number}")).exists());
        }
    })
    .await;
}

#[tokio::test]
async fn concurrent_closes_share_one_run_and_the_shorter_grace_wins() {
    bounded(async {
        let child = start(sh("trap '' TERM; echo ready; while :; do sleep 1000; done")).await;
        lines(child.stdout).next_line().await.expect("readable");
        let patient = tokio::spawn({
            let process = child.process.clone();
            async move { process.close(LONG).await }
        });
        tokio::task::yield_now().await;
        let hasty = child.process.close(Grace::NONE).await;
        assert_eq!(hasty.exit, Some(Exit::Signal(libc::SIGKILL)));
        assert_eq!(patient.await.expect("the close ends"), hasty);
        assert_eq!(
            child.process.close(LONG).await,
            hasty,
            "closing again changes nothing"
        );
    })
    .await;
}

#[tokio::test]
async fn a_close_goes_on_when_nobody_waits_for_it() {
    bounded(async {
        let child = start(sh("exec sleep 1000")).await;
        {
            let close = child.process.close(TERM);
            tokio::pin!(close);
            let first_poll = std::future::poll_fn(|context| {
                std::task::Poll::Ready(close.as_mut().poll(context))
            });
            assert!(first_poll.await.is_pending());
        }
        assert_eq!(child.process.exited().await, Exit::Signal(libc::SIGTERM));
    })
    .await;
}
