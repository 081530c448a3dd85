//! The one order of everything that a host is told.

use mcp_resident_facade::mcp_resident::EventKind;
use mcp_resident_facade::{CallOptions, Delivery, Interest, MAX_WAITING_EVENTS};
use serde_json::json;

use crate::support::{Host, alone};

#[test]
fn progress_comes_before_the_outcome_of_its_call() {
    let _alone = alone();
    let mut host = Host::new();
    let source = host.load(&json!({}), &json!({}));
    let sleep = source.tool("s_sleep").unwrap();
    for _ in 0..20 {
        let options = CallOptions {
            progress: true,
            ..CallOptions::default()
        };
        let arguments = json!({ "ms": 6, "progress_ms": 2 }).into();
        let operation = sleep.execute(&host.queue, arguments, options).unwrap();
        let end = host.until(|delivery| matches!(delivery, Delivery::Completed { .. }));
        let of_call = |delivery: &Delivery| matches!(delivery, Delivery::Progress { operation: of, .. } if *of == operation);
        assert!(end > 0 && host.seen[..end].iter().all(of_call));
        assert_eq!(end + 1, host.seen.len());
        host.seen.clear();
    }
    host.close(&source);
}

#[test]
fn observers_are_told_in_order_up_to_the_close_and_before_its_outcome() {
    let _alone = alone();
    let mut host = Host::new();
    let source = host.load(&json!({}), &json!({}));
    let subscription = source.subscribe(&host.queue, Interest::Everything).unwrap();
    let states = source.subscribe(&host.queue, Interest::States).unwrap();
    let restart = source.restart(&host.queue, "s").unwrap();
    host.done(restart).unwrap();
    host.close(&source);
    let told = |wanted| -> Vec<u64> {
        let of = |delivery: &Delivery| match delivery {
            Delivery::Event {
                subscription,
                event,
            } if *subscription == wanted => Some(event.sequence),
            _ => None,
        };
        host.seen.iter().filter_map(of).collect()
    };
    let history = source.events(0);
    let all = told(subscription);
    assert!(all.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{all:?}");
    assert_eq!(all.last(), history.last().map(|event| &event.sequence));
    let changes: Vec<u64> = history
        .iter()
        .filter(|event| event.sequence >= all[0] && matches!(event.kind, EventKind::State { .. }))
        .map(|event| event.sequence)
        .collect();
    assert_eq!(told(states), changes);
}

#[test]
fn what_a_host_does_not_take_is_bounded_and_counted() {
    let _alone = alone();
    let mut host = Host::new();
    let options = json!({ "limits": { "maxEvents": 2 * MAX_WAITING_EVENTS } });
    let source = host.load(&json!({}), &options);
    let subscription = source.subscribe(&host.queue, Interest::Everything).unwrap();
    let log = source.tool("s_log").unwrap();
    // The calls report to another queue, so that this one is not taken from.
    let mut caller = Host::new();
    let sent = MAX_WAITING_EVENTS + 100;
    for batch in 0..sent / 50 {
        let calls: Vec<_> = (0..50)
            .map(|call| caller.call(&log, json!({ "level": "info", "data": batch * 50 + call })))
            .collect();
        for call in calls {
            assert!(!caller.result(call).is_error);
        }
    }
    caller.close(&source);
    let mut taken = host.queue.take(usize::MAX);
    let events = taken
        .iter()
        .filter(|delivery| matches!(delivery, Delivery::Event { .. }));
    assert_eq!(events.count(), MAX_WAITING_EVENTS);
    // Whether it was told of the rest shows with the next event; there is none after a close.
    taken.retain(|delivery| !matches!(delivery, Delivery::Event { .. }));
    assert!(taken.is_empty(), "{taken:?}");
    source.unsubscribe(subscription);
}
