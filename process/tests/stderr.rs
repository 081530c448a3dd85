//! Standard error is always read, its end is kept, and it never delays anything.
#![cfg(target_os = "linux")]

mod support;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use mcp_resident_process::{Ending, StderrOptions};
use support::*;

const FLOOD_BYTES: usize = 8 * 1024 * 1024;

#[tokio::test]
async fn a_flood_without_line_breaks_never_blocks_and_is_bounded() {
    bounded(async {
        let seen = Arc::new(AtomicUsize::new(0));
        let largest = Arc::new(AtomicUsize::new(0));
        let sink = {
            let (seen, largest) = (Arc::clone(&seen), Arc::clone(&largest));
            move |chunk: &[u8]| {
                seen.fetch_add(chunk.len(), Ordering::Relaxed);
                largest.fetch_max(chunk.len(), Ordering::Relaxed);
            }
        };
        let mut launch = sh(&format!(
            "head -c {FLOOD_BYTES} /dev/zero | tr '\\0' x >&2; printf end >&2"
        ));
        launch.stderr = StderrOptions {
            ring_bytes: 1000,
            sink: Some(Arc::new(sink)),
        };
        let child = start(launch).await;
        assert!(child.process.exited().await.is_success());
        child.process.stderr_drained().await;
        assert_eq!(seen.load(Ordering::Relaxed), FLOOD_BYTES + 3);
        assert!(largest.load(Ordering::Relaxed) <= 64 * 1024);
        let tail = child.process.stderr_tail();
        assert_eq!(tail.len(), 1000);
        assert!(tail.ends_with("xxend"));
    })
    .await;
}

#[tokio::test]
async fn the_last_words_are_kept() {
    bounded(async {
        let child = start(sh("echo first >&2; printf 'bad \\377 byte' >&2; exit 1")).await;
        child.process.exited().await;
        child.process.stderr_drained().await;
        assert_eq!(child.process.stderr_tail(), "first\nbad \u{fffd} byte");
    })
    .await;
}

#[tokio::test]
async fn a_panicking_sink_stops_nothing() {
    bounded(async {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let mut launch = sh("echo one >&2; read line; echo two >&2");
        launch.stderr.sink = Some(Arc::new(move |_: &[u8]| {
            counted.fetch_add(1, Ordering::Relaxed);
            panic!("a sink of the host's own");
        }));
        let child = start(launch).await;
        eventually("the sink was called", || calls.load(Ordering::Relaxed) == 1).await;
        drop(child.stdin);
        child.process.stderr_drained().await;
        assert_eq!(child.process.stderr_tail(), "one\ntwo\n");
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    })
    .await;
}

#[tokio::test]
async fn a_descendant_that_holds_it_open_delays_no_close() {
    bounded(async {
        // It has left the session, so it survives the close and still holds standard error.
        let script = "
import os, time
if os.fork() == 0:
    os.setsid()
    print(os.getpid(), flush=True)
    time.sleep(1000)
os.close(1)
";
        let child = start(python(script)).await;
        let holder = next_id(&mut lines(child.stdout)).await;
        drop(child.stdin);
        assert_eq!(child.process.close(LONG).await.ending, Ending::Exited);
        assert!(runs(holder));
        kill(holder, libc::SIGKILL);
        child.process.stderr_drained().await;
    })
    .await;
}
