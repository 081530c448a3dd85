//! The meaning of one entry: from fields to a [`ServerDefinition`], or the first problem that forbids it.

use std::time::Duration;

use super::definition::{
    AutoRestart, Exposure, Lazy, Protocol, RemoteDefinition, ServerDefinition, StdioDefinition,
    ToolFilter, Transport,
};
use super::document::{Member, Node, NodeValue};
use super::env_scope::{GROUPS, is_known_group};
use super::expand::ExpandMode;
use super::fields::{Field, Fields};
use super::hints::{camel_case, hint_for_key, is_annotation};
use super::limits::{LimitOverrides, LimitRefused, milliseconds};
use super::problem::{ConfigProblem, describe_text};

/// Every key of an entry.
const KEYS: &[&str] = &[
    "args",
    "auth",
    "autoRestart",
    "command",
    "cwd",
    "disabled",
    "enabled",
    "env",
    "environment",
    "expand",
    "exposure",
    "headers",
    "inheritEnv",
    "lazy",
    "limits",
    "liveToolList",
    "oauth",
    "protocol",
    "resident",
    "timeout",
    "toolExposure",
    "tools",
    "transport",
    "type",
    "url",
];

const URL_KEYS: &[&str] = &["url", "serverUrl", "httpUrl"];

const EXPOSURES: &[(&str, Exposure)] = &[
    ("direct", Exposure::Direct),
    ("hidden", Exposure::Hidden),
    ("deferred", Exposure::Deferred),
    ("codemode", Exposure::Codemode),
];

/// The keys that change an entry of a lower layer without replacing it.
const ADJUSTING_KEYS: &[&str] = &["enabled", "disabled", "exposure", "toolExposure"];

/// What an entry changes of one of the same name in a lower layer, when it holds nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Adjustment {
    /// Whether the server is to be used.
    pub enabled: Option<bool>,
    /// How its tools are shown to a model.
    pub exposure: Option<Exposure>,
    /// The same by name pattern.
    pub tool_exposure: Option<Vec<(String, Exposure)>>,
}

/// Reads the entry as a whole server.
pub(crate) fn read_definition(
    name: &str,
    mut fields: Fields,
    warnings: &mut Vec<ConfigProblem>,
) -> Result<ServerDefinition, ConfigProblem> {
    if name.is_empty() {
        return Err(fields.problem_at(None, None, "the name is empty; give the server a name"));
    }
    refuse_sign_in(&mut fields)?;
    let enabled = read_enabled(&mut fields, warnings)?.unwrap_or(true);
    let transport = read_transport(&mut fields, warnings)?;
    let timeout = read_timeout(&mut fields)?;
    let tools = read_tools(&mut fields)?;
    let lazy = read_lazy(&mut fields)?;
    let auto_restart = read_auto_restart(&mut fields, warnings)?;
    let live_tool_list = fields.boolean("liveToolList")?;
    let resident = fields.boolean("resident")?;
    let expand = fields.word(
        "expand",
        &[
            ("headers", ExpandMode::HeadersOnly),
            ("all", ExpandMode::All),
        ],
    )?;
    let protocol = fields
        .word(
            "protocol",
            &[
                ("auto", Protocol::Auto),
                ("legacy", Protocol::Legacy),
                ("modern", Protocol::Modern),
            ],
        )?
        .unwrap_or_default();
    let limits = read_limits(&mut fields, warnings)?;
    let exposure = fields.word("exposure", EXPOSURES)?;
    let tool_exposure = read_tool_exposure(&mut fields)?.unwrap_or_default();
    let extra = read_extra(&mut fields, warnings);
    Ok(ServerDefinition {
        name: name.to_owned(),
        enabled,
        transport,
        timeout,
        tools,
        lazy,
        auto_restart,
        live_tool_list,
        resident,
        expand,
        protocol,
        limits,
        exposure,
        tool_exposure,
        extra,
        origin: fields.origin,
    })
}

