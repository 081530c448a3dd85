//! What one response to one request comes to.

use http::StatusCode;

use super::{
    super::{
        super::{
            inbound::{Origin, TransportNote},
            testing::{Answer, Seen, TestServer, events, json, open_events, respond},
        },
        RequestFailure,
    },
    Fixture, bounded, id_of, reply,
};
use crate::error::Executed;

async fn answered_with(answer: impl Fn() -> Answer + Send + Sync + 'static) -> Fixture {
    Fixture::new(TestServer::start(move |_| answer()).await)
}

#[tokio::test]
async fn a_reply_of_any_legal_type_is_handed_over() {
    let cases: [(&[(&str, &str)], String); 9] = [
        (&[("content-type", "application/json")], reply(1)),
        (
            &[("content-type", "Application/JSON;Charset=UTF-8")],
            reply(1),
        ),
        (
            &[("content-type", "text/event-stream; charset=utf-8")],
            format!("data: {}\n\n", reply(1)),
        ),
        (
            &[("content-type", "TEXT/EVENT-STREAM")],
            format!("data: {}\n\n", reply(1)),
        ),
        (&[], reply(1)),
        (&[], format!(": hello\n\ndata: {}\n\n", reply(1))),
        (&[("content-type", "text/plain")], reply(1)),
        (
            &[("content-type", "application/json")],
            format!("\u{feff}\n {}\n", reply(1)),
        ),
        (
            &[("content-type", "application/json")],
            format!("[{}]", reply(1)),
        ),
    ];
    for (headers, body) in cases {
        let label = format!("{headers:?} {body:?}");
        let fixture = answered_with(move || respond(200, headers, body.clone())).await;
        assert_eq!(fixture.call(1).await, Ok(StatusCode::OK), "{label}");
        let expected = Seen::Message(reply(1), Origin::Request(1.into()));
        assert_eq!(fixture.recorder.seen(), [expected], "{label}");
    }
}

#[tokio::test]
async fn a_response_without_the_reply_fails_the_request_at_once() {
    let cases: [(u16, &str, &str, &str); 16] = [
        (
            200,
            "application/json",
            "",
            "the server answered HTTP 200 without a reply",
        ),
        (
            202,
            "application/json",
            "",
            "the server answered HTTP 202 without a reply",
        ),
        (
            204,
            "text/plain",
            "",
            "the server answered HTTP 204 without a reply",
        ),
        (
            200,
            "text/html",
            "<p>hi</p>",
            "the server answered HTTP 200 with content type \"text/html\": \"<p>hi</p>\"",
        ),
        (
            200,
            "text/plain",
            "Accepted",
            "the server answered HTTP 200 with content type \"\": \"Accepted\"",
        ),
        (
            200,
            "application/json-seq",
            "{}",
            "the server answered HTTP 200 with content type \"application/json-seq\": \"{}\"",
        ),
        (
            200,
            "application/json",
            r#"{"id":100,"result":{}}"#,
            "the server answered with a reply to id 100 instead of the reply",
        ),
        (
            200,
            "application/json",
            r#"{"id":100,"error":{"code":1,"message":""}}"#,
            "the server answered with a reply to id 100 instead of the reply",
        ),
        (
            200,
            "application/json",
            r#"{"id":null,"result":{}}"#,
            "the server answered with another message instead of the reply",
        ),
        (
            200,
            "application/json",
            r#"{"method":"x"}"#,
            "the server answered with another message instead of the reply",
        ),
        (
            200,
            "application/json",
            r#"{"id":1,"#,
            "the server answered with malformed JSON (EOF while parsing a value at line 1 column 8): \"{\\\"id\\\":1,\"",
        ),
        (
            200,
            "text/event-stream",
            "",
            "the response ended before the reply: end of the stream",
        ),
        (
            200,
            "text/event-stream",
            ": hi\n\ndata: {\"method\":\"x\"}\n\n",
            "the response ended before the reply: end of the stream",
        ),
        (
            200,
            "text/event-stream",
            "data: {\"id\":100,\"result\":{}}\n\n",
            "the server answered with a reply to id 100 instead of the reply",
        ),
        (
            400,
            "text/plain",
            "no  such\nthing",
            "the server answered HTTP 400: \"no such thing\"",
        ),
        (500, "text/plain", "", "the server answered HTTP 500"),
    ];
    for (status, media_type, body, expected) in cases {
        let fixture =
            answered_with(move || respond(status, &[("content-type", media_type)], body)).await;
        let failure = fixture.call(1).await.unwrap_err();
        assert_eq!(
            failure.to_string(),
            expected,
            "{status} {media_type} {body}"
        );
        assert_eq!(failure.executed(), Executed::Unknown, "{failure}");
    }
}

