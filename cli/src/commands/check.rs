//! `check`: what the configuration says, without starting anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use mcp_resident::config::{
    ConfigProblem, ResolveContext, ResolvedServer, SecretCommands, ServerDefinition, Transport,
    fingerprint, launch_line, resolve,
};
use mcp_resident::{CommandFailure, CommandRunner, ExpandMode, Limits, SecretCommand};
use mcp_resident_process::find_program;
use serde_json::{Value, json};

use super::tools::TRUST_HINT;
use crate::arguments::ConfigArguments;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::records::{self, Place};
use crate::selection::{Layer, Selection};
use crate::style::Look;

pub(crate) async fn run(arguments: &ConfigArguments, console: &Console) -> Result<Exit, Failure> {
    let selection = Selection::read(arguments, console.environment())?;
    let report = Report::of(&selection, console).await;
    if console.is_json() {
        console.json(&report.to_json(&selection))?;
    } else {
        report.show(&selection, console)?;
    }
    Ok(if report.count(Verdict::Invalid) == 0 {
        Exit::Success
    } else {
        Exit::Configuration
    })
}

/// What is to be said of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok,
    Invalid,
    Disabled,
    Untrusted,
}

impl Verdict {
    const ALL: [Verdict; 4] = [
        Verdict::Ok,
        Verdict::Invalid,
        Verdict::Disabled,
        Verdict::Untrusted,
    ];

    fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Invalid => "invalid",
            Verdict::Disabled => "disabled",
            Verdict::Untrusted => "untrusted",
        }
    }

    fn look(self) -> Look {
        match self {
            Verdict::Ok => Look::Good,
            Verdict::Invalid => Look::Bad,
            Verdict::Disabled => Look::Dim,
            Verdict::Untrusted => Look::Odd,
        }
    }
}

struct Report<'s> {
    servers: Vec<Checked<'s>>,
    warnings: Vec<ConfigProblem>,
}

struct Checked<'s> {
    name: &'s str,
    verdict: Verdict,
    definition: Option<&'s ServerDefinition>,
    problem: Option<ConfigProblem>,
}

impl<'s> Report<'s> {
    async fn of(selection: &'s Selection, console: &Console) -> Self {
        let mut servers = Vec::new();
        let mut warnings = selection.config.warnings.clone();
        for entry in &selection.config.servers {
            let (verdict, problem) = match &entry.definition {
                Err(problem) => (Verdict::Invalid, Some(problem.clone())),
                Ok(definition) if !definition.enabled => (Verdict::Disabled, None),
                Ok(definition) => match prepare(definition, selection, console).await {
                    Ok(odd) => {
                        warnings.extend(odd);
                        (Verdict::Ok, None)
                    }
                    Err(problem) => (Verdict::Invalid, Some(problem)),
                },
            };
            servers.push(Checked {
                name: &entry.name,
                verdict,
                definition: entry.definition.as_ref().ok(),
                problem,
            });
        }
        servers.extend(selection.untrusted.iter().map(|definition| Checked {
            name: &definition.name,
            verdict: Verdict::Untrusted,
            definition: Some(definition),
            problem: None,
        }));
        Self { servers, warnings }
    }

    fn count(&self, verdict: Verdict) -> usize {
        let of_it = self
            .servers
            .iter()
            .filter(|server| server.verdict == verdict);
        of_it.count()
    }

    fn to_json(&self, selection: &Selection) -> Value {
        json!({
            "files": selection.files,
            "servers": self.servers.iter().map(Checked::to_json).collect::<Vec<_>>(),
            "warnings": self.warnings.iter().map(records::problem).collect::<Vec<_>>(),
        })
    }

    fn show(&self, selection: &Selection, console: &Console) -> Result<(), Failure> {
        for file in selection.files.iter().filter(|file| file.found) {
            let layer = match file.layer {
                Layer::Named => "file",
                Layer::User => "user",
                Layer::Project => "project",
            };
            let layer = console.style().paint(Look::Dim, layer);
            console.line(format!("{layer} {}", file.path.display()))?;
        }
        for server in &self.servers {
            console.line("")?;
            server.show(console)?;
        }
        if !self.warnings.is_empty() {
            console.line("")?;
        }
        for warning in &self.warnings {
            let label = console.style().paint(Look::Odd, "warning:");
            console.line(format!("{label} {warning}"))?;
        }
        let counts: Vec<String> = Verdict::ALL
            .into_iter()
            .map(|verdict| (verdict, self.count(verdict)))
            .filter(|(_, count)| *count > 0)
            .map(|(verdict, count)| format!("{count} {}", verdict.name()))
            .collect();
        console.line("")?;
        console.line(match counts.is_empty() {
            true => "no servers".to_owned(),
            false => counts.join(", "),
        })?;
        if self.count(Verdict::Untrusted) > 0 {
            console.note(Look::Dim, "hint:", TRUST_HINT);
        }
        Ok(())
    }
}

