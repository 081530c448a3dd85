//! Servers that cannot be reached, refuse, or are busy.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::{HeaderValue, Method};

use super::{
    super::{
        super::testing::{TestServer, json, respond},
        RequestFailure,
    },
    Fixture, bounded, reply, request,
};
use crate::error::Executed;

#[tokio::test]
async fn a_refused_connection_was_certainly_not_executed() {
    let fixture = Fixture::new(TestServer::start(|_| json("")).await);
    let Fixture { server, link, .. } = fixture;
    server.stop().await;
    let failure = bounded(link.request(&1.into(), request(1)))
        .await
        .unwrap_err();
    assert!(
        failure
            .to_string()
            .starts_with("cannot connect: Connection refused"),
        "{failure}"
    );
    assert_eq!(failure.executed(), Executed::No);
}

#[tokio::test]
async fn credentials_are_judged_once_and_never_quoted() {
    let cases = [
        (401, None, Executed::No),
        (
            401,
            Some("Bearer resource_metadata=\"http://127.0.0.1/x\""),
            Executed::No,
        ),
        (403, None, Executed::No),
        (
            403,
            Some("Bearer error=\"insufficient_scope\""),
            Executed::No,
        ),
        (418, None, Executed::Unknown),
    ];
    for (status, challenge, executed) in cases {
        let server = TestServer::start(move |_| {
            let headers: Vec<_> = challenge
                .map(|challenge| ("www-authenticate", challenge))
                .into_iter()
                .collect();
            respond(status, &headers, "denied: canary-secret")
        });
        let fixture = Fixture::with(server.await, |options| {
            options.headers.insert(
                "authorization",
                HeaderValue::from_static("Bearer canary-secret"),
            );
        });
        let failure = fixture.call(1).await.unwrap_err();
        let found = match &failure {
            RequestFailure::Unauthorized { challenge, .. }
            | RequestFailure::Forbidden { challenge, .. } => challenge.as_deref(),
            _ => None,
        };
        assert_eq!(found, challenge);
        assert_eq!(failure.executed(), executed);
        assert!(
            !format!("{failure} {failure:?}").contains("canary"),
            "{failure:?}"
        );
        let requests = fixture.server.received(&Method::POST);
        assert_eq!(requests.len(), 1);
        assert_eq!(
            requests[0].header("authorization"),
            Some("Bearer canary-secret")
        );
    }
}

#[tokio::test]
async fn a_busy_server_is_asked_again_when_it_says_when() {
    let asked = AtomicUsize::new(0);
    let server = TestServer::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => respond(429, &[("retry-after", "0")], "busy"),
        1 => respond(503, &[("retry-after", "0")], "busy"),
        _ => json(reply(1)),
    });
    let fixture = Fixture::new(server.await);
    fixture.call(1).await.unwrap();
    assert_eq!(fixture.server.journal().len(), 3);
}

#[tokio::test]
async fn patience_with_a_busy_server_ends() {
    let fixture =
        Fixture::new(TestServer::start(|_| respond(503, &[("retry-after", "600")], "busy")).await);
    let failure = fixture.call(1).await.unwrap_err();
    assert!(
        matches!(failure, RequestFailure::Status { retry_after: Some(after), .. } if after.as_secs() == 600)
    );
    assert_eq!(failure.executed(), Executed::No);
    assert_eq!(fixture.server.journal().len(), 1);
}
