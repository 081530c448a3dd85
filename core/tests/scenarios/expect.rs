//! Compares what came with what a scenario expects.

use std::time::Duration;

use mcp_resident::{McpSource, ToolResult};
use mcp_resident_fixtures::matches;
use mcp_resident_fixtures::scenario::{
    ErrorKind, Executed, ExpectTools, ExpectedLoad, ExpectedResult, State, Status,
};

use crate::failure::{Failure, ensure};
use crate::json;

/// Longer texts are cut in the report.
const QUOTED_CHARS: usize = 300;

pub(crate) fn within(took: Duration, limit_ms: Option<u64>) -> Result<(), Failure> {
    let limit = limit_ms.map(Duration::from_millis);
    ensure(limit.is_none_or(|limit| took <= limit), || {
        format!("took {took:?}, which is over {limit:?}")
    })
}

/// A result against what a call has to come to.
pub(crate) fn result(
    result: &ToolResult,
    took: Duration,
    expected: &ExpectedResult,
) -> Result<(), Failure> {
    let output = || quoted(&result.output);
    let error = result.metadata.error.as_ref();
    let is_error = expected.is_error.unwrap_or(expected.error_kind.is_some());
    ensure(result.is_error == is_error, || {
        format!("expected is_error {is_error}: {} ({error:?})", output())
    })?;
    if let Some(kind) = expected.error_kind {
        let found = error.map(|error| error.kind.code());
        ensure(found == Some(error_kind(kind)), || {
            format!("expected the error {kind:?}, not {found:?}: {}", output())
        })?;
    }
    if let Some(executed) = expected.executed {
        let found = error.map(|error| error.executed.as_str());
        ensure(found == Some(executed_name(executed)), || {
            format!(
                "expected executed {executed:?}, not {found:?}: {}",
                output()
            )
        })?;
    }
    if let Some(wanted) = &expected.output {
        ensure(result.output == *wanted, || {
            format!("expected the output {}, not {}", quoted(wanted), output())
        })?;
    }
    for part in &expected.output_contains {
        ensure(result.output.contains(part), || {
            format!("the output lacks {part:?}: {}", output())
        })?;
    }
    if let Some(wanted) = &expected.output_json {
        let (found, text) = (json::compact(&result.output), wanted.to_string());
        ensure(found == text, || {
            format!("expected the output {wanted}, not {}", output())
        })?;
    }
    if let Some(pattern) = &expected.metadata {
        let found = json::metadata(&result.metadata);
        ensure(matches(pattern, &found), || {
            format!("expected metadata like {pattern}, not {found}")
        })?;
    }
    within(took, expected.within_ms)
}

/// The error of a load or a lifecycle step against the part that it must hold; none must be none.
pub(crate) fn error(
    found: Option<&mcp_resident::Error>,
    part: Option<&String>,
) -> Result<(), Failure> {
    match (found, part) {
        (None, None) => Ok(()),
        (Some(error), Some(part)) => ensure(error.to_string().contains(part), || {
            format!("the error lacks {part:?}: {error}")
        }),
        (Some(error), None) => Err(Failure::new(format!("failed: {error}"))),
        (None, Some(part)) => Err(Failure::new(format!(
            "expected an error with {part:?}, and it succeeded"
        ))),
    }
}

/// A source against what its load has to come to.
pub(crate) fn loaded(source: &McpSource, expected: &ExpectedLoad) -> Result<(), Failure> {
    for (server, wanted) in &expected.status {
        status(source, server, *wanted)?;
    }
    for (server, wanted) in &expected.state {
        state(source, server, *wanted)?;
    }
    if let Some(names) = &expected.tools {
        let exactly = ExpectTools {
            exactly: Some(names.clone()),
            ..ExpectTools::default()
        };
        tools(source, &exactly)?;
    }
    for (server, parts) in &expected.reasons {
        let error = source.info(server)?.last_error;
        let reason = error.map(|error| error.to_string()).unwrap_or_default();
        for part in parts {
            ensure(reason.contains(part), || {
                format!(
                    "the reason of {server:?} lacks {part:?}: {}",
                    quoted(&reason)
                )
            })?;
        }
    }
    for wanted in &expected.problems {
        let found = source.problems().iter().any(|problem| {
            (wanted.server.is_none() || problem.server == wanted.server)
                && (wanted.field.is_none() || problem.field == wanted.field)
                && problem.to_string().contains(&wanted.message)
        });
        ensure(found, || {
            format!(
                "expected the problem {wanted:?}, not {:?}",
                source.problems()
            )
        })?;
    }
    Ok(())
}

pub(crate) fn status(source: &McpSource, server: &str, wanted: Status) -> Result<(), Failure> {
    let found = source.status().get(server).copied();
    ensure(
        found.map(|status| status.as_str()) == Some(status_name(wanted)),
        || {
            let error = source.info(server).ok().and_then(|info| info.last_error);
            format!("expected the status {wanted:?} of {server:?}, not {found:?} ({error:?})")
        },
    )
}

pub(crate) fn state(source: &McpSource, server: &str, wanted: State) -> Result<(), Failure> {
    let found = source.state(server)?;
    ensure(found == library_state(wanted), || {
        format!("expected the state {wanted:?} of {server:?}, not {found}")
    })
}

pub(crate) fn tools(source: &McpSource, expected: &ExpectTools) -> Result<(), Failure> {
    let tools = source.tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
    let as_expected = expected
        .exactly
        .as_ref()
        .is_none_or(|wanted| *wanted == names)
        && expected
            .has
            .iter()
            .all(|name| names.contains(&name.as_str()))
        && !expected
            .lacks
            .iter()
            .any(|name| names.contains(&name.as_str()));
    ensure(as_expected, || {
        format!("expected {expected:?}, found {names:?}")
    })
}

pub(crate) fn library_state(state: State) -> mcp_resident::State {
    match state {
        State::Stopped => mcp_resident::State::Stopped,
        State::Starting => mcp_resident::State::Starting,
        State::Running => mcp_resident::State::Running,
        State::Error => mcp_resident::State::Error,
    }
}

pub(crate) fn status_name(status: Status) -> &'static str {
    match status {
        Status::Connected => "connected",
        Status::Failed => "failed",
        Status::Disabled => "disabled",
    }
}

fn error_kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Tool => "tool",
        ErrorKind::Protocol => "protocol",
        ErrorKind::Arguments => "arguments",
        ErrorKind::Unavailable => "unavailable",
        ErrorKind::NeedsAuth => "needs_auth",
        ErrorKind::Dropped => "dropped",
        ErrorKind::Timeout => "timeout",
        ErrorKind::Cancelled => "cancelled",
        ErrorKind::Closed => "closed",
        ErrorKind::Withdrawn => "withdrawn",
        ErrorKind::TooLarge => "too_large",
        ErrorKind::Internal => "internal",
    }
}

fn executed_name(executed: Executed) -> &'static str {
    match executed {
        Executed::No => "no",
        Executed::Yes => "yes",
        Executed::Unknown => "unknown",
    }
}

fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{:?}... ({} bytes)", &text[..end], text.len()),
        None => format!("{text:?}"),
    }
}
