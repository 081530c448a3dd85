//! Secrets from commands: one run for all who wait, kept when it works, forgotten when it fails.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use mcp_resident::config::{
    CommandFailure, CommandRunner, MAX_SECRET_BYTES, SECRET_COMMAND_TIMEOUT, SecretCommand,
    SecretCommands,
};
use tokio::time::Instant;

type Answer = Result<Vec<u8>, CommandFailure>;

/// Answers each run, after a while, with the next prepared answer; without one it never ends.
struct Prepared {
    after: Duration,
    answers: Mutex<VecDeque<Answer>>,
    runs: Mutex<Vec<String>>,
}

impl Prepared {
    fn new(answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Arc::new(Self {
            after: Duration::from_secs(1),
            answers,
            runs: Mutex::default(),
        })
    }

    fn runs(&self) -> usize {
        self.runs.lock().unwrap().len()
    }
}

#[async_trait]
impl CommandRunner for Prepared {
    async fn run(&self, command: SecretCommand) -> Answer {
        self.runs.lock().unwrap().push(command.text);
        tokio::time::sleep(self.after).await;
        let answer = self.answers.lock().unwrap().pop_front();
        match answer {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

fn command(text: &str) -> SecretCommand {
    SecretCommand::new(text, Vec::new(), PathBuf::from("/"))
}

fn printed(text: &str) -> Answer {
    Ok(text.as_bytes().to_vec())
}

async fn once(answer: Answer) -> Result<String, String> {
    let commands = SecretCommands::new(Prepared::new([answer]));
    commands
        .output(command("x"))
        .await
        .map(|secret| secret.to_string())
        .map_err(|failure| failure.to_string())
}

#[tokio::test(start_paused = true)]
async fn one_trailing_line_break_is_left_out_and_nothing_else() {
    let cases = [
        ("tok", "tok"),
        ("tok\n", "tok"),
        ("tok\r\n", "tok"),
        ("tok\n\n", "tok\n"),
        ("a\nb\n", "a\nb"),
        (" tok ", " tok "),
        ("tok\r", "tok\r"),
    ];
    for (output, secret) in cases {
        assert_eq!(
            once(printed(output)).await,
            Ok(secret.to_owned()),
            "{output:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn output_that_is_no_secret_is_an_error_without_the_output() {
    let cases = [
        (printed(""), "the command printed nothing"),
        (printed("\n"), "the command printed nothing"),
        (
            Ok(vec![0xff, 0xfe]),
            "the command printed something that is not UTF-8 text",
        ),
        (
            Ok(vec![b'x'; MAX_SECRET_BYTES + 1]),
            "the command printed more than 65536 bytes",
        ),
        (
            Err(CommandFailure::Ended("exit code 3".to_owned())),
            "the command ended with exit code 3",
        ),
    ];
    for (answer, message) in cases {
        assert_eq!(once(answer).await, Err(message.to_owned()));
    }
    assert!(once(Ok(vec![b'x'; MAX_SECRET_BYTES])).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn one_run_serves_all_who_wait_and_its_output_is_kept() {
    let runner = Prepared::new([printed("tok\n"), printed("other\n"), printed("new\n")]);
    let commands = SecretCommands::new(runner.clone());
    let secrets = join_all((0..20).map(|_| commands.output(command("a")))).await;
    assert!(secrets.iter().all(|secret| secret.as_deref() == Ok("tok")));
    assert_eq!(commands.output(command("a")).await.as_deref(), Ok("tok"));
    assert_eq!(runner.runs(), 1);

    assert_eq!(commands.output(command("b")).await.as_deref(), Ok("other"));
    commands.forget("a");
    assert_eq!(commands.output(command("b")).await.as_deref(), Ok("other"));
    assert_eq!(commands.output(command("a")).await.as_deref(), Ok("new"));
    assert_eq!(runner.runs(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_failure_reaches_all_who_wait_and_is_not_kept() {
    let failure = CommandFailure::Ended("exit code 1".to_owned());
    let runner = Prepared::new([Err(failure.clone()), printed("tok")]);
    let commands = SecretCommands::new(runner.clone());
    let secrets = join_all((0..3).map(|_| commands.output(command("a")))).await;
    assert!(
        secrets
            .iter()
            .all(|secret| secret.as_ref() == Err(&failure))
    );
    assert_eq!(commands.output(command("a")).await.as_deref(), Ok("tok"));
    assert_eq!(runner.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_run_outlives_the_one_who_asked_first_but_not_all_who_wait() {
    let runner = Prepared::new([printed("tok"), printed("late")]);
    let commands = SecretCommands::new(runner.clone());
    let mut first = Box::pin(commands.output(command("a")));
    assert!(
        tokio::time::timeout(Duration::from_millis(10), &mut first)
            .await
            .is_err()
    );
    let mut second = Box::pin(commands.output(command("a")));
    assert!(
        tokio::time::timeout(Duration::from_millis(10), &mut second)
            .await
            .is_err()
    );
    drop(first);
    assert_eq!(second.await.as_deref(), Ok("tok"));
    assert_eq!(runner.runs(), 1);

    commands.forget_all();
    assert!(
        tokio::time::timeout(Duration::from_millis(10), commands.output(command("a")))
            .await
            .is_err()
    );
    assert_eq!(commands.output(command("a")).await.as_deref(), Ok("late"));
    assert_eq!(
        runner.runs(),
        3,
        "nobody waited for the second run, so it was dropped"
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_forgotten_run_prints_is_not_kept() {
    let runner = Prepared::new([printed("old"), printed("new")]);
    let commands = SecretCommands::new(runner.clone());
    let mut old = Box::pin(commands.output(command("a")));
    assert!(
        tokio::time::timeout(Duration::from_millis(10), &mut old)
            .await
            .is_err()
    );
    commands.forget("a");
    assert_eq!(old.await.as_deref(), Ok("old"));
    assert_eq!(commands.output(command("a")).await.as_deref(), Ok("new"));
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_never_ends_is_given_up() {
    let commands = SecretCommands::new(Prepared::new([]));
    let began = Instant::now();
    let failure = commands.output(command("a")).await.unwrap_err();
    assert_eq!(failure, CommandFailure::TimedOut(SECRET_COMMAND_TIMEOUT));
    assert_eq!(
        failure.to_string(),
        "the command did not end within 10000 ms"
    );
    assert!(
        began.elapsed() <= SECRET_COMMAND_TIMEOUT * 2,
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn nothing_of_a_command_is_printed() {
    let debug = format!(
        "{:?}",
        SecretCommand::new(
            "echo canary",
            vec![("N".into(), "canary".into())],
            "/".into()
        )
    );
    assert!(!debug.contains("canary"), "{debug}");
}

#[tokio::test(start_paused = true)]
async fn a_command_runs_once_in_each_directory() {
    let runner = Prepared::new([printed("here"), printed("there")]);
    let commands = SecretCommands::new(runner.clone());
    let elsewhere = SecretCommand::new("x", Vec::new(), PathBuf::from("/elsewhere"));
    for _ in 0..2 {
        assert_eq!(&*commands.output(command("x")).await.unwrap(), "here");
        assert_eq!(&*commands.output(elsewhere.clone()).await.unwrap(), "there");
    }
    assert_eq!(runner.runs(), 2);
}
