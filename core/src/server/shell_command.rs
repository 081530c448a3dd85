//! Runs the commands that print secrets as processes of the engine.

use async_trait::async_trait;
use mcp_resident_process::{Engine, Helper, HelperError};

use crate::config::{CommandFailure, CommandRunner, SecretCommand};

/// Runs values that begin with `!` by `/bin/sh -c`, for [`LoadOptions::secret_commands`].
///
/// A command has no input, its standard error is thrown away, and its group is killed when it takes
/// too long, when the run is dropped, and when the host is killed.
///
/// [`LoadOptions::secret_commands`]: crate::LoadOptions::secret_commands
#[derive(Debug, Clone, Copy, Default)]
pub struct ShellCommandRunner;

#[async_trait]
impl CommandRunner for ShellCommandRunner {
    async fn run(&self, command: SecretCommand) -> Result<Vec<u8>, CommandFailure> {
        let engine =
            Engine::shared().map_err(|error| CommandFailure::NotStarted(error.to_string()))?;
        let helper = Helper {
            command: command.text.into(),
            environment: command.environment,
            directory: command.directory,
            timeout: command.timeout,
            max_output_bytes: command.max_output_bytes,
        };
        match engine.run(helper).await {
            Ok(output) => Ok(output.stdout),
            Err(HelperError::TimedOut(limit)) => Err(CommandFailure::TimedOut(limit)),
            Err(HelperError::Failed(exit)) => Err(CommandFailure::Ended(exit.to_string())),
            Err(HelperError::TooLarge { limit_bytes }) => {
                Err(CommandFailure::TooLarge(limit_bytes))
            }
            Err(HelperError::NotStarted(error)) => {
                Err(CommandFailure::NotStarted(error.to_string()))
            }
            Err(error) => Err(CommandFailure::NotStarted(error.to_string())),
        }
    }
}
