//! The listening stream, and the end of a session.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use http::{HeaderValue, Method};

use super::{
    super::super::{
        inbound::{Origin, TransportNote},
        testing::{
            Answer, MakeAnswer, Received, Seen, TEST_LIMIT, TestServer, events, json, open_events,
            respond,
        },
    },
    Fixture, bounded, id_of, reply, request,
};

/// A link with session S1 to a server that answers the n-th GET or DELETE by `script`, and every call.
async fn session(script: impl Fn(usize, &Received) -> Answer + Send + Sync + 'static) -> Fixture {
    session_with_delete_timeout(TEST_LIMIT, script).await
}

async fn session_with_delete_timeout(
    delete_timeout: Duration,
    script: impl Fn(usize, &Received) -> Answer + Send + Sync + 'static,
) -> Fixture {
    let count = AtomicUsize::new(0);
    let server = TestServer::start(move |received| match received.method {
        Method::POST => {
            let headers = [
                ("content-type", "application/json"),
                ("mcp-session-id", "S1"),
            ];
            respond(200, &headers, reply(id_of(&received.body)))
        }
        _ => script(count.fetch_add(1, Ordering::SeqCst), received),
    });
    let fixture = Fixture::with(server.await, |options| {
        options.max_message_bytes = 1000;
        options.listen_backoff_base = Duration::from_millis(2);
        options.listen_backoff_cap = Duration::from_millis(20);
        options.delete_timeout = delete_timeout;
    });
    bounded(fixture.link.initialize(&0.into(), request(0)))
        .await
        .unwrap();
    fixture
        .link
        .set_protocol_version(HeaderValue::from_static("2025-11-25"));
    fixture
}

fn notes(seen: &[Seen]) -> Vec<TransportNote> {
    let note = |seen: &Seen| match seen {
        Seen::Note(note) => Some(note.clone()),
        _ => None,
    };
    seen.iter().filter_map(note).collect()
}

#[tokio::test]
async fn a_server_without_a_listening_stream_is_asked_once() {
    let cases: [(MakeAnswer, &str); 9] = [
        (|| respond(405, &[("allow", "POST")], ""), "HTTP 405"),
        (|| respond(404, &[], ""), "HTTP 404"),
        (|| respond(400, &[], "no session"), "HTTP 400"),
        (
            || respond(401, &[("www-authenticate", "Bearer")], ""),
            "HTTP 401",
        ),
        (|| respond(501, &[], ""), "HTTP 501"),
        (|| respond(204, &[], ""), "HTTP 204 without an event stream"),
        (|| json("{}"), "HTTP 200 without an event stream"),
        (
            || respond(200, &[("content-type", "text/html")], "<p>hi</p>"),
            "HTTP 200 without an event stream",
        ),
        (
            || respond(307, &[("location", "http://localhost:1/")], ""),
            "redirected to http://localhost:1 with HTTP 307, which is not followed: it leaves the origin of the configured URL",
        ),
    ];
    for (answer, reason) in cases {
        let fixture = session(move |_, _| answer()).await;
        fixture.link.listen();
        fixture.link.listen();
        let seen = fixture
            .recorder
            .wait_until(|seen| !notes(seen).is_empty())
            .await;
        assert_eq!(
            notes(&seen),
            [TransportNote::ListeningRefused {
                reason: reason.to_owned()
            }]
        );
        fixture.call(1).await.unwrap();
        assert_eq!(fixture.server.received(&Method::GET).len(), 1);
    }
}

#[tokio::test]
async fn calls_do_not_wait_for_a_get_without_an_answer() {
    let fixture = session(|_, _| Answer::Hang).await;
    fixture.link.listen();
    fixture.server.wait_for(Method::GET, 1).await;
    fixture.call(1).await.unwrap();
}

#[tokio::test]
async fn what_the_server_says_unasked_arrives_and_a_gap_is_announced() {
    let (first, first_answer) = open_events();
    let (second, second_answer) = open_events();
    let answers = Mutex::new(vec![second_answer, respond(409, &[], ""), first_answer]);
    let fixture = session(move |_, _| answers.lock().unwrap().pop().unwrap()).await;
    fixture.link.listen();
    let message = "data: {\"method\":\"notifications/tools/list_changed\"}\n\n";
    first
        .send(Ok(format!(
            "id: 5\nretry: 3\ndata:\n\n{message}data: noise\n\n"
        )
        .into()))
        .await
        .unwrap();
    fixture
        .recorder
        .wait_until(|seen| notes(seen).len() == 1)
        .await;
    drop(first);
    second.send(Ok(message.into())).await.unwrap();
    let seen = fixture
        .recorder
        .wait_until(|seen| {
            seen.iter()
                .filter(|seen| matches!(seen, Seen::Message(_, Origin::Shared)))
                .count()
                == 2
        })
        .await;
    let arrived = Seen::Message(
        r#"{"method":"notifications/tools/list_changed"}"#.to_owned(),
        Origin::Shared,
    );
    let [
        reply,
        listening,
        message,
        noise,
        Seen::Note(TransportNote::ListeningLost { reason, .. }),
        again,
        after,
    ] = &seen[..]
    else {
        panic!("{seen:?}");
    };
    assert!(matches!(reply, Seen::Message(_, Origin::Request(_))));
    assert_eq!((listening, again), (&Seen::Listening, &Seen::Listening));
    assert_eq!((message, after), (&arrived, &arrived));
    assert!(matches!(noise, Seen::Note(TransportNote::Skipped { .. })));
    assert_eq!(reason, "end of the stream");
    let gets = fixture.server.received(&Method::GET);
    let headers = |get: &Received, name: &str| get.header(name).map(str::to_owned);
    assert_eq!(headers(&gets[0], "last-event-id"), None);
    assert_eq!(headers(&gets[2], "last-event-id"), Some("5".to_owned()));
    for get in &gets {
        assert_eq!(headers(get, "mcp-session-id"), Some("S1".to_owned()));
        assert_eq!(
            headers(get, "mcp-protocol-version"),
            Some("2025-11-25".to_owned())
        );
        assert_eq!(headers(get, "accept"), Some("text/event-stream".to_owned()));
    }
}