/// Reads the entry as a change of one in a lower layer; none when it is more, or less, than that.
pub(crate) fn read_adjustment(mut fields: Fields) -> Result<Option<Adjustment>, ConfigProblem> {
    let names: Vec<_> = fields.names().filter(|name| !is_annotation(name)).collect();
    if names.is_empty()
        || !names
            .iter()
            .all(|name| ADJUSTING_KEYS.contains(&name.as_str()))
    {
        return Ok(None);
    }
    Ok(Some(Adjustment {
        enabled: read_enabled(&mut fields, &mut Vec::new())?,
        exposure: fields.word("exposure", EXPOSURES)?,
        tool_exposure: read_tool_exposure(&mut fields)?,
    }))
}

/// Whether the entry switches itself off, even if nothing else of it can be read.
pub(crate) fn is_enabled(mut fields: Fields) -> bool {
    read_enabled(&mut fields, &mut Vec::new())
        .ok()
        .flatten()
        .unwrap_or(true)
}

fn refuse_sign_in(fields: &mut Fields) -> Result<(), ConfigProblem> {
    let asked = fields
        .take_all(&["auth"])
        .into_iter()
        .chain(fields.take_all(&["oauth"]));
    let wanted = asked
        .into_iter()
        .find(|field| !matches!(field.node.value, NodeValue::Bool(false)));
    wanted.map_or(Ok(()), |field| {
        Err(fields.problem(
            &field,
            "sign-in is not supported yet, so the server is not started; use headers",
        ))
    })
}

