//! Sessions, headers, notifications and redirects.

use http::{HeaderValue, Method, StatusCode};

use super::{
    super::{
        super::testing::{Answer, Received, TestServer, json, respond},
        RequestFailure,
    },
    Fixture, bounded, id_of, reply, request,
};
use crate::error::Executed;

/// Answers request 0 as `initialize` with a session, and the others by `answer`.
async fn with_session(answer: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Fixture {
    let server = TestServer::start(move |received| match received.body.contains("\"id\":0") {
        true => respond(
            200,
            &[
                ("content-type", "application/json"),
                ("mcp-session-id", "S1"),
            ],
            reply(0),
        ),
        false => answer(received),
    });
    let fixture = Fixture::with(server.await, |options| {
        options
            .headers
            .insert("x-custom", HeaderValue::from_static("kept"));
        options
            .headers
            .insert("accept", HeaderValue::from_static("text/html"));
        options
            .headers
            .insert("mcp-session-id", HeaderValue::from_static("forged"));
    });
    bounded(fixture.link.initialize(&0.into(), request(0)))
        .await
        .unwrap();
    fixture
        .link
        .set_protocol_version(HeaderValue::from_static("2025-11-25"));
    fixture
}

#[tokio::test]
async fn session_and_version_are_sent_after_initialize() {
    let fixture = with_session(|_| {
        respond(
            200,
            &[
                ("content-type", "application/json"),
                ("mcp-session-id", "S2"),
            ],
            reply(1),
        )
    })
    .await;
    fixture.call(1).await.unwrap();
    fixture.call(1).await.unwrap();
    assert_eq!(
        fixture.link.session().unwrap(),
        "S1",
        "only initialize names the session"
    );
    let requests = fixture.server.received(&Method::POST);
    let headers = |request: &Received| {
        [
            "mcp-session-id",
            "mcp-protocol-version",
            "x-custom",
            "accept",
            "content-type",
        ]
        .map(|name| request.header(name).unwrap_or("-").to_owned())
    };
    let accept = "application/json, text/event-stream";
    assert_eq!(
        headers(&requests[0]),
        ["-", "-", "kept", accept, "application/json"]
    );
    assert_eq!(
        headers(&requests[2]),
        ["S1", "2025-11-25", "kept", accept, "application/json"]
    );
    assert!(
        !format!("{:?}", fixture.link.session()).contains("S1"),
        "a session id is a secret"
    );
}

#[tokio::test]
async fn an_unknown_session_is_told_apart_from_everything_else() {
    let unknown = [
        (404, "gone"),
        (
            404,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#,
        ),
        (
            404,
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}"#,
        ),
        (404, r#"{"error":{"code":-32003,"message":"whatever"}}"#),
        (
            404,
            r#"{"id":null,"error":{"code":-32601,"message":"whatever"}}"#,
        ),
        (
            400,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#,
        ),
        (
            400,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}"#,
        ),
        (400, "Invalid session ID"),
    ];
    for (status, body) in unknown {
        let fixture = with_session(move |_| respond(status, &[], body)).await;
        let failure = fixture.call(1).await.unwrap_err();
        assert!(
            matches!(failure, RequestFailure::SessionUnknown { .. }),
            "{status} {body}: {failure:?}"
        );
        assert_eq!(failure.executed(), Executed::No);
    }
    let known = [
        (
            404,
            r#"{"id":1,"error":{"code":-32601,"message":"method not found"}}"#,
        ),
        (
            400,
            r#"{"id":1,"error":{"code":-32602,"message":"browser session not found"}}"#,
        ),
        (
            400,
            r#"{"id":null,"error":{"code":404,"message":"not found"}}"#,
        ),
        (
            200,
            r#"{"id":1,"error":{"code":404,"message":"session not found"}}"#,
        ),
    ];
    for (status, body) in known {
        let fixture =
            with_session(move |_| respond(status, &[("content-type", "application/json")], body))
                .await;
        assert_eq!(
            fixture.call(1).await.map(|status| status.as_u16()),
            Ok(status),
            "{body}"
        );
    }
}

