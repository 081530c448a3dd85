//! What is left after a close: nothing.

use std::time::Duration;

use mcp_resident_facade::mcp_resident::FailureKind;
use mcp_resident_facade::{Outcome, shut_down};
use serde_json::json;

use crate::support::{Host, PATIENCE, alone, threads_named};

const IO_THREAD: &str = "mcp-resident-io";

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("a list").count()
}

#[test]
fn the_thread_goes_with_the_last_close_and_comes_again() {
    let _alone = alone();
    let before = descriptors();
    for _ in 0..3 {
        let mut host = Host::new();
        let one = host.load(&json!({}), &json!({}));
        let two = host.load(&json!({}), &json!({}));
        assert_eq!(threads_named(IO_THREAD), 1);
        host.close(&one);
        assert_eq!(threads_named(IO_THREAD), 1);
        host.close(&two);
        gone();
        // A closed source still answers.
        let echo = two.tool("s_echo").unwrap();
        let call = host.call(&echo, json!({ "text": "x" }));
        let error = host.result(call).metadata.error.unwrap();
        assert_eq!(error.kind, FailureKind::Closed);
        gone();
    }
    assert_eq!(descriptors(), before);
}

#[test]
fn a_source_that_is_dropped_is_closed() {
    let _alone = alone();
    let mut host = Host::new();
    let source = host.load(&json!({}), &json!({}));
    let echo = source.tool("s_echo").unwrap();
    drop(source);
    let call = host.call(&echo, json!({ "text": "x" }));
    let error = host.result(call).metadata.error.unwrap();
    assert_eq!(error.kind, FailureKind::Closed);
    gone();
}

#[test]
fn a_host_that_ends_closes_everything_and_every_operation_ends() {
    let _alone = alone();
    let mut host = Host::new();
    let source = host.load(&json!({}), &json!({}));
    let sleep = source.tool("s_sleep").unwrap();
    let call = host.call(&sleep, json!({ "ms": 60_000 }));
    assert!(shut_down(PATIENCE));
    match host.outcome(call) {
        Outcome::Called(result) => {
            let error = result.metadata.error.unwrap();
            assert_eq!(error.kind, FailureKind::Closed);
        }
        other => panic!("{other:?}"),
    }
    assert!(shut_down(Duration::ZERO), "there is nothing to end");
}

#[test]
fn a_closed_queue_cancels_what_runs_and_lets_nobody_wait() {
    let _alone = alone();
    let mut host = Host::new();
    let source = host.load(&json!({}), &json!({}));
    let other = Host::new();
    let sleep = source.tool("s_sleep").unwrap();
    other.call(&sleep, json!({ "ms": 60_000 }));
    other.queue.close();
    assert!(!other.queue.wait(PATIENCE));
    assert_eq!(other.queue.running(), 0);
    host.close(&source);
    gone();
}

/// The last thing that the thread does is to deliver, so it may still be there for the moment of its return.
fn gone() {
    let end = std::time::Instant::now() + PATIENCE;
    while threads_named(IO_THREAD) > 0 {
        assert!(std::time::Instant::now() < end, "the thread is still there");
        std::thread::yield_now();
    }
}