impl Checked<'_> {
    fn to_json(&self) -> Value {
        let definition = self.definition;
        let source = definition.and_then(|definition| definition.origin.source.as_deref());
        let fields: BTreeMap<&str, Place> = definition
            .into_iter()
            .flat_map(|definition| definition.origin.explain())
            .map(|(field, origin)| {
                let position = Some(origin.position);
                (field, Place::new(origin.source.as_deref(), position))
            })
            .collect();
        let place = match (definition, &self.problem) {
            (Some(definition), _) => Place::new(source, definition.origin.entry),
            (None, Some(problem)) => Place::new(problem.origin.as_deref(), problem.position),
            (None, None) => Place::new(None, None),
        };
        json!({
            "server": self.name,
            "verdict": self.verdict.name(),
            "transport": definition.map(transport),
            "launch": definition.map(launch_line),
            "fingerprint": definition.map(fingerprint),
            "place": place,
            "fields": fields,
            "problem": self.problem.as_ref().map(records::problem),
        })
    }

    fn show(&self, console: &Console) -> Result<(), Failure> {
        let style = console.style();
        let mut title = format!(
            "{} {}",
            style.paint(Look::Bold, &self.name.escape_debug().to_string()),
            style.paint(self.verdict.look(), self.verdict.name())
        );
        if let Some(definition) = self.definition {
            title = format!("{title} {}", style.paint(Look::Dim, transport(definition)));
        }
        console.line(title)?;
        if let Some(problem) = &self.problem {
            console.line(format!(
                "  {}",
                style.paint(Look::Bad, &problem.to_string())
            ))?;
        }
        if let Some(definition) = self.definition {
            console.line(format!("  {}", launch_line(definition)))?;
            for line in origins(definition) {
                console.line(format!("    {}", style.paint(Look::Dim, &line)))?;
            }
        }
        Ok(())
    }
}

/// Where each field was written, in the order of the file; what the other file changed comes last.
fn origins(definition: &ServerDefinition) -> Vec<String> {
    let fields = definition.origin.explain();
    let width = fields.iter().map(|(field, _)| field.chars().count()).max();
    let width = width.unwrap_or_default();
    fields
        .into_iter()
        .map(|(field, origin)| {
            let field = field.escape_debug().to_string();
            let source = origin.source.unwrap_or_default();
            format!("{field:width$}  {source}:{}", origin.position)
        })
        .collect()
}

fn transport(definition: &ServerDefinition) -> &'static str {
    match definition.transport {
        Transport::Stdio(_) => "stdio",
        Transport::Http(_) => "http",
        Transport::Sse(_) => "sse",
    }
}

/// Goes as far as a start does before it starts something: variables, paths, the program. Gives
/// what is odd.
async fn prepare(
    definition: &ServerDefinition,
    selection: &Selection,
    console: &Console,
) -> Result<Vec<ConfigProblem>, ConfigProblem> {
    let commands = SecretCommands::new(Arc::new(NotRun));
    let limits = Limits::default();
    let context = ResolveContext {
        environment: console.environment(),
        base_dir: &selection.base_dir,
        expand: Some(ExpandMode::All),
        default_inherit_env: Some(&[]),
        resident: false,
        secret_commands: Some(&commands),
        limits: &limits,
    };
    let resolved = resolve(definition, &context).await?;
    let mut odd = resolved.warnings;
    if let ResolvedServer::Stdio {
        program, directory, ..
    } = &resolved.server
    {
        let missing = find_program(program, resolved.server.search_path(), directory).err();
        // The program may be there when the server is started.
        odd.extend(missing.map(|error| ConfigProblem {
            origin: definition.origin.source.clone(),
            position: definition.origin.position("command"),
            server: Some(definition.name.clone()),
            field: Some("command".to_owned()),
            reason: resolved.redactor.mask(&error.to_string()).into_owned(),
        }));
    }
    Ok(odd)
}

/// Stands for commands that print secrets: a check starts nothing, so what they print is not known.
struct NotRun;

#[async_trait]
impl CommandRunner for NotRun {
    async fn run(&self, _: SecretCommand) -> Result<Vec<u8>, CommandFailure> {
        Ok(b"not run".to_vec())
    }
}
