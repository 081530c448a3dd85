//! Where the servers of a session come from.

use std::sync::{Arc, Mutex};

use mcp_resident::{ProjectTrust, Status, open_session};
use serde_json::json;

use super::{Files, bounded, call, exchange, exchange_until, fake, names, servers};
use mcp_resident_fixtures::hub::Hub;

#[tokio::test]
async fn the_projects_file_lies_over_the_users_and_each_entry_is_judged_alone() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    let small = json!({"tools": []});
    files.user(servers([
        (
            "kept",
            fake(
                &hub,
                "kept",
                json!({}),
                json!({"env": {"WHOSE": "the user's"}}),
            ),
        ),
        (
            "replaced",
            fake(
                &hub,
                "user",
                json!({}),
                json!({"env": {"WHOSE": "the user's"}}),
            ),
        ),
        ("quiet", fake(&hub, "quiet", json!({}), json!({}))),
        ("off", fake(&hub, "off", small.clone(), json!({}))),
        ("spoilt", fake(&hub, "spoilt", small, json!({}))),
    ]));
    files.project(servers([
        (
            "replaced",
            fake(
                &hub,
                "project",
                json!({}),
                json!({"env": {"WHICH": "the project's"}}),
            ),
        ),
        ("quiet", json!({"exposure": "hidden"})),
        ("off", json!({"enabled": false})),
        ("spoilt", json!({"command": 7})),
        ("baseless", json!({"exposure": "hidden"})),
        (
            "signed",
            json!({"url": "http://127.0.0.1:1/mcp", "oauth": {"clientId": "c"}}),
        ),
    ]));
    let session = files.open().await;
    // Hidden servers are not waited for.
    let exchange = exchange_until(&session, |e| e.tool("mcp__quiet__echo").is_some()).await;

    assert!(names(&exchange).contains(&"mcp__kept__echo"));
    let environment = call(&exchange, "mcp__replaced__env", json!({}))
        .await
        .output;
    assert!(
        environment.contains("the project's") && !environment.contains("the user's"),
        "nothing is inherited"
    );
    assert!(
        !names(&exchange)
            .iter()
            .any(|name| name.starts_with("mcp__quiet__"))
    );
    assert_eq!(
        call(&exchange, "mcp__quiet__echo", json!({"text": "hi"}))
            .await
            .output,
        "hi",
        "the host may call it"
    );

    let status = session.source().status();
    assert_eq!(status["off"], Status::Disabled);
    assert_eq!(
        status["spoilt"],
        Status::Connected,
        "the user's entry stays in force"
    );
    assert_eq!([status["baseless"], status["signed"]], [Status::Failed; 2]);
    let problems: Vec<String> = session
        .source()
        .problems()
        .iter()
        .map(ToString::to_string)
        .collect();
    for (server, part) in [
        ("baseless", "no lower layer has"),
        ("signed", "not supported yet"),
        ("spoilt", "stays in force"),
    ] {
        let told = problems
            .iter()
            .any(|problem| problem.contains(server) && problem.contains(part));
        assert!(told, "{server}: {problems:#?}");
    }
    assert!(
        hub.pids("user").is_empty(),
        "what is replaced is never started"
    );
    bounded(session.close()).await;
}

