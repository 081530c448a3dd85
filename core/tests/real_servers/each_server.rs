//! Each server over stdio: listed, called, killed, called again, closed.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use mcp_resident::{AutoRestart, LoadOptions, State};
use serde_json::{Map, Value, json};

use crate::installed::{NodeServers, PythonServers};
use crate::loaded::Loaded;
use crate::processes;

struct Case {
    server: &'static str,
    entry: Value,
    /// How many tools this version lists.
    tools: usize,
    call: (&'static str, Value),
    /// A part of the right answer.
    answer: &'static str,
}

async fn all_survive_a_kill(cases: Vec<Case>) {
    let entries: Map<String, Value> = cases
        .iter()
        .map(|case| (case.server.to_owned(), case.entry.clone()))
        .collect();
    let mut options = LoadOptions::default();
    options.auto_restart = Some(AutoRestart::On {
        max_retries: Some(5),
        backoff: Some(Duration::from_millis(10)),
    });
    let mut loaded = Loaded::load(entries.into(), options).await;

    for case in &cases {
        let listed = loaded.source.tools();
        let count = listed.iter().filter(|t| t.server() == case.server).count();
        assert_eq!(count, case.tools, "{}", case.server);
        case.expect_answer(&loaded).await;
    }
    for case in &cases {
        processes::kill(loaded.leader(case.server));
        loaded.changed_to(case.server, State::Error).await;
        // The call waits for the attempt that follows by itself.
        case.expect_answer(&loaded).await;
        assert_eq!(loaded.source.info(case.server).unwrap().restarts, 1);
    }
    loaded.close().await;
}

impl Case {
    async fn expect_answer(&self, loaded: &Loaded) {
        let (tool, arguments) = &self.call;
        let answer = loaded.answer(self.server, tool, arguments.clone()).await;
        assert!(answer.contains(self.answer), "{}: {answer}", self.server);
    }
}

#[tokio::test]
async fn servers_on_node() {
    let Some(node) = NodeServers::find("each server on Node") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    // The filesystem server compares real paths.
    let folder = folder.path().canonicalize().unwrap();
    std::fs::write(folder.join("note.txt"), "kept on disk").unwrap();
    all_survive_a_kill(vec![
        Case {
            server: "everything",
            entry: json!({ "command": node.program("mcp-server-everything") }),
            tools: 13,
            call: ("get-sum", json!({ "a": 2, "b": 40 })),
            answer: "The sum of 2 and 40 is 42.",
        },
        Case {
            server: "filesystem",
            entry: json!({
                "command": node.program("mcp-server-filesystem"),
                "args": [folder],
            }),
            tools: 14,
            call: ("read_text_file", json!({ "path": folder.join("note.txt") })),
            answer: "kept on disk",
        },
        Case {
            server: "memory",
            entry: json!({
                "command": node.program("mcp-server-memory"),
                "env": { "MEMORY_FILE_PATH": folder.join("memory.jsonl") },
            }),
            tools: 9,
            call: ("read_graph", json!({})),
            answer: r#"{"entities":[],"relations":[]}"#,
        },
    ])
    .await;
}

#[tokio::test]
async fn servers_on_python() {
    let Some(python) = PythonServers::find("each server on Python") else {
        return;
    };
    let repository = tempfile::tempdir().unwrap();
    make_repository(repository.path());
    all_survive_a_kill(vec![
        Case {
            server: "time",
            entry: json!({ "command": python.program("mcp-server-time") }),
            tools: 2,
            call: (
                "convert_time",
                json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" }),
            ),
            answer: "T21:00:00+09:00",
        },
        Case {
            server: "git",
            entry: json!({ "command": python.program("mcp-server-git") }),
            tools: 12,
            call: ("git_log", json!({ "repo_path": repository.path() })),
            answer: "the first commit",
        },
    ])
    .await;
}

fn make_repository(folder: &Path) {
    let author = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    let commit = [
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "the first commit",
    ];
    for words in [vec!["init", "--quiet"], [&author[..], &commit].concat()] {
        let git = Command::new("git").current_dir(folder).args(words).status();
        assert!(git.unwrap().success());
    }
}
