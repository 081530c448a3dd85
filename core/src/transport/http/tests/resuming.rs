//! Reply streams that break before the reply.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use http::Method;

use super::{
    super::{
        super::testing::{
            Answer, MakeAnswer, Received, TEST_LIMIT, TestServer, events, json, open_events,
            respond,
        },
        RequestFailure,
    },
    Fixture, reply,
};
use crate::error::Executed;

/// A window that a test waits out.
const WINDOW: Duration = Duration::from_millis(500);

/// Answers each POST with a stream that ends after an event with an id, and the n-th GET by `resume`.
async fn broken_stream(
    resume: impl Fn(usize, &Received) -> Answer + Send + Sync + 'static,
) -> Fixture {
    broken_stream_within(TEST_LIMIT, resume).await
}

async fn broken_stream_within(
    resume_window: Duration,
    resume: impl Fn(usize, &Received) -> Answer + Send + Sync + 'static,
) -> Fixture {
    let resumes = AtomicUsize::new(0);
    let server = TestServer::start(move |received| match received.method {
        Method::GET => resume(resumes.fetch_add(1, Ordering::SeqCst), received),
        _ => events("id: 7\nretry: 60\ndata:\n\n"),
    });
    Fixture::with(server.await, |options| {
        options.resume_window = resume_window
    })
}

#[tokio::test]
async fn the_reply_comes_on_the_continued_stream() {
    let fixture = broken_stream(|_, _| events(format!("id: 8\ndata: {}\n\n", reply(1)))).await;
    let started = Instant::now();
    fixture.call(1).await.unwrap();
    assert!(
        started.elapsed() >= Duration::from_millis(60),
        "the pause that the server asked for"
    );
    let resumes = fixture.server.received(&Method::GET);
    assert_eq!(resumes.len(), 1);
    assert_eq!(resumes[0].header("last-event-id"), Some("7"));
    assert_eq!(resumes[0].header("accept"), Some("text/event-stream"));
    assert_eq!(fixture.recorder.messages(), [reply(1)]);
}

#[tokio::test]
async fn a_stream_may_break_again_and_the_newest_id_counts() {
    let fixture = broken_stream(|count, _| match count {
        0 => events("id: 8\ndata: {\"method\":\"x\"}\n\nid: 9\ndata: {\"never\":"),
        1 => respond(503, &[], ""),
        _ => events(format!("data: {}\n\n", reply(1))),
    })
    .await;
    fixture.call(1).await.unwrap();
    let ids: Vec<_> = fixture
        .server
        .received(&Method::GET)
        .iter()
        .map(|get| get.header("last-event-id").unwrap().to_owned())
        .collect();
    assert_eq!(
        ids,
        ["7", "8", "8"],
        "the id of an unfinished event does not count"
    );
    assert_eq!(
        fixture.recorder.messages(),
        [r#"{"method":"x"}"#.to_owned(), reply(1)]
    );
}

#[tokio::test]
async fn a_connection_that_breaks_is_resumed_like_a_stream_that_ends() {
    let (sender, answer) = open_events();
    let answer = std::sync::Mutex::new(Some(answer));
    let server = TestServer::start(move |received| match received.method {
        Method::GET => events(format!("data: {}\n\n", reply(1))),
        _ => answer.lock().unwrap().take().unwrap(),
    });
    let fixture = Fixture::new(server.await);
    let breaking = async {
        let event = "id: 7\nretry: 1\ndata: {\"method\":\"x\"}\n\n";
        sender.send(Ok(event.into())).await.unwrap();
        fixture.recorder.wait_until(|seen| seen.len() == 1).await;
        sender
            .send(Err(std::io::ErrorKind::ConnectionReset.into()))
            .await
            .unwrap();
    };
    let (outcome, ()) = tokio::join!(fixture.call(1), breaking);
    outcome.unwrap();
}

#[tokio::test]
async fn a_refused_resume_fails_the_request_at_once() {
    let cases: [(MakeAnswer, &str); 4] = [
        (|| respond(405, &[], ""), "resume refused with HTTP 405"),
        (
            || respond(404, &[], "session not found"),
            "resume refused with HTTP 404",
        ),
        (|| json("{}"), "resume refused with HTTP 200"),
        (
            || respond(307, &[("location", "http://localhost:1/")], ""),
            "redirected to http://localhost:1",
        ),
    ];
    for (answer, expected) in cases {
        let fixture = broken_stream(move |_, _| answer()).await;
        let failure = fixture.call(1).await.unwrap_err();
        assert!(
            matches!(&failure, RequestFailure::StreamEnded { reason } if reason.contains(expected)),
            "{failure}"
        );
        assert_eq!(
            failure.executed(),
            Executed::Unknown,
            "whatever the resume says, the request was sent"
        );
        assert_eq!(fixture.server.received(&Method::GET).len(), 1);
    }
}

#[tokio::test]
async fn a_resume_that_brings_nothing_ends_with_the_window_and_is_never_hot() {
    let answers: [MakeAnswer; 3] = [
        || respond(503, &[], ""),
        || events(""),
        || events("retry: 0\n\n: nothing\n\n"),
    ];
    for answer in answers {
        let fixture = broken_stream_within(WINDOW, move |_, _| answer()).await;
        let failure = fixture.call(1).await.unwrap_err();
        assert!(
            matches!(failure, RequestFailure::StreamEnded { .. }),
            "{failure}"
        );
        let resumes = fixture.server.received(&Method::GET).len();
        assert!(
            (1..=10).contains(&resumes),
            "{resumes} in half a second, at least 50 ms apart"
        );
    }
}

#[tokio::test]
async fn a_resume_that_is_never_answered_ends_too() {
    let fixture = broken_stream_within(WINDOW, |_, _| Answer::Hang).await;
    let failure = fixture.call(1).await.unwrap_err();
    assert_eq!(
        failure.to_string(),
        "the response ended before the reply: end of the stream; not resumed in time: no answer"
    );
}

#[tokio::test]
async fn without_an_event_id_there_is_nothing_to_resume() {
    let fixture = Fixture::new(TestServer::start(|_| events("data: {\"method\":\"x\"}\n\n")).await);
    assert!(matches!(
        fixture.call(1).await,
        Err(RequestFailure::StreamEnded { .. })
    ));
    assert!(fixture.server.received(&Method::GET).is_empty());
}
