//! How an entry says that its server is reached: as a child process or at an address.

use super::definition::{RemoteDefinition, StdioDefinition, Transport};
use super::document::NodeValue;
use super::env_scope::{GROUPS, is_known_group};
use super::fields::{Field, Fields};
use super::problem::{ConfigProblem, describe_text};
use super::url::check_url;

const URL_KEYS: &[&str] = &["url", "serverUrl", "httpUrl"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stdio,
    Http,
    Sse,
}

/// Reads how the server is reached: by the given type, else by what there is of command and url.
pub(crate) fn read_transport(
    fields: &mut Fields,
    warnings: &mut Vec<ConfigProblem>,
) -> Result<Transport, ConfigProblem> {
    let declared = read_kind(fields)?;
    let command = fields.take(&["command"])?;
    let url = read_url(fields)?;
    let kind = match (declared, &command, &url) {
        (None, None, None) => {
            let reason = "has neither command nor url; give one of them";
            return Err(fields.problem_at(None, None, reason));
        }
        (None, Some(_), Some(url)) => {
            let reason = "has both command and url; keep one of them, or say which by type";
            return Err(fields.problem_at(Some(&url.0.name), url.0.at, reason));
        }
        (None, Some(_), None) | (Some(Kind::Stdio), Some(_), _) => Kind::Stdio,
        (None, None, Some(_)) => Kind::Http,
        (Some(kind @ (Kind::Http | Kind::Sse)), _, Some(_)) => kind,
        (Some(Kind::Stdio), None, _) => {
            return Err(fields.problem_at(
                Some("type"),
                fields.origin.position("type"),
                "stdio needs a command",
            ));
        }
        (Some(Kind::Http | Kind::Sse), _, None) => {
            return Err(fields.problem_at(
                Some("type"),
                fields.origin.position("type"),
                "a remote server needs a url",
            ));
        }
    };
    let stdio = read_stdio(
        fields,
        command.as_ref().filter(|_| kind == Kind::Stdio),
        warnings,
    )?;
    let headers = read_headers(fields, warnings)?;
    let unused: &[&str] = match kind {
        Kind::Stdio => &["url", "headers"],
        Kind::Http | Kind::Sse => &["command", "args", "env", "cwd", "inheritEnv"],
    };
    for key in unused.iter().filter(|key| fields.had(key)) {
        let reason = match kind {
            Kind::Stdio => "means nothing for a child process and is ignored",
            Kind::Http | Kind::Sse => "means nothing for a remote server and is ignored",
        };
        warnings.push(fields.problem_at(Some(key), fields.origin.position(key), reason));
    }
    Ok(match (kind, url) {
        (Kind::Http, Some((_, url))) => Transport::Http(RemoteDefinition { url, headers }),
        (Kind::Sse, Some((_, url))) => Transport::Sse(RemoteDefinition { url, headers }),
        _ => Transport::Stdio(stdio),
    })
}

fn read_kind(fields: &mut Fields) -> Result<Option<Kind>, ConfigProblem> {
    let mut declared: Option<(Field, Kind)> = None;
    for field in fields.take_all(&["type", "transport"]) {
        let NodeValue::Text(text) = &field.node.value else {
            return Err(fields.wrong(&field, "a text such as \"stdio\", \"http\" or \"sse\""));
        };
        let kind = kind_named(text).ok_or_else(|| {
            let found = describe_text(text);
            fields.problem(
                &field,
                format!("{found} is not supported; use \"stdio\", \"http\" or \"sse\""),
            )
        })?;
        match &declared {
            Some((earlier, other)) if *other != kind => {
                return Err(fields.problem(
                    &field,
                    format!("contradicts {}; keep one of them", earlier.name),
                ));
            }
            _ => declared = Some((field, kind)),
        }
    }
    Ok(declared.map(|(_, kind)| kind))
}

fn kind_named(text: &str) -> Option<Kind> {
    let folded: String = text
        .chars()
        .filter(|c| !matches!(c, '-' | '_' | ' ' | '+'))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    match folded.as_str() {
        "stdio" | "local" => Some(Kind::Stdio),
        "http" | "https" | "streamablehttp" | "httpstream" | "streamable" | "remote" => {
            Some(Kind::Http)
        }
        "sse" | "httpsse" => Some(Kind::Sse),
        _ => None,
    }
}

fn read_url(fields: &mut Fields) -> Result<Option<(Field, String)>, ConfigProblem> {
    let Some((field, url)) = fields.text(URL_KEYS)? else {
        return Ok(None);
    };
    let url = url.trim().to_owned();
    if url.is_empty() {
        return Err(fields.problem(&field, "is empty; give an http or https address"));
    }
    // What is expanded later is judged later.
    if !url.contains('$') {
        check_url(&url).map_err(|reason| fields.problem(&field, reason))?;
    }
    Ok(Some((field, url)))
}