#[tokio::test]
async fn what_a_project_would_start_is_shown_and_starts_only_when_it_is_trusted() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    files.user(servers([
        ("mine", fake(&hub, "mine", json!({}), json!({}))),
        (
            "asleep",
            fake(&hub, "asleep", json!({}), json!({"enabled": false})),
        ),
    ]));
    files.project(servers([
        (
            "mine",
            fake(
                &hub,
                "theirs",
                json!({}),
                json!({"env": {"TOKEN": "s3cr3t-canary"}}),
            ),
        ),
        ("asleep", json!({"enabled": true})),
        ("good", fake(&hub, "good", json!({}), json!({}))),
    ]));
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let trust = ProjectTrust::Ask(Arc::new(move |server| {
        let mut seen = seen.lock().unwrap();
        seen.push(format!(
            "{} {} {}",
            server.name, server.launch_line, server.fingerprint
        ));
        server.name == "good"
    }));
    let session = bounded(open_session(files.options(trust))).await.unwrap();
    let exchange = exchange(&session).await;
    assert_eq!(
        call(&exchange, "mcp__mine__echo", json!({"text": "hi"}))
            .await
            .output,
        "hi"
    );
    assert_eq!(
        call(&exchange, "mcp__good__echo", json!({"text": "hi"}))
            .await
            .output,
        "hi"
    );
    assert_eq!(session.source().status()["asleep"], Status::Disabled);
    assert!(hub.pids("theirs").is_empty() && hub.pids("asleep").is_empty());
    let asked = asked.lock().unwrap().join("\n");
    assert!(
        ["mine", "asleep", "good"]
            .iter()
            .all(|name| asked.contains(&format!("{name} ")))
    );
    assert!(!asked.contains("s3cr3t-canary"), "{asked}");
    let problems = format!("{:?}", session.source().problems());
    assert!(
        problems.contains("not trusted") && !problems.contains("s3cr3t-canary"),
        "{problems}"
    );
    bounded(session.close()).await;

    // A host that asks a person later: what is not trusted is there to be shown, and is trusted by its fingerprint.
    let session = bounded(open_session(files.options(ProjectTrust::Nothing)))
        .await
        .unwrap();
    assert_eq!(session.source().servers(), ["mine", "asleep"]);
    let untrusted = session.untrusted();
    let names: Vec<&str> = untrusted
        .iter()
        .map(|server| server.name.as_str())
        .collect();
    assert_eq!(names, ["mine", "asleep", "good"]);
    let allowed = ProjectTrust::Only([untrusted[2].fingerprint.clone()].into());
    assert_eq!(
        bounded(session.trust(allowed)).await.unwrap().added,
        ["good"]
    );
    assert_eq!(session.untrusted().len(), 2);
    bounded(session.close()).await;
}

#[tokio::test]
async fn a_file_that_cannot_be_read_any_more_takes_nothing_away() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    files.user(servers([("u", fake(&hub, "u", json!({}), json!({})))]));
    files.project(servers([("p", fake(&hub, "p", json!({}), json!({})))]));
    let session = files.open().await;
    exchange(&session).await;
    files.write("project.json", "{\"mcpServers\": {\"p\": ");
    let changes = bounded(session.reload()).await.unwrap();
    assert_eq!(changes, mcp_resident::Reloaded::default());
    let problems = format!("{:?}", session.source().problems());
    assert!(
        problems.contains("project.json") && problems.contains("stay as they were"),
        "{problems}"
    );
    assert!(names(&exchange(&session).await).contains(&"mcp__p__echo"));
    std::fs::remove_file(files.path("project.json")).unwrap();
    assert_eq!(bounded(session.reload()).await.unwrap().removed, ["p"]);
    assert!(session.source().problems().is_empty());
    bounded(session.close()).await;
    assert!(!hub.alive(hub.pids("u")[0]) && !hub.alive(hub.pids("p")[0]));
}

#[tokio::test]
async fn a_secret_with_a_line_break_is_refused_by_the_name_of_its_key_alone() {
    let files = Files::new();
    files.user(servers([(
        "h",
        json!({"url": "http://127.0.0.1:1/mcp", "headers": {"X-Token": "s3cr3t-canary\nX-Other: 1"}}),
    )]));
    let session = files.open().await;
    exchange(&session).await;
    let source = session.source();
    let told = format!(
        "{session:?} {:?} {:?} {:?}",
        source.problems(),
        source.info("h"),
        source.events(0)
    );
    assert!(told.contains("X-Token"), "{told}");
    assert!(!told.contains("s3cr3t-canary"), "{told}");
    bounded(session.close()).await;
}
