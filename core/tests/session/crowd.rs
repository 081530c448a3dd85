//! Many sessions side by side.

use futures_util::future::join_all;
use mcp_resident_fixtures::hub::Hub;
use serde_json::{Map, Value, json};

use super::{Files, ProjectTrust, bounded, call, exchange, fake, open_session};

const SESSIONS: usize = 10;
const SERVERS: usize = 10;

#[tokio::test]
async fn ten_sessions_of_ten_servers_are_a_hundred_processes_and_then_none() {
    let hub = Hub::start().await.unwrap();
    let files = Files::new();
    let names: Vec<String> = (0..SERVERS).map(|number| format!("s{number}")).collect();
    let small = json!({"tools": [{"name": "pid", "inputSchema": {"type": "object"}}]});
    let entries: Map<String, Value> = names
        .iter()
        .map(|name| (name.clone(), fake(&hub, name, small.clone(), json!({}))))
        .collect();
    files.user(Value::Object(entries));
    let opening = (0..SESSIONS).map(|_| open_session(files.options(ProjectTrust::All)));
    let sessions: Vec<_> = bounded(join_all(opening)).await;
    let sessions: Vec<_> = sessions.into_iter().map(Result::unwrap).collect();
    for session in &sessions {
        assert_eq!(exchange(session).await.tools().len(), SERVERS);
    }
    let alive = || {
        let pids = names.iter().flat_map(|name| hub.pids(name));
        pids.filter(|pid| hub.alive(*pid)).count()
    };
    assert_eq!(alive(), SESSIONS * SERVERS);
    // No two of them share a server.
    let mut pids = Vec::new();
    for session in &sessions {
        pids.push(
            call(&exchange(session).await, "mcp__s0__pid", json!({}))
                .await
                .output,
        );
    }
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), SESSIONS);
    bounded(join_all(sessions.iter().map(|session| session.close()))).await;
    assert_eq!(alive(), 0);
}