fn read_stdio(
    fields: &mut Fields,
    command: Option<&Field>,
    warnings: &mut Vec<ConfigProblem>,
) -> Result<StdioDefinition, ConfigProblem> {
    let mut words = match command {
        Some(field) => read_command(fields, field)?,
        None => vec![String::new()],
    };
    let program = words.remove(0);
    let args = fields.take(&["args"])?;
    if let Some(field) = &args {
        words.extend(fields.texts(field)?);
    } else if let Some(field) = command
        && words.is_empty()
        && looks_like_a_command_line(&program)
    {
        let reason = "is taken as the name of one program; put its arguments into args";
        warnings.push(fields.problem(field, reason));
    }
    Ok(StdioDefinition {
        command: program,
        args: words,
        env: read_env(fields)?,
        cwd: read_cwd(fields)?,
        inherit_env: read_inherit_env(fields)?,
    })
}

/// The program, never empty, and the arguments that follow it in a list.
fn read_command(fields: &mut Fields, field: &Field) -> Result<Vec<String>, ConfigProblem> {
    let words = match &field.node.value {
        NodeValue::Text(_) => vec![fields.scalar(&field.name, &field.node)?],
        NodeValue::List(_) => fields.texts(field)?,
        _ => return Err(fields.wrong(field, "a text, or a list of the program and its arguments")),
    };
    match words.first() {
        Some(program) if !program.trim().is_empty() => Ok(words),
        _ => Err(fields.problem(field, "is empty; name the program to start")),
    }
}

fn looks_like_a_command_line(program: &str) -> bool {
    let first = program.split_whitespace().next().unwrap_or_default();
    first.len() < program.trim_end().len() && !first.contains(['/', '\\', '$'])
}

fn read_env(fields: &mut Fields) -> Result<Vec<(String, Option<String>)>, ConfigProblem> {
    let Some((field, members)) = fields.object(&["env", "environment"])? else {
        return Ok(Vec::new());
    };
    let mut variables = Vec::with_capacity(members.len());
    for member in members {
        let place = format!("{}.{}", field.name, member.name);
        if member.name.is_empty() || member.name.contains(['=', '\0']) {
            return Err(fields.problem_at(
                Some(&place),
                member.at,
                "is not a possible name of a variable",
            ));
        }
        let value = match &member.value {
            node if node.is_null() => None,
            node => Some(fields.scalar(&place, node)?),
        };
        variables.push((member.name, value));
    }
    Ok(variables)
}

fn read_cwd(fields: &mut Fields) -> Result<Option<String>, ConfigProblem> {
    let Some((field, _)) = fields.text(&["cwd"])? else {
        return Ok(None);
    };
    let cwd = fields.scalar(&field.name, &field.node)?;
    if cwd.is_empty() {
        return Err(fields.problem(&field, "is empty; name a directory or leave it out"));
    }
    Ok(Some(cwd))
}

fn read_inherit_env(fields: &mut Fields) -> Result<Option<Vec<String>>, ConfigProblem> {
    let Some(field) = fields.take(&["inheritEnv"])? else {
        return Ok(None);
    };
    let NodeValue::List(items) = &field.node.value else {
        return Err(fields.wrong(&field, "a list of names of variables"));
    };
    let mut names = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let place = format!("{}[{index}]", field.name);
        let NodeValue::Text(name) = &item.value else {
            let reason = format!("must be the name of a variable, found {}", item.kind());
            return Err(fields.problem_at(Some(&place), item.at, reason));
        };
        if name.starts_with('@') && !is_known_group(name) {
            let reason = format!(
                "names no group of variables; the groups are {}",
                GROUPS.join(" and ")
            );
            return Err(fields.problem_at(Some(&place), item.at, reason));
        }
        if name.is_empty() || name.contains(['=', '\0']) {
            let reason = "is not a possible name of a variable; values belong into env";
            return Err(fields.problem_at(Some(&place), item.at, reason));
        }
        names.push(name.clone());
    }
    Ok(Some(names))
}

fn read_headers(
    fields: &mut Fields,
    warnings: &mut Vec<ConfigProblem>,
) -> Result<Vec<(String, String)>, ConfigProblem> {
    let Some((field, members)) = fields.object(&["headers"])? else {
        return Ok(Vec::new());
    };
    let mut headers: Vec<(String, String)> = Vec::with_capacity(members.len());
    for member in members.into_iter().filter(|member| !member.value.is_null()) {
        let place = format!("{}.{}", field.name, member.name);
        if http::HeaderName::try_from(member.name.as_str()).is_err() {
            return Err(fields.problem_at(
                Some(&place),
                member.at,
                "is not a possible name of a header",
            ));
        }
        let value = fields.scalar(&place, &member.value)?;
        if let Some(earlier) = headers
            .iter()
            .position(|(name, _)| name.eq_ignore_ascii_case(&member.name))
        {
            let reason = format!(
                "is the same header as {}; the later one counts",
                headers[earlier].0
            );
            warnings.push(fields.problem_at(Some(&place), member.at, reason));
            headers.remove(earlier);
        }
        headers.push((member.name, value));
    }
    Ok(headers)
}
