//! Questions of servers, answered by id.

use mcp_resident_facade::{Delivery, answer_from_json};
use serde_json::json;

use crate::support::{Host, alone, request};

fn asking(
    host: &mut Host,
    options: &serde_json::Value,
) -> std::sync::Arc<mcp_resident_facade::Source> {
    host.load_request(request(&json!({}), options).asking(true))
}

#[test]
fn an_answer_goes_to_the_call_that_waits_for_it() {
    let _alone = alone();
    let mut host = Host::new();
    let source = asking(&mut host, &json!({}));
    let elicit = source.tool("s_elicit").unwrap();
    let call = host.call(&elicit, json!({ "message": "who?" }));
    let place = host.until(|delivery| matches!(delivery, Delivery::Question { .. }));
    let Delivery::Question {
        question, request, ..
    } = host.seen.remove(place)
    else {
        unreachable!("it was found by its kind");
    };
    assert_eq!(request.prompt, "who?");
    let answer = answer_from_json(&request.id, r#"{"ok": true, "data": {"name": "Ada"}}"#);
    assert!(host.queue.answer(question, answer.clone()));
    assert!(!host.queue.answer(question, answer), "it is answered");
    let result = host.result(call);
    assert!(result.output.contains("Ada"), "{}", result.output);
    host.close(&source);
    assert!(host.seen.is_empty(), "{:?}", host.seen);
}

#[test]
fn a_question_that_nobody_waits_for_any_more_ends() {
    let _alone = alone();
    let mut host = Host::new();
    let source = asking(&mut host, &json!({ "limits": { "personTimeoutMs": 50 } }));
    let elicit = source.tool("s_elicit").unwrap();
    let call = host.call(&elicit, json!({ "message": "who?" }));
    host.until(|delivery| matches!(delivery, Delivery::QuestionEnded { .. }));
    let result = host.result(call);
    assert!(result.output.contains("cancel"), "{result:?}");
    host.close(&source);
}
