//! The arguments of the runner.

use crate::failure::Failure;

/// Scenarios that run at the same time.
const JOBS: usize = 4;

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    /// Only scenarios whose name holds this.
    pub(crate) part_of_name: String,
    /// How often each of them runs.
    pub(crate) repeat: usize,
    /// How many run at the same time.
    pub(crate) jobs: usize,
}

impl Options {
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, Failure> {
        let mut options = Self {
            part_of_name: String::new(),
            repeat: 1,
            jobs: JOBS,
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--repeat" => options.repeat = number(&argument, arguments.next())?,
                "--jobs" => options.jobs = number(&argument, arguments.next())?,
                // `cargo test` hands these to every test program.
                "--nocapture" | "--no-capture" | "--quiet" | "-q" => {}
                _ if argument.starts_with('-') => {
                    return Err(Failure::new(format!(
                        "unknown option {argument}: use --repeat N, --jobs N or a part of a name"
                    )));
                }
                _ => options.part_of_name = argument,
            }
        }
        Ok(options)
    }
}

fn number(option: &str, value: Option<String>) -> Result<usize, Failure> {
    value
        .and_then(|value| value.parse().ok())
        .filter(|number| *number > 0)
        .ok_or_else(|| Failure::new(format!("{option} wants a number from 1")))
}