#[tokio::test]
async fn an_outage_is_reported_once() {
    let fixture = session(|count, _| match count {
        0 => events(""),
        _ => respond(503, &[], ""),
    })
    .await;
    fixture.link.listen();
    fixture.server.wait_for(Method::GET, 5).await;
    assert_eq!(notes(&fixture.recorder.seen()).len(), 1);
}

#[tokio::test]
async fn a_session_that_is_lost_while_listening_is_told_to_the_caller() {
    for (status, body) in [
        (404, ""),
        (400, "Bad Request: No valid session ID provided"),
    ] {
        let fixture = session(move |count, _| match count {
            0 => events("id: 1\ndata:\n\n"),
            _ => respond(status, &[], body),
        })
        .await;
        fixture.link.listen();
        let seen = fixture
            .recorder
            .wait_until(|seen| notes(seen).len() == 2)
            .await;
        assert_eq!(notes(&seen)[1], TransportNote::SessionUnknown { status });
        fixture.call(1).await.unwrap();
        assert_eq!(fixture.server.received(&Method::GET).len(), 2);
    }
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_not_asked_for_again() {
    let large = format!(
        "id: 1\ndata:\n\ndata: {{\"x\":\"{}\"}}\n\n",
        "x".repeat(1000)
    );
    let fixture = session(move |count, _| match count {
        0 => events(large.clone()),
        _ => open_events().1,
    })
    .await;
    fixture.link.listen();
    let gets = fixture.server.wait_for(Method::GET, 2).await;
    assert_eq!(gets[1].header("last-event-id"), None);
}

#[tokio::test]
async fn a_session_is_ended_once() {
    let cases: [(u16, Option<&str>); 8] = [
        (200, None),
        (202, None),
        (204, None),
        (404, None),
        (405, None),
        (501, None),
        (401, Some("HTTP 401")),
        (500, Some("HTTP 500")),
    ];
    for (status, reason) in cases {
        let fixture = session(move |_, _| respond(status, &[], "")).await;
        bounded(fixture.link.close()).await;
        bounded(fixture.link.close()).await;
        let expected: Vec<_> = reason
            .map(|reason| TransportNote::SessionNotEnded {
                reason: reason.to_owned(),
            })
            .into_iter()
            .collect();
        assert_eq!(notes(&fixture.recorder.seen()), expected, "{status}");
        let deletes = fixture.server.received(&Method::DELETE);
        assert_eq!(deletes.len(), 1);
        assert_eq!(deletes[0].header("mcp-session-id"), Some("S1"));
        assert_eq!(
            deletes[0].header("mcp-protocol-version"),
            Some("2025-11-25")
        );
    }
}

#[tokio::test]
async fn close_is_bounded_and_stops_listening() {
    let (sender, answer) = open_events();
    let answer = Mutex::new(Some(answer));
    let fixture =
        session_with_delete_timeout(Duration::from_millis(50), move |_, received| match received
            .method
        {
            Method::GET => answer.lock().unwrap().take().unwrap(),
            _ => Answer::Hang,
        })
        .await;
    fixture.link.listen();
    fixture
        .recorder
        .wait_until(|seen| seen.contains(&Seen::Listening))
        .await;
    let started = Instant::now();
    bounded(fixture.link.close()).await;
    assert!(started.elapsed() < Duration::from_secs(5));
    bounded(sender.closed()).await;
    let expected = TransportNote::SessionNotEnded {
        reason: "no answer within 50 ms".to_owned(),
    };
    assert_eq!(notes(&fixture.recorder.seen()), [expected]);
    fixture.link.listen();
    assert_eq!(
        fixture.server.received(&Method::GET).len(),
        1,
        "a closed link listens no more"
    );
}

#[tokio::test]
async fn without_a_session_nothing_is_deleted() {
    let fixture = Fixture::new(TestServer::start(|_| json(reply(1))).await);
    fixture.call(1).await.unwrap();
    bounded(fixture.link.close()).await;
    assert!(fixture.server.received(&Method::DELETE).is_empty());
}

#[tokio::test]
async fn a_dropped_link_stops_listening() {
    let (sender, answer) = open_events();
    let answer = Mutex::new(Some(answer));
    let fixture = session(move |_, _| answer.lock().unwrap().take().unwrap()).await;
    fixture.link.listen();
    fixture
        .recorder
        .wait_until(|seen| seen.contains(&Seen::Listening))
        .await;
    let Fixture {
        link,
        server: _server,
        ..
    } = fixture;
    drop(link);
    bounded(sender.closed()).await;
}
