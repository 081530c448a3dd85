//! From a definition to what is started: references replaced, commands run, paths made absolute.
//!
//! This happens at every start, so that a changed variable or a forgotten secret takes effect. What comes out holds
//! secrets: it is kept by whoever starts the server, and a [`Redactor`] that knows them goes with it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use futures_util::future::try_join_all;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::definition::{Protocol, RemoteDefinition, ServerDefinition, StdioDefinition, Transport};
use super::env_scope::{Inherit, child_environment};
use super::environment::Platform;
use super::expand::{ExpandMode, Expanded, Grammar, expand};
use super::problem::ConfigProblem;
use super::redact::Redactor;
use super::resolve_context::ResolveContext;
use super::resolved::{RemoteKind, Resolved, ResolvedServer};
use super::secret_command::{SecretCommand, command_in};
use super::sensitive;
use super::url::check_url;

/// What a secret command gets besides the source's own choice: where key stores are found.
const COMMAND_VARIABLES: &[&str] = &["DBUS_SESSION_BUS_ADDRESS", "GNUPGHOME", "XDG_RUNTIME_DIR"];

/// Makes a definition ready to be started.
///
/// # Errors
///
/// When a variable without a default is unset, a command fails, or a value cannot be used where it stands. The problem
/// names the field and never the value.
pub async fn resolve(
    definition: &ServerDefinition,
    context: &ResolveContext<'_>,
) -> Result<Resolved, ConfigProblem> {
    let mut resolver = Resolver {
        definition,
        context,
        mode: context.expand_mode(definition),
        base_dir: definition.base_dir.as_deref().unwrap_or(context.base_dir),
        redactor: Redactor::new(context.environment),
        warnings: Vec::new(),
    };
    let server = match &definition.transport {
        Transport::Stdio(stdio) => resolver.stdio(stdio).await?,
        Transport::Http(remote) => resolver.remote(remote, RemoteKind::Http).await?,
        Transport::Sse(remote) => resolver.remote(remote, RemoteKind::Sse).await?,
    };
    Ok(Resolved {
        server,
        redactor: resolver.redactor,
        warnings: resolver.warnings,
    })
}

struct Resolver<'a> {
    definition: &'a ServerDefinition,
    context: &'a ResolveContext<'a>,
    mode: ExpandMode,
    base_dir: &'a Path,
    redactor: Redactor,
    warnings: Vec<ConfigProblem>,
}

