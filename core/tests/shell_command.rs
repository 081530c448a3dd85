//! Secret commands as real processes.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

mod support;

use std::path::Path;
use std::time::Duration;

use mcp_resident::{CommandFailure, CommandRunner, SecretCommand, ShellCommandRunner};
use support::bounded;

fn command(text: &str, directory: &Path) -> SecretCommand {
    let environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    SecretCommand::new(text, environment, directory.to_owned())
}

async fn run(command: SecretCommand) -> Result<String, CommandFailure> {
    let output = bounded(ShellCommandRunner.run(command)).await?;
    Ok(String::from_utf8(output).unwrap())
}

#[tokio::test]
async fn a_command_gives_what_it_prints() {
    let here = tempfile::tempdir().unwrap();
    std::fs::write(here.path().join("secret"), "s3cret\n").unwrap();
    let text = "cat secret; printf '%s' \"$HOME\"; echo noise >&2";
    assert_eq!(
        run(command(text, here.path())).await,
        Ok("s3cret\n".to_owned())
    );
}

#[tokio::test]
async fn what_goes_wrong_is_told_apart() {
    let here = Path::new("/");
    assert_eq!(
        run(command("exit 3", here)).await,
        Err(CommandFailure::Ended("exit code 3".to_owned()))
    );
    let mut endless = command("sleep 600", here);
    endless.timeout = Duration::from_millis(50);
    assert_eq!(
        run(endless).await,
        Err(CommandFailure::TimedOut(Duration::from_millis(50)))
    );
    let mut long = command("yes", here);
    long.max_output_bytes = 16;
    assert_eq!(run(long).await, Err(CommandFailure::TooLarge(16)));
    let nowhere = run(command("true", Path::new("/does/not/exist"))).await;
    assert!(matches!(nowhere, Err(CommandFailure::NotStarted(_))));
}

#[tokio::test]
async fn a_run_that_is_dropped_ends_its_command() {
    let here = tempfile::tempdir().unwrap();
    let fifo = here.path().join("alive");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    // The shell holds the writing end for as long as it lives.
    let run = tokio::spawn(
        ShellCommandRunner.run(command("exec 3>alive; echo up >&3; sleep 600", here.path())),
    );
    let reader = std::thread::spawn(move || {
        use std::io::{BufRead, BufReader, Read};
        let mut pipe = BufReader::new(std::fs::File::open(fifo).unwrap());
        let mut line = String::new();
        pipe.read_line(&mut line).unwrap();
        run.abort();
        pipe.read_to_string(&mut line).unwrap();
        line
    });
    let read = bounded(tokio::task::spawn_blocking(move || reader.join())).await;
    assert_eq!(read.unwrap().unwrap(), "up\n");
}