#[tokio::test]
async fn an_error_that_names_no_request_is_the_reply() {
    let error = r#""error":{"code":-32000,"message":"no"}"#;
    let expected = format!(r#"{{"jsonrpc":"2.0","id":1,{error}}}"#);
    let cases = [
        (200, "application/json", format!("{{{error}}}")),
        (200, "application/json", format!("{{\"id\":null,{error}}}")),
        (200, "text/event-stream", format!("data: {{{error}}}\n\n")),
        (
            400,
            "application/json",
            format!("{{\"jsonrpc\":\"2.0\",\"id\":1,{error}}}"),
        ),
        (
            400,
            "application/json",
            format!("{{{error},\"id\":\"server-error\"}}"),
        ),
        (404, "application/json", format!("{{{error},\"id\":100}}")),
        (500, "text/plain", format!("{{{error}}}")),
    ];
    for (status, media_type, body) in cases {
        let label = format!("{status} {body}");
        let fixture =
            answered_with(move || respond(status, &[("content-type", media_type)], body.clone()))
                .await;
        assert_eq!(
            fixture.call(1).await.map(|status| status.as_u16()),
            Ok(status),
            "{label}"
        );
        assert_eq!(
            fixture.recorder.messages().last(),
            Some(&expected),
            "{label}"
        );
    }
}

#[tokio::test]
async fn a_reply_that_the_receiver_gave_up_on_ends_the_request_too() {
    for answer in [
        || json(reply(1)),
        || events(format!("data: {}\n\n", reply(1))),
    ] {
        let fixture = answered_with(answer).await;
        fixture.recorder.forget(1.into());
        assert_eq!(fixture.call(1).await, Ok(StatusCode::OK));
    }
}

#[tokio::test]
async fn messages_of_a_stream_are_handed_over_in_order_and_noise_is_skipped() {
    let body = concat!(
        "id: 0\ndata:\n\n: keep-alive\n\ndata: ping\n\n",
        "data: {\"method\":\"notifications/progress\"}\n\nevent: other\ndata: {\"method\":\"x\"}\n\n",
        "data: {\"id\":7,\"method\":\"elicitation/create\"}\n\ndata: {\"id\":1,\"result\":{}}\n\n",
        "data: {\"method\":\"notifications/tools/list_changed\"}\n\n",
    );
    let fixture = answered_with(move || events(body)).await;
    fixture.call(1).await.unwrap();
    let origin = Origin::Request(1.into());
    let message = |text: &str| Seen::Message(text.to_owned(), origin.clone());
    let expected = [
        Seen::Note(TransportNote::Skipped {
            what: "an event that is no JSON-RPC message: \"ping\"".to_owned(),
        }),
        message(r#"{"method":"notifications/progress"}"#),
        message(r#"{"id":7,"method":"elicitation/create"}"#),
        message(r#"{"id":1,"result":{}}"#),
        message(r#"{"method":"notifications/tools/list_changed"}"#),
    ];
    assert_eq!(fixture.recorder.seen(), expected);
}

#[tokio::test]
async fn what_follows_the_reply_later_is_not_lost_and_holds_up_nothing() {
    let (sender, answer) = open_events();
    let answer = std::sync::Mutex::new(Some(answer));
    let server = TestServer::start(move |received| match id_of(&received.body) {
        1 => answer.lock().unwrap().take().unwrap(),
        id => json(reply(id)),
    });
    let fixture = Fixture::new(server.await);
    sender
        .send(Ok(format!("data: {}\n\n", reply(1)).into()))
        .await
        .unwrap();
    fixture.call(1).await.unwrap();
    fixture.call(2).await.unwrap();
    sender
        .send(Ok("data: {\"method\":\"late\"}\n\n".into()))
        .await
        .unwrap();
    fixture.recorder.wait_until(|seen| seen.len() == 3).await;
}

#[tokio::test]
async fn a_dropped_request_lets_go_of_its_response() {
    let (sender, answer) = open_events();
    let answer = std::sync::Mutex::new(Some(answer));
    let fixture = answered_with(move || answer.lock().unwrap().take().unwrap()).await;
    sender
        .send(Ok("data: {\"method\":\"x\"}\n\n".into()))
        .await
        .unwrap();
    tokio::select! {
        outcome = fixture.call(1) => panic!("{outcome:?}"),
        _ = fixture.recorder.wait_until(|seen| seen.len() == 1) => {}
    }
    bounded(sender.closed()).await;
}

#[tokio::test]
async fn a_reply_beyond_the_limit_fails_only_its_request() {
    let large = || format!(r#"{{"id":1,"result":"{}"}}"#, "x".repeat(2000));
    let answers: [fn(String) -> Answer; 2] = [json, |body| events(format!("data: {body}\n\n"))];
    for answer in answers {
        let server = TestServer::start(move |received| match id_of(&received.body) {
            1 => answer(large()),
            id => answer(reply(id)),
        });
        let fixture = Fixture::with(server.await, |options| options.max_message_bytes = 1000);
        assert_eq!(
            fixture.call(1).await,
            Err(RequestFailure::TooLarge { limit: 1000 })
        );
        fixture.call(2).await.unwrap();
    }
}

#[tokio::test]
async fn a_body_of_many_chunks_arrives_whole() {
    let text = "ü\"\\✓x".repeat(300_000);
    let message = serde_json::json!({"id": 1, "result": text}).to_string();
    let body = message.clone();
    let fixture = answered_with(move || json(body.clone())).await;
    fixture.call(1).await.unwrap();
    assert!(fixture.recorder.messages() == [message]);
}

#[tokio::test]
async fn sequential_calls_use_one_connection() {
    let answers: [fn(u64) -> Answer; 2] = [
        |id| json(reply(id)),
        |id| events(format!("data: {}\n\n", reply(id))),
    ];
    for answer in answers {
        let fixture =
            Fixture::new(TestServer::start(move |received| answer(id_of(&received.body))).await);
        for id in 0..20 {
            fixture.call(id).await.unwrap();
        }
        assert_eq!(fixture.server.connections(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_side_by_side_each_get_their_reply() {
    let server = TestServer::start(|received| {
        let id = id_of(&received.body);
        let answers: [fn(String) -> Answer; 2] =
            [json, |reply| events(format!("data: {reply}\n\n"))];
        answers[usize::from(id.is_multiple_of(2))](reply(id))
    });
    let fixture = std::sync::Arc::new(Fixture::new(server.await));
    let mut calls = tokio::task::JoinSet::new();
    for id in 0..64 {
        let fixture = std::sync::Arc::clone(&fixture);
        calls.spawn(async move { fixture.call(id).await });
    }
    for outcome in bounded(calls.join_all()).await {
        assert_eq!(outcome, Ok(StatusCode::OK));
    }
    let mut replies = fixture.recorder.messages();
    replies.sort_by_key(|reply| id_of(reply));
    assert_eq!(replies, (0..64).map(reply).collect::<Vec<_>>());
}
