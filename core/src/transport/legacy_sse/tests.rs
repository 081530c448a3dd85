//! The older transport against a scripted server on the loopback interface.

use std::{io, sync::Mutex};

use http::{HeaderValue, Method};
use tokio::sync::mpsc;

use super::{
    super::testing::{
        Answer, MakeAnswer, Recorder, Seen, TEST_LIMIT, TestServer, direct_client, events, json,
        open_events, respond,
    },
    *,
};

type Feed = mpsc::Sender<io::Result<Bytes>>;

async fn connect(
    server: &TestServer,
    recorder: &Arc<Recorder>,
) -> Result<LegacySseLink, RequestFailure> {
    let client = direct_client();
    let mut options = HttpOptions::new(server.url("/base/sse?key=k"));
    options.max_message_bytes = 1000;
    options
        .headers
        .insert("x-custom", HeaderValue::from_static("kept"));
    LegacySseLink::connect(client, options, recorder.clone(), TEST_LIMIT).await
}

/// A link whose stream the test feeds, to a server that answers every POST by `post`.
async fn connected(
    first: &str,
    post: MakeAnswer,
) -> (TestServer, Arc<Recorder>, LegacySseLink, Feed) {
    let (feed, answer) = open_events();
    let answer = Mutex::new(Some(answer));
    let server = TestServer::start(move |received| match received.method {
        Method::GET => answer.lock().unwrap().take().unwrap(),
        _ => post(),
    })
    .await;
    feed.send(Ok(first.to_owned().into())).await.unwrap();
    let recorder = Recorder::new();
    let link = connect(&server, &recorder).await.unwrap();
    (server, recorder, link, feed)
}

async fn bounded<T>(work: impl Future<Output = T>) -> T {
    timeout(TEST_LIMIT, work).await.expect("done in time")
}

