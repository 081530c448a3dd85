//! Operations and their outcomes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_resident_facade::mcp_resident::{ErrorKind, FailureKind, State};
use mcp_resident_facade::{Delivery, Outcome, Queue, inventory};
use serde_json::json;

use crate::support::{self, Host, PATIENCE, alone};

#[test]
fn each_of_two_hundred_calls_from_eight_threads_gets_its_own_answer() {
    let _alone = alone();
    let mut host = Host::new();
    let source = host.load(&json!({}), &json!({}));
    let echo = source.tool("s_echo").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let echo = Arc::clone(&echo);
            scope.spawn(move || {
                let mut host = Host::new();
                let calls: Vec<_> = (0..25)
                    .map(|call| {
                        let text = format!("{thread}/{call}");
                        (host.call(&echo, json!({ "text": text })), text)
                    })
                    .collect();
                for (operation, text) in calls {
                    assert_eq!(host.result(operation).output, text);
                }
                assert_eq!(host.queue.running(), 0);
            });
        }
    });
    host.close(&source);
}

#[test]
fn calls_are_cancelled_by_their_id_and_end_once() {
    let _alone = alone();
    let mut host = Host::new();
    let source = host.load(&json!({}), &json!({}));
    let sleep = source.tool("s_sleep").unwrap();
    let operation = host.call(&sleep, json!({ "ms": 60_000 }));
    assert!(host.queue.cancel(operation));
    let error = host.result(operation).metadata.error.unwrap();
    assert_eq!(error.kind, FailureKind::Cancelled);
    assert!(!host.queue.cancel(operation), "it has ended");
    host.close(&source);
    assert!(host.seen.is_empty(), "{:?}", host.seen);
}

#[test]
fn a_load_is_cancelled_by_its_id() {
    let _alone = alone();
    let mut host = Host::new();
    let script = json!({ "never_answer": ["initialize"] });
    let request = support::request(&script, &json!({}));
    let operation = mcp_resident_facade::load(&host.queue, request).unwrap();
    assert!(host.queue.cancel(operation));
    match host.outcome(operation) {
        Outcome::Loaded(Err(error)) => assert_eq!(error.kind(), ErrorKind::Cancelled),
        other => panic!("{other:?}"),
    }
}

#[test]
fn waits_and_errors_arrive_like_everything_else() {
    let _alone = alone();
    let mut host = Host::new();
    let source = host.load(&json!({}), &json!({}));
    let waiting = source.wait_for(&host.queue, "s", &[State::Running], PATIENCE);
    match host.outcome(waiting.unwrap()) {
        Outcome::Reached(state) => assert_eq!(state.unwrap(), State::Running),
        other => panic!("{other:?}"),
    }
    let unknown = source.restart(&host.queue, "nobody").unwrap();
    let error = host.done(unknown).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownServer);
    host.close(&source);
    let again = source.start(&host.queue, "s").unwrap();
    assert_eq!(host.done(again).unwrap_err().kind(), ErrorKind::Closed);
    host.close(&source);
}

#[test]
fn an_inventory_keeps_nothing() {
    let _alone = alone();
    let mut host = Host::new();
    let request = support::request(&json!({}), &json!({}));
    let operation = inventory(&host.queue, request).unwrap();
    match host.outcome(operation) {
        Outcome::Listed(entries) => assert!(!entries.unwrap()[0].tools.is_empty()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_tool_is_the_same_object_until_it_changes() {
    let _alone = alone();
    let mut host = Host::new();
    let source = host.load(&json!({}), &json!({}));
    let (first, again) = (
        source.tool("s_echo").unwrap(),
        source.tool("s_echo").unwrap(),
    );
    assert!(Arc::ptr_eq(&first, &again));
    let refresh = source.refresh(&host.queue, None).unwrap();
    host.done(refresh).unwrap();
    let listed = source.tools();
    assert!(listed.iter().any(|tool| tool.id() == first.id()));
    host.close(&source);
    assert!(Arc::ptr_eq(&first, &source.tool("s_echo").unwrap()));
}

#[test]
fn a_waker_is_called_once_for_a_batch() {
    let _alone = alone();
    let mut host = Host::new();
    let source = host.load(&json!({}), &json!({}));
    let echo = source.tool("s_echo").unwrap();
    let wakes = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&wakes);
    let queue = Queue::with_waker(move || {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    for _ in 0..64 {
        let arguments = json!({ "text": "x" }).into();
        echo.execute(&queue, arguments, Default::default()).unwrap();
    }
    // Nothing is taken, so nobody is woken a second time.
    let end = std::time::Instant::now() + PATIENCE;
    while queue.running() > 0 && std::time::Instant::now() < end {
        queue.wait(Duration::from_millis(1));
        std::thread::yield_now();
    }
    assert_eq!(wakes.load(Ordering::SeqCst), 1);
    let taken = queue.take(100);
    assert_eq!(taken.len(), 64);
    assert!(
        taken
            .iter()
            .all(|delivery| matches!(delivery, Delivery::Completed { .. }))
    );
    host.close(&source);
}
