//! The meaning of one entry: from fields to a [`ServerDefinition`], or the first problem that forbids it.

use std::time::Duration;

use super::definition::{
    AutoRestart, Exposure, Lazy, Origin, Protocol, ServerDefinition, ToolFilter,
};
use super::document::{Member, Node, NodeValue};
use super::expand::ExpandMode;
use super::fields::{Field, Fields};
use super::hints::{camel_case, hint_for_key, is_annotation};
use super::limits::{LimitOverrides, LimitRefused, milliseconds};
use super::problem::ConfigProblem;
use super::transport::read_transport;

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
    /// Where these were written.
    pub origin: Origin,
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
        base_dir: None,
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
        origin: fields.origin,
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
