//! Tools that a model finds by searching (SPEC 7.6): each stays out of the list until it was found.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::catalog::Catalog;
use crate::error::{CallError, Executed, FailureKind};
use crate::json::RawJson;
use crate::tool::{
    Backend, CallContext, SchemaForm, Tool, ToolDefinition, ToolResult, read_listing,
};

/// The name of the tool that searches. No tool of a server can have it.
pub const SEARCH_TOOL: &str = "search_tools";
/// Whose tool it says that it is.
const OWNER: &str = "mcp-resident";
/// Tools that one search brings in at most.
const MAX_FOUND: usize = 10;
/// A word in a tool's name counts as much as so many in its description.
const NAME_WEIGHT: usize = 4;

/// What is deferred now, and what was found in the life of the session.
#[derive(Default)]
pub(super) struct Deferred {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tools: Vec<Arc<Tool>>,
    /// In the order in which they were found: the list only grows at its end.
    found: Vec<String>,
}

impl Deferred {
    /// Takes the tools that are deferred now, and returns those among them that were found.
    pub(super) fn renew(&self, tools: Vec<Arc<Tool>>) -> Vec<Arc<Tool>> {
        let mut state = self.lock();
        let by_name: HashMap<&str, &Arc<Tool>> =
            tools.iter().map(|tool| (tool.name(), tool)).collect();
        let found = state
            .found
            .iter()
            .filter_map(|name| by_name.get(name.as_str()));
        let found = found.map(|tool| Arc::clone(tool)).collect();
        state.tools = tools;
        found
    }

    /// The tool that searches.
    pub(super) fn search_tool(self: &Arc<Self>) -> Arc<Tool> {
        let backend = Arc::clone(self) as Arc<dyn Backend>;
        let owner: Arc<str> = OWNER.into();
        let tool = Tool::new(
            SEARCH_TOOL.to_owned(),
            owner,
            definition(),
            SchemaForm::AsListed,
            backend,
        );
        Arc::new(tool)
    }

    fn search(&self, query: &str) -> String {
        let mut state = self.lock();
        let words = words(query);
        let mut scored: Vec<(usize, &Arc<Tool>)> = state
            .tools
            .iter()
            .map(|tool| (score(tool, &words), tool))
            .filter(|(score, _)| *score > 0)
            .collect();
        scored
            .sort_by(|(a, tool), (b, other)| b.cmp(a).then_with(|| tool.name().cmp(other.name())));
        scored.truncate(MAX_FOUND);
        if scored.is_empty() {
            return format!(
                "no tool fits; {} can be searched, with other words",
                state.tools.len()
            );
        }
        let lines: Vec<String> = scored.iter().map(|(_, tool)| line(tool)).collect();
        let names: Vec<String> = scored
            .iter()
            .map(|(_, tool)| tool.name().to_owned())
            .collect();
        for name in names {
            if !state.found.contains(&name) {
                state.found.push(name);
            }
        }
        format!(
            "these tools can be called from the next turn on:\n{}",
            lines.join("\n")
        )
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Backend for Deferred {
    async fn call(&self, tool: &Tool, arguments: RawJson, _: CallContext) -> ToolResult {
        let query = arguments
            .member("query")
            .and_then(|query| query.parse_as::<String>().ok());
        let Some(query) = query.filter(|query| !words(query).is_empty()) else {
            let reason = "`query` is missing: say in a few words what the tool is to do";
            return tool.failed(CallError::new(FailureKind::Arguments, Executed::No, reason));
        };
        ToolResult::told(&OWNER.into(), &SEARCH_TOOL.into(), self.search(&query))
    }
}

impl fmt::Debug for Deferred {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Deferred").finish_non_exhaustive()
    }
}

fn definition() -> ToolDefinition {
    let entry = serde_json::json!({
        "name": SEARCH_TOOL,
        "description": "Finds tools that are not listed, by words of their names and descriptions. What it finds is listed \
                        from the next turn on.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "what the tool is to do, in a few words" }
            },
            "required": ["query"],
            "additionalProperties": false
        }
    });
    let (mut tools, _) = read_listing(vec![RawJson::from(entry)]);
    tools.remove(0)
}

fn words(text: &str) -> Vec<String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// How well a tool fits: every word that its own name holds counts, and every word of its description.
fn score(tool: &Tool, wanted: &[String]) -> usize {
    let name = format!("{} {}", tool.server(), tool.server_tool()).to_lowercase();
    let description = tool.description().to_lowercase();
    wanted
        .iter()
        .map(|word| {
            NAME_WEIGHT * usize::from(name.contains(word.as_str()))
                + usize::from(description.contains(word.as_str()))
        })
        .sum()
}

fn line(tool: &Tool) -> String {
    let about = tool.description().lines().next().unwrap_or_default();
    format!("{}: {about}", tool.name())
}

/// The tools of a catalog that are deferred.
pub(super) fn deferred_in(
    catalog: &Catalog,
    is_deferred: impl Fn(&Tool) -> bool,
) -> Vec<Arc<Tool>> {
    let tools = catalog.tools().iter();
    tools.filter(|tool| is_deferred(tool)).cloned().collect()
}