impl Resolver<'_> {
    async fn stdio(&mut self, stdio: &StdioDefinition) -> Result<ResolvedServer, ConfigProblem> {
        let base_dir = self.base_dir;
        let command = self.text("command", &stdio.command, Grammar::Word)?;
        let program = self.program(&command)?;
        let args = stdio
            .args
            .iter()
            .enumerate()
            .map(|(index, arg)| self.text(&format!("args[{index}]"), arg, Grammar::Word))
            .collect::<Result<Vec<_>, _>>()?;
        for (arg, secrets) in args.iter().zip(sensitive::in_args(&args)) {
            for secret in secrets {
                self.redactor.add_encoded(&arg[secret]);
            }
        }
        let directory = match &stdio.cwd {
            Some(cwd) => normal(&base_dir.join(self.text("cwd", cwd, Grammar::Directory)?)),
            None => base_dir.to_owned(),
        };
        let env: Vec<_> = stdio
            .env
            .iter()
            .map(|(name, value)| (format!("env.{name}"), value.as_deref()))
            .collect();
        let values = self.values(&env).await?;
        for ((field, _), value) in env.iter().zip(&values) {
            if value.as_deref().is_some_and(|value| value.contains('\0')) {
                return Err(self
                    .definition
                    .problem(field, "has a value with a NUL character; remove it"));
            }
        }
        let explicit: Vec<_> = stdio
            .env
            .iter()
            .map(|(name, _)| name.clone())
            .zip(values)
            .collect();
        let inherit = self.context.inherit(self.definition);
        let environment = child_environment(self.context.environment, &inherit, &explicit);
        Ok(ResolvedServer::Stdio {
            program,
            args,
            environment,
            directory,
            inherit,
        })
    }

    /// A path is relative to the base directory; a bare name is left to be looked up, never in the current directory.
    fn program(&self, command: &str) -> Result<OsString, ConfigProblem> {
        let windows = self.context.environment.platform() == Platform::Windows;
        if command.trim().is_empty() {
            return Err(self
                .definition
                .problem("command", "is empty after its variables were inserted"));
        }
        let is_path = command.contains('/') || windows && command.contains('\\');
        Ok(if is_path {
            normal(&self.base_dir.join(command)).into_os_string()
        } else {
            command.into()
        })
    }

    async fn remote(
        &mut self,
        remote: &RemoteDefinition,
        kind: RemoteKind,
    ) -> Result<ResolvedServer, ConfigProblem> {
        let url = self.text("url", &remote.url, Grammar::Address)?;
        let parsed = check_url(&url).map_err(|reason| self.definition.problem("url", reason))?;
        let url = String::from(parsed);
        for secret in sensitive::in_url(&url) {
            self.redactor.add_encoded(&url[secret]);
        }
        let fields: Vec<_> = remote
            .headers
            .iter()
            .map(|(name, value)| (format!("headers.{name}"), Some(value.as_str())))
            .collect();
        let values = self.values(&fields).await?;
        let mut headers = HeaderMap::with_capacity(values.len());
        for ((field, _), ((name, _), value)) in fields.iter().zip(remote.headers.iter().zip(values))
        {
            let (name, value) = self.header(field, name, value.as_deref().unwrap_or_default())?;
            headers.insert(name, value);
        }
        let legacy_sse_allowed =
            kind == RemoteKind::Http && self.definition.protocol != Protocol::Modern;
        Ok(ResolvedServer::Remote {
            url,
            headers,
            kind,
            legacy_sse_allowed,
        })
    }

    fn header(
        &self,
        field: &str,
        name: &str,
        value: &str,
    ) -> Result<(HeaderName, HeaderValue), ConfigProblem> {
        let name = HeaderName::try_from(name).map_err(|_| {
            self.definition
                .problem(field, "is not a possible name of a header")
        })?;
        let mut value = HeaderValue::try_from(value.as_bytes()).map_err(|_| {
            let reason =
                "has a value with a line break, NUL or another control character; remove it";
            self.definition.problem(field, reason)
        })?;
        value.set_sensitive(true);
        Ok((name, value))
    }

    /// Values of env or headers; commands among them run side by side.
    async fn values(
        &mut self,
        fields: &[(String, Option<&str>)],
    ) -> Result<Vec<Option<String>>, ConfigProblem> {
        let outputs = try_join_all(
            fields
                .iter()
                .map(|(field, value)| self.command_output(field, *value)),
        )
        .await?;
        let mut values = Vec::with_capacity(fields.len());
        for ((field, template), output) in fields.iter().zip(outputs) {
            let value = match (output, template) {
                (Some(secret), _) => Some(secret),
                (None, Some(template)) => Some(self.value(field, template)?),
                (None, None) => None,
            };
            if let Some(value) = &value {
                self.redactor.add(value);
            }
            values.push(value);
        }
        Ok(values)
    }

    async fn command_output(
        &self,
        field: &str,
        value: Option<&str>,
    ) -> Result<Option<String>, ConfigProblem> {
        let Some(text) = value
            .filter(|_| self.mode == ExpandMode::All)
            .and_then(command_in)
        else {
            return Ok(None);
        };
        let Some(commands) = self.context.secret_commands else {
            let reason = "is a command, and commands are not allowed here; allow them, or write !! for a text";
            return Err(self.definition.problem(field, reason));
        };
        let command =
            SecretCommand::new(text, self.command_environment(), self.base_dir.to_owned());
        let output = commands
            .output(command.with_limits(&self.definition.limits_over(self.context.limits)))
            .await;
        output
            .map(|secret| Some(secret.to_string()))
            .map_err(|failure| self.definition.problem(field, failure.to_string()))
    }

    /// The same for every server, because servers share the run.
    fn command_environment(&self) -> Vec<(OsString, OsString)> {
        let mut inherit = self.context.source_inherit(self.context.resident);
        if let Inherit::Names(names) = &mut inherit {
            names.extend(COMMAND_VARIABLES.iter().map(|&name| name.to_owned()));
        }
        child_environment(self.context.environment, &inherit, &[])
    }

    fn value(&mut self, field: &str, template: &str) -> Result<String, ConfigProblem> {
        let in_header = matches!(
            self.definition.transport,
            Transport::Http(_) | Transport::Sse(_)
        );
        match self.mode {
            ExpandMode::All => {
                let template = template.strip_prefix('!').unwrap_or(template);
                self.expanded(field, template, Grammar::Value)
            }
            ExpandMode::HeadersOnly if in_header => {
                self.expanded(field, template, Grammar::HeaderOfContract)
            }
            ExpandMode::HeadersOnly => Ok(template.to_owned()),
        }
    }

    fn text(
        &mut self,
        field: &str,
        template: &str,
        grammar: Grammar,
    ) -> Result<String, ConfigProblem> {
        let text = match self.mode {
            ExpandMode::All => self.expanded(field, template, grammar)?,
            ExpandMode::HeadersOnly => template.to_owned(),
        };
        if text.contains('\0') {
            return Err(self
                .definition
                .problem(field, "contains a NUL character; remove it"));
        }
        Ok(text)
    }

    fn expanded(
        &mut self,
        field: &str,
        template: &str,
        grammar: Grammar,
    ) -> Result<String, ConfigProblem> {
        let Expanded {
            text,
            inserted,
            hints,
        } = expand(template, grammar, self.context.environment)
            .map_err(|error| self.definition.problem(field, error.to_string()))?;
        for value in inserted {
            self.redactor.add(&value);
        }
        let hints = hints
            .into_iter()
            .map(|hint| self.definition.problem(field, hint.to_string()));
        self.warnings.extend(hints);
        Ok(text)
    }
}

/// Without `.` in the middle. `..` stays: what it means depends on links.
fn normal(path: &Path) -> PathBuf {
    path.components().collect()
}