#[tokio::test]
async fn messages_go_to_the_endpoint_and_replies_come_on_the_stream() {
    for (endpoint, path) in [
        ("/message?sessionId=1", "/message"),
        ("message", "/base/message"),
    ] {
        let first = format!(": hi\n\nevent: endpoint\ndata: {endpoint}\n\n");
        let (server, recorder, link, feed) =
            connected(&first, || respond(202, &[], "Accepted")).await;
        bounded(link.request(&1.into(), r#"{"id":1}"#.into()))
            .await
            .unwrap();
        bounded(link.notify(r#"{"method":"x"}"#.into()))
            .await
            .unwrap();
        let posts = server.received(&Method::POST);
        assert_eq!(posts[0].path, path);
        assert_eq!(posts[0].header("x-custom"), Some("kept"));
        assert_eq!(posts[1].body, r#"{"method":"x"}"#);
        feed.send(Ok(
            "event: message\ndata: {\"id\":1,\"result\":{}}\n\n".into()
        ))
        .await
        .unwrap();
        let expected = Seen::Message(r#"{"id":1,"result":{}}"#.to_owned(), Origin::Shared);
        recorder.wait_until(|seen| seen == [expected.clone()]).await;
    }
}

#[tokio::test]
async fn an_absolute_endpoint_of_the_same_origin_is_used() {
    let (feed, answer) = open_events();
    let answer = Mutex::new(Some(answer));
    let server = TestServer::start(move |received| match received.method {
        Method::GET => answer.lock().unwrap().take().unwrap(),
        _ => respond(202, &[], ""),
    })
    .await;
    feed.send(Ok(format!(
        "event: endpoint\ndata: {}\n\n",
        server.url("/absolute")
    )
    .into()))
        .await
        .unwrap();
    let link = connect(&server, &Recorder::new()).await.unwrap();
    bounded(link.notify("{}".into())).await.unwrap();
    assert_eq!(server.received(&Method::POST)[0].path, "/absolute");
}

#[tokio::test]
async fn a_server_without_such_a_stream_is_named_as_what_it_is() {
    let cases: [(MakeAnswer, &str); 7] = [
        (
            || respond(404, &[], ""),
            "no MCP endpoint at this URL (HTTP 404)",
        ),
        (|| respond(405, &[], ""), "the server answered HTTP 405"),
        (
            || respond(401, &[], ""),
            "the server rejects the credentials (HTTP 401): check the configured headers",
        ),
        (
            || json("{}"),
            "the server answered HTTP 200 with content type \"application/json\": \"{}\"",
        ),
        (
            || events("data: {}\n\n"),
            "the event stream names no usable endpoint: end of the event stream",
        ),
        (
            || events("event: endpoint\ndata: http://localhost:1/x?token=canary\n\n"),
            "the event stream names no usable endpoint: http://localhost:1 is of another origin",
        ),
        (
            || events("event: endpoint\ndata: http://[\n\n"),
            "the event stream names no usable endpoint: \"http://[\": invalid IPv6 address",
        ),
    ];
    for (answer, expected) in cases {
        let server = TestServer::start(move |_| answer()).await;
        let failure = bounded(connect(&server, &Recorder::new()))
            .await
            .err()
            .unwrap();
        assert_eq!(failure.to_string(), expected);
    }
}

#[tokio::test]
async fn the_wait_for_the_endpoint_is_bounded() {
    for hangs in [true, false] {
        let (_feed, answer) = open_events();
        let answer = Mutex::new(Some(answer));
        let server = TestServer::start(move |_| match hangs {
            true => Answer::Hang,
            false => answer.lock().unwrap().take().unwrap(),
        })
        .await;
        let client = direct_client();
        let options = HttpOptions::new(server.url("/sse"));
        let connecting =
            LegacySseLink::connect(client, options, Recorder::new(), Duration::from_millis(50));
        let failure = bounded(connecting).await.err().unwrap();
        assert_eq!(
            failure.to_string(),
            "the event stream names no usable endpoint: nothing came within 50 ms"
        );
    }
}

#[tokio::test]
async fn the_end_of_the_stream_drops_the_connection() {
    let first = "event: endpoint\ndata: /m\n\n";
    let too_large = format!("data: {}\n\n", "x".repeat(1000));
    let cases = [
        (None, "end of the event stream"),
        (
            Some(Ok(Bytes::from(too_large))),
            "a message exceeds the limit of 1000 bytes",
        ),
    ];
    for (last, expected) in cases {
        let (_server, recorder, _link, feed) = connected(first, || respond(202, &[], "")).await;
        if let Some(last) = last {
            feed.send(last).await.unwrap();
        }
        drop(feed);
        let ended = Seen::Dropped(DropCause::StreamEnded(expected.to_owned()));
        recorder.wait_until(|seen| seen.contains(&ended)).await;
    }
}

#[tokio::test]
async fn a_refused_message_says_why() {
    let first = "event: endpoint\ndata: /m\n\n";
    let cases: [(MakeAnswer, &str); 3] = [
        (
            || respond(404, &[], "Could not find session"),
            "the server no longer knows the session (HTTP 404)",
        ),
        (
            || respond(400, &[], "No transport found for sessionId"),
            "the server no longer knows the session (HTTP 400)",
        ),
        (
            || respond(500, &[], "x"),
            "the server answered HTTP 500: \"x\"",
        ),
    ];
    for (answer, expected) in cases {
        let (_server, _recorder, link, _feed) = connected(first, answer).await;
        let failure = bounded(link.request(&1.into(), "{}".into()))
            .await
            .unwrap_err();
        assert_eq!(failure.to_string(), expected);
    }
    let error = || respond(400, &[], r#"{"error":{"code":-32600,"message":"bad"}}"#);
    let (_server, recorder, link, _feed) = connected(first, error).await;
    bounded(link.request(&1.into(), "{}".into())).await.unwrap();
    let expected = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"bad"}}"#;
    assert_eq!(recorder.messages(), [expected]);
}

#[tokio::test]
async fn close_lets_go_of_the_stream() {
    let (_server, _recorder, link, feed) =
        connected("event: endpoint\ndata: /m\n\n", || respond(202, &[], "")).await;
    link.close();
    bounded(feed.closed()).await;
}
