//! [`Tool`]: what a host lists for a model and calls.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use tokio_util::sync::CancellationToken;

use super::argument_rules::ArgumentRules;
use super::definition::{SchemaForm, ToolDefinition, model_schema};
use super::{Arguments, ToolResult};
use crate::error::{CallError, Executed, FailureKind};
use crate::json::RawJson;

/// How the placeholder of a server that was never listed is called, after the server's name.
pub(crate) const PLACEHOLDER_SUFFIX: &str = "connect";

/// Who hears of a call's progress: the `params` of each notification, on the caller's task.
pub type ProgressObserver = Arc<dyn Fn(RawJson) + Send + Sync>;

/// What a caller may say about one call.
#[derive(Clone, Default)]
pub struct CallContext {
    /// Cancels the call: the server is told once, and the call ends at once.
    pub cancel: Option<CancellationToken>,
    /// How long the server may be silent. Progress starts it anew; the total limit stays. Unset: the
    /// server's `timeout`.
    pub timeout: Option<Duration>,
    /// Is told of progress, in order and before the call ends.
    pub progress: Option<ProgressObserver>,
}

impl fmt::Debug for CallContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallContext")
            .field("cancel", &self.cancel.is_some())
            .field("timeout", &self.timeout)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}

impl CallContext {
    /// A call that may be silent for `timeout`.
    pub fn with_timeout(timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            ..Self::default()
        }
    }

    /// A call that ends when `cancel` is cancelled.
    pub fn with_cancel(cancel: CancellationToken) -> Self {
        Self {
            cancel: Some(cancel),
            ..Self::default()
        }
    }
}

/// Runs the calls of a tool.
#[async_trait]
pub(crate) trait Backend: fmt::Debug + Send + Sync {
    /// Runs one call. Never fails: what goes wrong is a result.
    async fn call(&self, tool: &Tool, arguments: RawJson, context: CallContext) -> ToolResult;
}

/// One tool of one server, under the name that a model sees.
///
/// A tool stays usable however often its server is restarted: each call uses the connection of that
/// moment. It is shared, and a list that was refreshed holds the same one as before as long as its
/// definition did not change.
pub struct Tool {
    name: String,
    server: Arc<str>,
    definition: ToolDefinition,
    schema_form: SchemaForm,
    schema: OnceLock<RawJson>,
    argument_rules: OnceLock<ArgumentRules>,
    backend: Arc<dyn Backend>,
}

impl Tool {
    pub(crate) fn new(
        name: String,
        server: Arc<str>,
        definition: ToolDefinition,
        schema_form: SchemaForm,
        backend: Arc<dyn Backend>,
    ) -> Self {
        Self {
            name,
            server,
            definition,
            schema_form,
            schema: OnceLock::new(),
            argument_rules: OnceLock::new(),
            backend,
        }
    }

    /// The name for a model: at most 64 characters of `[A-Za-z0-9_-]`, unique in its source.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server's name in the configuration.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The tool's own name on its server.
    pub fn server_tool(&self) -> &str {
        &self.definition.name
    }

    /// What the tool does, in the server's words; empty when it has none.
    pub fn description(&self) -> &str {
        &self.definition.description
    }

    /// The tool's title for people.
    pub fn title(&self) -> Option<&str> {
        self.definition.title.as_deref()
    }

    /// The schema of arguments for a model: the server's, as a closed object (SPEC 2.6); in a session, as it is.
    pub fn input_schema(&self) -> &RawJson {
        match self.schema_form {
            SchemaForm::AsListed => &self.definition.input_schema,
            SchemaForm::Closed => self
                .schema
                .get_or_init(|| model_schema(&self.definition.input_schema)),
        }
    }

    /// The schema of arguments as the server gave it.
    pub fn server_schema(&self) -> &RawJson {
        &self.definition.input_schema
    }

    /// The schema of `structuredContent`, when the server gave one.
    pub fn output_schema(&self) -> Option<&RawJson> {
        self.definition.output_schema.as_ref()
    }

    /// The server's hints about the tool. They are claims of the server, not facts.
    pub fn annotations(&self) -> Option<&RawJson> {
        self.definition.annotations.as_ref()
    }

    /// Always `mcp`.
    pub fn source(&self) -> &'static str {
        "mcp"
    }

    /// Calls the tool and waits for its result.
    ///
    /// Never fails by itself: every failure is a result with `is_error` and `metadata.error`.
    /// Dropping the future cancels the call.
    pub async fn execute(
        &self,
        arguments: impl Into<Arguments>,
        context: CallContext,
    ) -> ToolResult {
        match arguments.into().to_object() {
            Ok(arguments) => {
                let call = self.backend.call(self, arguments, context);
                match AssertUnwindSafe(call).catch_unwind().await {
                    Ok(result) => result,
                    Err(_) => self.failed(CallError::new(
                        FailureKind::Internal,
                        Executed::Unknown,
                        "the call failed inside of mcp-resident, which is a defect of it: please report it",
                    )),
                }
            }
            Err(reason) => {
                self.failed(CallError::new(FailureKind::Arguments, Executed::No, reason))
            }
        }
    }

    /// What its arguments are checked with; made when it is first needed, and then what of the schema cannot be used is
    /// reported.
    pub(crate) fn argument_rules(&self, report: impl FnMut(String)) -> &ArgumentRules {
        self.argument_rules.get_or_init(|| {
            let mut rules = ArgumentRules::of(&self.definition.input_schema);
            std::mem::take(&mut rules.left_out)
                .into_iter()
                .for_each(report);
            rules
        })
    }

    pub(crate) fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    pub(crate) fn failed(&self, error: CallError) -> ToolResult {
        ToolResult::failed(&self.server, &self.definition.name, error)
    }

    /// Whether the server claims that calling the tool twice does no more than calling it once.
    pub(crate) fn claims_to_be_repeatable(&self) -> bool {
        ["readOnlyHint", "idempotentHint"].into_iter().any(|hint| {
            let annotations = self.definition.annotations.as_ref();
            annotations
                .and_then(|a| a.member(hint))
                .is_some_and(|hint| hint.as_str() == "true")
        })
    }
}

/// Everything that can be asked of it, under the same names in camelCase; what the server did not
/// give is `null`.
impl Serialize for Tool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Tool", 10)?;
        fields.serialize_field("name", self.name())?;
        fields.serialize_field("description", self.description())?;
        fields.serialize_field("source", self.source())?;
        fields.serialize_field("server", self.server())?;
        fields.serialize_field("serverTool", self.server_tool())?;
        fields.serialize_field("title", &self.title())?;
        fields.serialize_field("inputSchema", self.input_schema())?;
        fields.serialize_field("serverSchema", self.server_schema())?;
        fields.serialize_field("outputSchema", &self.output_schema())?;
        fields.serialize_field("annotations", &self.annotations())?;
        fields.end()
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tool")
            .field("name", &self.name)
            .field("server", &self.server)
            .field("server_tool", &self.definition.name)
            .finish_non_exhaustive()
    }
}
