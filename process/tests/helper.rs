//! Helper commands give their output or a clear error, in bounded time, and leave nothing.
#![cfg(target_os = "linux")]

mod support;

use std::time::Duration;

use mcp_resident_process::{Exit, Helper, HelperError, HelperOutput, SpawnError};
use support::*;

const MAX_OUTPUT_BYTES: usize = 64 * 1024;

fn helper(command: &str) -> Helper {
    Helper {
        command: command.into(),
        environment: vec![("PATH".into(), search_path())],
        directory: std::env::temp_dir(),
        timeout: LIMIT,
        max_output_bytes: MAX_OUTPUT_BYTES,
    }
}

async fn run(helper: Helper) -> Result<HelperOutput, HelperError> {
    bounded(engine().run(helper)).await
}

async fn printed(command: &str) -> Vec<u8> {
    run(helper(command))
        .await
        .expect("the helper succeeds")
        .stdout
}

#[tokio::test]
async fn output_comes_unchanged() {
    assert_eq!(printed("printf 'tok\\n'").await, b"tok\n");
    assert_eq!(printed("printf 'tok\\r\\n'").await, b"tok\r\n");
    assert_eq!(printed("printf 'a\\nb'").await, b"a\nb");
    assert_eq!(printed("true").await, b"");
    assert_eq!(
        printed("echo \"$(echo \"(nested)\")\"").await,
        b"(nested)\n"
    );
    assert_eq!(
        printed(&format!("head -c {MAX_OUTPUT_BYTES} /dev/zero"))
            .await
            .len(),
        MAX_OUTPUT_BYTES
    );
}

#[tokio::test]
async fn input_is_empty() {
    assert_eq!(printed("cat; echo end").await, b"end\n");
}

#[tokio::test]
async fn too_much_output_ends_the_run() {
    for command in [
        "head -c 1048576 /dev/zero; exec sleep 1000",
        "trap '' TERM; yes",
    ] {
        let error = run(helper(command)).await.expect_err("it prints too much");
        assert_eq!(
            error.to_string(),
            "the command printed more than 65536 bytes; print only the value"
        );
    }
}

#[tokio::test]
async fn a_failure_names_the_exit_and_no_output() {
    let error = run(helper("echo canary; echo canary >&2; exit 3"))
        .await
        .expect_err("it fails");
    assert!(matches!(error, HelperError::Failed(Exit::Code(3))));
    assert!(!format!("{error} {error:?}").contains("canary"));
    let error = run(helper("kill -9 $$")).await.expect_err("it is killed");
    assert!(matches!(error, HelperError::Failed(Exit::Signal(9))));
}

#[tokio::test]
async fn a_timeout_ends_the_whole_group() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut slow = helper("trap '' TERM; (echo $$ >id; exec sleep 1000) & wait");
    slow.directory = directory.path().to_owned();
    slow.timeout = Duration::from_millis(300);
    let error = run(slow).await.expect_err("it takes too long");
    assert!(matches!(error, HelperError::TimedOut(_)));
    let id = std::fs::read_to_string(directory.path().join("id")).unwrap_or_default();
    if let Ok(id) = id.trim().parse() {
        assert!(stat(id).is_none());
    }
}

#[tokio::test]
async fn what_stays_in_the_background_is_killed_and_delays_nothing() {
    let output = printed("sleep 1000 & echo $!").await;
    let background = String::from_utf8_lossy(&output)
        .trim()
        .parse()
        .expect("an id");
    assert!(!runs(background));
}

#[tokio::test]
async fn a_helper_that_cannot_start_says_why() {
    let mut lost = helper("canary");
    lost.directory = "/does/not/exist".into();
    let error = run(lost).await.expect_err("there is no directory");
    assert!(matches!(
        error,
        HelperError::NotStarted(SpawnError::DirectoryMissing(_))
    ));
    assert!(!format!("{error} {error:?}").contains("canary"));
}

#[tokio::test]
async fn a_dropped_run_is_killed() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut slow = helper("echo $$ >id.new; mv id.new id; exec sleep 1000");
    slow.directory = directory.path().to_owned();
    let file = directory.path().join("id");
    let engine = engine();
    let run = tokio::spawn({
        let engine = engine.clone();
        async move { engine.run(slow).await }
    });
    eventually("the helper runs", || file.exists()).await;
    let id: u32 = std::fs::read_to_string(&file)
        .expect("readable")
        .trim()
        .parse()
        .expect("an id");
    run.abort();
    eventually("the helper is killed and collected", || stat(id).is_none()).await;
}