#[tokio::test]
async fn without_a_session_404_means_that_nothing_is_there() {
    let fixture = Fixture::new(TestServer::start(|_| respond(404, &[], "gone")).await);
    let expected = RequestFailure::NoEndpoint {
        status: StatusCode::NOT_FOUND,
    };
    assert_eq!(fixture.call(1).await, Err(expected));
}

#[tokio::test]
async fn any_success_ends_a_notification() {
    let cases: [(u16, &str, &str); 8] = [
        (202, "", ""),
        (202, "text/plain; charset=utf-8", "Accepted"),
        (202, "text/event-stream", ""),
        (202, "application/json", ""),
        (200, "application/json", "null"),
        (200, "application/json", "{}"),
        (204, "", ""),
        (200, "text/event-stream", ": hi\n\n"),
    ];
    for (status, media_type, body) in cases {
        let fixture =
            with_session(move |_| respond(status, &[("content-type", media_type)], body)).await;
        bounded(fixture.link.notify("{}".into())).await.unwrap();
        assert_eq!(fixture.recorder.messages(), [reply(0)]);
    }
}

#[tokio::test]
async fn a_notification_that_is_not_taken_says_why() {
    for (status, expected) in [
        (404, "the server no longer knows the session (HTTP 404)"),
        (500, "the server answered HTTP 500: \"x\""),
    ] {
        let fixture = with_session(move |_| respond(status, &[], "x")).await;
        let failure = bounded(fixture.link.notify("{}".into())).await.unwrap_err();
        assert_eq!(failure.to_string(), expected);
    }
}

#[tokio::test]
async fn redirects_are_followed_only_within_the_origin_and_unchanged() {
    let cases: [(u16, &str, Option<&str>); 6] = [
        (307, "/target", None),
        (308, "/target", None),
        (
            302,
            "/target",
            Some("only 307 and 308 keep the request as it is"),
        ),
        (
            303,
            "/target",
            Some("only 307 and 308 keep the request as it is"),
        ),
        (
            307,
            "http://localhost:1/x?token=canary",
            Some("it leaves the origin of the configured URL"),
        ),
        (307, "/mcp", Some("too many redirects")),
    ];
    for (status, location, refused) in cases {
        let server = TestServer::start(move |received| match received.path.as_str() {
            "/target" => json(reply(id_of(&received.body))),
            _ => respond(status, &[("location", location)], ""),
        });
        let fixture = Fixture::with(server.await, |options| {
            options
                .headers
                .insert("x-custom", HeaderValue::from_static("kept"));
        });
        let outcome = fixture.call(1).await;
        let requests = fixture.server.journal();
        let Some(reason) = refused else {
            outcome.unwrap();
            assert_eq!(
                (requests.len(), requests[1].header("x-custom")),
                (2, Some("kept"))
            );
            continue;
        };
        let failure = outcome.unwrap_err();
        assert!(
            matches!(&failure, RequestFailure::Redirected { reason: found, .. } if *found == reason),
            "{failure:?}"
        );
        assert_eq!(failure.executed(), Executed::No);
        assert!(!failure.to_string().contains("canary"));
        assert!(requests.len() <= 6, "{} requests", requests.len());
        if location.contains("localhost") {
            assert!(
                failure.to_string().contains("http://localhost:1 "),
                "{failure}"
            );
        }
    }
}

#[tokio::test]
async fn credentials_in_the_url_become_a_header() {
    let fixture = Fixture::with(TestServer::start(|_| json(reply(1))).await, |options| {
        options.url.set_username("user").unwrap();
        options.url.set_password(Some("pass")).unwrap();
    });
    fixture.call(1).await.unwrap();
    assert_eq!(
        fixture.server.journal()[0].header("authorization"),
        Some("Basic dXNlcjpwYXNz")
    );
}
