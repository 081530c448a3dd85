//! Tools as a host holds them, each with an id that stays with it.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_resident::{
    Arguments, CallContext, CancellationToken, Catalog, Error, RawJson, Tool as CoreTool,
};

use crate::operation::{OperationId, Outcome, start};
use crate::queue::{Queue, next_id};
use crate::source::Source;
use crate::time::milliseconds;

/// One tool of a source. It gives everything that the core's [tool](mcp_resident::Tool) gives.
pub struct Tool {
    id: u64,
    tool: Arc<CoreTool>,
    /// A tool that outlives its source answers that it is closed.
    source: Weak<Source>,
}

/// What a host may say about one call.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallOptions {
    /// How long the server may be silent. Unset: the server's `timeout`.
    pub timeout: Option<Duration>,
    /// Whether the host wants to be told of progress.
    pub progress: bool,
}

impl CallOptions {
    /// A timeout that is given is at least a millisecond: whoever has no time left does not want to wait for the server's
    /// own.
    pub fn new(timeout_ms: Option<f64>, progress: bool) -> Self {
        let least = Duration::from_millis(1);
        Self {
            timeout: timeout_ms.map(|amount| milliseconds(amount).max(least)),
            progress,
        }
    }
}

impl Tool {
    /// A number that this tool keeps for its life and no other tool has: by it a host finds its own object again.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Calls the tool. The outcome is [`Outcome::Called`], whatever happens.
    ///
    /// # Errors
    /// [`Forked`](mcp_resident::ErrorKind::Forked) after a fork.
    pub fn execute(
        &self,
        queue: &Arc<Queue>,
        arguments: Arguments,
        options: CallOptions,
    ) -> Result<OperationId, Error> {
        let lease = match self.source.upgrade() {
            Some(source) => source.lease()?,
            None => crate::io_thread::lease()?,
        };
        let token = CancellationToken::new();
        let mut context = CallContext::with_cancel(token.clone());
        context.timeout = options.timeout;
        let tool = Arc::clone(&self.tool);
        let reply_to = Arc::clone(queue);
        Ok(start(queue, lease, token, move |operation, lease| {
            if options.progress {
                context.progress = Some(Arc::new(move |params: RawJson| {
                    reply_to.progress(&lease, operation, params);
                }));
            }
            async move { Outcome::Called(tool.execute(arguments, context).await) }
        }))
    }
}

impl Deref for Tool {
    type Target = CoreTool;

    fn deref(&self) -> &CoreTool {
        &self.tool
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tool.fmt(formatter)
    }
}

/// The tools that a host was given last. As long as the core's stays the same, so does the host's.
#[derive(Default)]
pub(crate) struct ToolShelf {
    version: Option<u64>,
    list: Arc<[Arc<Tool>]>,
    by_name: HashMap<String, Arc<Tool>>,
    /// Tools that no server lists, such as the one of a session that searches.
    others: HashMap<String, Arc<Tool>>,
}

impl ToolShelf {
    pub(crate) fn tools(&mut self, source: &Arc<Source>, catalog: &Catalog) -> Arc<[Arc<Tool>]> {
        self.renew(source, catalog);
        Arc::clone(&self.list)
    }

    pub(crate) fn tool(
        &mut self,
        source: &Arc<Source>,
        catalog: &Catalog,
        name: &str,
    ) -> Option<Arc<Tool>> {
        self.renew(source, catalog);
        self.by_name.get(name).cloned()
    }

    /// The host's tool for one of the core's.
    pub(crate) fn hold(
        &mut self,
        source: &Arc<Source>,
        catalog: &Catalog,
        tool: &Arc<CoreTool>,
    ) -> Arc<Tool> {
        self.renew(source, catalog);
        let known = self
            .by_name
            .get(tool.name())
            .or_else(|| self.others.get(tool.name()));
        if let Some(known) = known.filter(|known| Arc::ptr_eq(&known.tool, tool)) {
            return Arc::clone(known);
        }
        let held = Arc::new(Tool {
            id: next_id(),
            tool: Arc::clone(tool),
            source: Arc::downgrade(source),
        });
        if catalog.tool(tool.name()).is_none() {
            self.others
                .insert(tool.name().to_owned(), Arc::clone(&held));
        }
        held
    }

    fn renew(&mut self, source: &Arc<Source>, catalog: &Catalog) {
        if self.version == Some(catalog.version()) {
            return;
        }
        let wrap = |tool: &Arc<CoreTool>| match self.by_name.get(tool.name()) {
            Some(known) if Arc::ptr_eq(&known.tool, tool) => Arc::clone(known),
            _ => Arc::new(Tool {
                id: next_id(),
                tool: Arc::clone(tool),
                source: Arc::downgrade(source),
            }),
        };
        self.list = catalog.tools().iter().map(wrap).collect();
        self.by_name = self
            .list
            .iter()
            .map(|tool| (tool.name().to_owned(), Arc::clone(tool)))
            .collect();
        // Those that nobody has any more need not be known again.
        self.others.retain(|_, tool| Arc::strong_count(tool) > 1);
        self.version = Some(catalog.version());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_that_is_given_is_never_the_servers_own() {
        for (given, taken) in [(0.0, 1), (-3.0, 1), (0.4, 1), (1.5, 2), (30.0, 30)] {
            let options = CallOptions::new(Some(given), false);
            assert_eq!(
                options.timeout,
                Some(Duration::from_millis(taken)),
                "{given}"
            );
        }
        assert_eq!(CallOptions::new(None, false).timeout, None);
        let for_ever = CallOptions::new(Some(f64::INFINITY), false).timeout;
        assert!(for_ever.unwrap() > Duration::from_secs(1 << 40));
    }
}