fn read_enabled(
    fields: &mut Fields,
    warnings: &mut Vec<ConfigProblem>,
) -> Result<Option<bool>, ConfigProblem> {
    let enabled = fields.boolean("enabled")?;
    let disabled = fields.boolean("disabled")?;
    if let (Some(enabled), Some(disabled)) = (enabled, disabled)
        && enabled == disabled
    {
        let reason = "contradicts enabled; the server stays disabled, keep one of them";
        warnings.push(fields.problem_at(
            Some("disabled"),
            fields.origin.position("disabled"),
            reason,
        ));
    }
    Ok(match (enabled, disabled) {
        (None, None) => None,
        (enabled, disabled) => Some(enabled != Some(false) && disabled != Some(true)),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stdio,
    Http,
    Sse,
}

fn read_transport(
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
        super::resolve::check_url(&url).map_err(|reason| fields.problem(&field, reason))?;
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

fn read_timeout(fields: &mut Fields) -> Result<Option<Duration>, ConfigProblem> {
    let Some(field) = fields.take(&["timeout"])? else {
        return Ok(None);
    };
    match fields.whole_number(&field.name, &field.node)? {
        0 => Err(fields.problem(&field, "must be at least 1 millisecond")),
        amount => Ok(Some(milliseconds(amount))),
    }
}

fn read_tools(fields: &mut Fields) -> Result<ToolFilter, ConfigProblem> {
    let Some(field) = fields.take(&["tools"])? else {
        return Ok(ToolFilter::default());
    };
    let NodeValue::Object(members) = &field.node.value else {
        return Err(fields.wrong(&field, "an object such as {\"name\": true}"));
    };
    members
        .iter()
        .map(|member| match member.value.value {
            NodeValue::Bool(offered) => Ok((member.name.clone(), offered)),
            _ => {
                let place = format!("{}.{}", field.name, member.name);
                let reason = format!(
                    "must be true or false without quotes, found {}",
                    member.value.kind()
                );
                Err(fields.problem_at(Some(&place), member.value.at, reason))
            }
        })
        .collect()
}

fn read_lazy(fields: &mut Fields) -> Result<Lazy, ConfigProblem> {
    let Some(field) = fields.take(&["lazy"])? else {
        return Ok(Lazy::No);
    };
    match &field.node.value {
        NodeValue::Bool(true) => Ok(Lazy::Yes),
        NodeValue::Bool(false) => Ok(Lazy::No),
        NodeValue::Text(text) if text == "list" => Ok(Lazy::List),
        _ => Err(fields.wrong(&field, "true, false or \"list\"")),
    }
}

fn read_auto_restart(
    fields: &mut Fields,
    warnings: &mut Vec<ConfigProblem>,
) -> Result<Option<AutoRestart>, ConfigProblem> {
    let Some(field) = fields.take(&["autoRestart"])? else {
        return Ok(None);
    };
    let members = match &field.node.value {
        NodeValue::Bool(true) => {
            return Ok(Some(AutoRestart::On {
                max_retries: None,
                backoff: None,
            }));
        }
        NodeValue::Bool(false) => return Ok(Some(AutoRestart::Off)),
        NodeValue::Object(members) => members,
        _ => {
            return Err(fields.wrong(
                &field,
                "true, false or an object such as {\"maxRetries\": 5}",
            ));
        }
    };
    let (mut max_retries, mut backoff) = (None, None);
    for member in members {
        let place = format!("{}.{}", field.name, member.name);
        match camel_case(&member.name).as_str() {
            _ if member.value.is_null() => {}
            "maxRetries" => {
                let amount = fields.whole_number(&place, &member.value)?;
                max_retries = Some(u32::try_from(amount).unwrap_or(u32::MAX));
            }
            "backoffMs" => {
                let amount = fields.whole_number(&place, &member.value)?;
                backoff = Some(milliseconds(amount.max(1)));
            }
            _ => warnings.push(unknown_key(
                fields,
                &place,
                member,
                &["maxRetries", "backoffMs"],
            )),
        }
    }
    Ok(Some(AutoRestart::On {
        max_retries,
        backoff,
    }))
}

fn read_limits(
    fields: &mut Fields,
    warnings: &mut Vec<ConfigProblem>,
) -> Result<LimitOverrides, ConfigProblem> {
    let mut limits = LimitOverrides::default();
    let Some((field, members)) = fields.object(&["limits"])? else {
        return Ok(limits);
    };
    for member in members.iter().filter(|member| !member.value.is_null()) {
        let place = format!("{}.{}", field.name, member.name);
        let key = camel_case(&member.name);
        if !LimitOverrides::KEYS.contains(&key.as_str()) {
            warnings.push(unknown_key(fields, &place, member, LimitOverrides::KEYS));
            continue;
        }
        let amount = fields.whole_number(&place, &member.value)?;
        if let Err(LimitRefused::TooSmall { least }) = limits.set(&key, amount) {
            return Err(fields.problem_at(
                Some(&place),
                member.value.at,
                format!("must be at least {least}"),
            ));
        }
    }
    Ok(limits)
}

fn read_tool_exposure(
    fields: &mut Fields,
) -> Result<Option<Vec<(String, Exposure)>>, ConfigProblem> {
    let Some((field, members)) = fields.object(&["toolExposure"])? else {
        return Ok(None);
    };
    members
        .into_iter()
        .map(|Member { name, at, value }| {
            let place = Field {
                key: field.key.clone(),
                name: format!("{}.{name}", field.name),
                at,
                node: Node {
                    at,
                    value: NodeValue::Null,
                },
            };
            fields
                .one_of(&place, &value, EXPOSURES)
                .map(|exposure| (name, exposure))
        })
        .collect::<Result<_, _>>()
        .map(Some)
}

fn read_extra(
    fields: &mut Fields,
    warnings: &mut Vec<ConfigProblem>,
) -> serde_json::Map<String, serde_json::Value> {
    let mut extra = serde_json::Map::new();
    for member in fields.drain() {
        if !is_annotation(&member.name) {
            warnings.push(unknown_key(fields, &member.name, &member, KEYS));
        }
        extra.insert(member.name, member.value.into_json());
    }
    extra
}

fn unknown_key(
    fields: &Fields,
    place: &str,
    member: &Member,
    known: &[&'static str],
) -> ConfigProblem {
    let hint = hint_for_key(&member.name, known);
    fields.problem_at(
        Some(place),
        member.at,
        format!("is not a known key and is ignored{hint}"),
    )
}
