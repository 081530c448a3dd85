//! What is dropped is killed, with or without a runtime.
#![cfg(target_os = "linux")]

mod support;

use mcp_resident_process::Ending;
use support::*;

#[tokio::test]
async fn dropping_the_last_handle_kills_and_collects() {
    bounded(async {
        let keep = engine();
        let child = start(sh(&format!("trap '' TERM; {STUBBORN_MEMBER} wait"))).await;
        let leader = child.process.id();
        let member = next_id(&mut lines(child.stdout)).await;
        let clone = child.process.clone();
        drop(child.process);
        assert!(runs(leader), "a handle is left");
        drop(clone);
        eventually("the member is killed", || !runs(member)).await;
        eventually("the leader is collected", || stat(leader).is_none()).await;
        drop(keep);
    })
    .await;
}

#[test]
fn a_handle_that_outlives_the_runtime_still_kills() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (process, member) = runtime.block_on(bounded(async {
        let child = start(sh(&format!("{STUBBORN_MEMBER} wait"))).await;
        let member = next_id(&mut lines(child.stdout)).await;
        (child.process, member)
    }));
    drop(runtime);
    let leader = process.id();
    assert!(runs(leader));
    let keep = engine();
    drop(process);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        eventually("the member is killed", || !runs(member)).await;
        eventually("the leader is collected", || stat(leader).is_none()).await;
    });
    drop(keep);
}

#[tokio::test]
async fn a_dropped_spawn_leaves_no_process() {
    bounded(async {
        let directory = tempfile::tempdir().expect("a directory");
        let mut launch = sh("echo $$ >id; exec sleep 1000");
        launch.directory = directory.path().to_owned();
        let keep = engine();
        {
            let spawn = keep.spawn(launch);
            tokio::pin!(spawn);
            let first_poll = std::future::poll_fn(|context| {
                std::task::Poll::Ready(spawn.as_mut().poll(context))
            });
            assert!(first_poll.await.is_pending());
        }
        // Starts are done in order, so the dropped one has been dealt with when this one is.
        let next = start(sh("exec sleep 1000")).await;
        let own = std::process::id().to_string();
        eventually("only the second process is left", || {
            let sleepers = std::fs::read_dir("/proc")
                .expect("/proc is readable")
                .flatten()
                .filter(|entry| {
                    let id = entry
                        .file_name()
                        .to_str()
                        .and_then(|name| name.parse::<u32>().ok());
                    id.and_then(stat)
                        .is_some_and(|fields| fields[1] == own && fields[0] != "Z")
                        && std::fs::read_link(entry.path().join("cwd"))
                            .is_ok_and(|cwd| cwd == directory.path())
                });
            sleepers.count() == 0
        })
        .await;
        assert!(runs(next.process.id()));
    })
    .await;
}

#[tokio::test]
async fn a_fork_of_the_host_drops_its_copies_without_harm() {
    bounded(async {
        let child = start(sh("exec sleep 1000")).await;
        let server = child.process.id();
        // SAFETY: the copy only drops and leaves; it runs no destructor of the test harness.
        let copy = unsafe { libc::fork() };
        if copy == 0 {
            drop(child);
            // SAFETY: as above.
            unsafe { libc::_exit(0) };
        }
        let mut status = -1;
        eventually("the fork ends", || {
            // SAFETY: the status is writable, and the fork is an unreaped child of this process.
            unsafe { libc::waitpid(copy, &raw mut status, libc::WNOHANG) == copy }
        })
        .await;
        assert_eq!(status, 0);
        assert!(runs(server));
        assert_eq!(child.process.close(TERM).await.ending, Ending::Terminated);
    })
    .await;
}
