//! Sessions with real processes: what the files say, what a model is shown, and what happens to servers from one exchange to
//! the next.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

#[path = "../adversity/census.rs"]
mod census;
mod crowd;
mod exchanges;
mod files;
mod http;
mod shown;
mod storm;
#[path = "../support/storm.rs"]
mod storm_support;
#[path = "../support/mod.rs"]
mod support;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp_resident::{
    CallContext, Exchange, LimitOverrides, ProjectTrust, Session, SessionOptions, ToolResult,
    open_session,
};
use mcp_resident_fixtures::hub::Hub;
use serde_json::{Map, Value, json};
use support::bounded;
use tempfile::TempDir;

/// A user's file and a project's, in a directory of their own.
struct Files {
    directory: TempDir,
}

impl Files {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn user(&self, servers: Value) {
        self.write("user.json", &json!({ "mcpServers": servers }).to_string());
    }

    fn project(&self, servers: Value) {
        self.write(
            "project.json",
            &json!({ "mcpServers": servers }).to_string(),
        );
    }

    fn options(&self, trust: ProjectTrust) -> SessionOptions {
        let mut options = SessionOptions::new(self.directory.path(), trust);
        options.user_config = Some(self.path("user.json"));
        options.project_config = Some(self.path("project.json"));
        options
    }

    async fn open(&self) -> Session {
        bounded(open_session(self.options(ProjectTrust::All)))
            .await
            .unwrap()
    }
}

/// A session with some options of its own.
async fn open_with(files: &Files, choose: impl FnOnce(&mut SessionOptions)) -> Session {
    let mut options = files.options(ProjectTrust::All);
    choose(&mut options);
    bounded(open_session(options)).await.unwrap()
}

/// The entry of a fake, with further keys.
fn fake(hub: &Hub, server: &str, script: Value, keys: Value) -> Value {
    support::entry(hub, server, script, keys)
}

/// Entries by name.
fn servers<const COUNT: usize>(entries: [(&str, Value); COUNT]) -> Value {
    let entries = entries
        .into_iter()
        .map(|(name, entry)| (name.to_owned(), entry));
    Value::Object(entries.collect::<Map<_, _>>())
}

fn names(exchange: &Exchange) -> Vec<&str> {
    exchange.tools().iter().map(|tool| tool.name()).collect()
}

async fn exchange(session: &Session) -> Exchange {
    bounded(session.exchange()).await.unwrap()
}

async fn call(exchange: &Exchange, tool: &str, arguments: Value) -> ToolResult {
    let tool = Arc::clone(exchange.tool(tool).unwrap_or_else(|| panic!("no {tool}")));
    bounded(tool.execute(arguments, CallContext::default())).await
}

/// Exchanges until one is as wanted: what is done in the background has no other end that can be waited for.
async fn exchange_until(session: &Session, wanted: impl Fn(&Exchange) -> bool) -> Exchange {
    bounded(async {
        loop {
            let exchange = session.exchange().await.unwrap();
            if wanted(&exchange) {
                return exchange;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

/// Graces that a stubborn server uses up, each.
fn graces(each: Duration) -> LimitOverrides {
    let mut limits = LimitOverrides::default();
    limits.close_stdin_grace = Some(each);
    limits.close_term_grace = Some(each);
    limits
}
