//! Loading the servers of a selection the way the command line does it: narrow environment, every
//! field expanded, secret commands allowed, because the user chose what is in the configuration.

use std::sync::Arc;

use mcp_resident::config::Lazy;
use mcp_resident::{ExpandMode, LoadOptions, McpSource, ShellCommandRunner, Wait, load_mcp};

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::selection::Selection;

/// For how long the servers are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stay {
    /// For one question: all are connected, whatever they say about being lazy.
    Briefly,
    /// Until the user ends it, who begins with what is there when most are.
    Interactive,
    /// Until the user ends it: lost ones are started again, and nothing is waited for.
    Resident,
}

/// Connects the servers that may be started.
pub(crate) async fn load(
    selection: &Selection,
    stay: Stay,
    interrupt: &Interrupt,
) -> Result<McpSource, Failure> {
    let mut config = selection.config.clone();
    if stay == Stay::Briefly {
        for entry in &mut config.servers {
            if let Ok(definition) = &mut entry.definition {
                definition.lazy = Lazy::No;
            }
        }
    }
    let mut options = LoadOptions::default();
    options.resident = stay != Stay::Briefly;
    options.wait = match stay {
        Stay::Briefly => Wait::All,
        Stay::Interactive => Wait::Ready,
        Stay::Resident => Wait::None,
    };
    options.base_dir = Some(selection.base_dir.clone());
    options.default_inherit_env = Some(Vec::new());
    options.expand = Some(ExpandMode::All);
    options.secret_commands = Some(Arc::new(ShellCommandRunner));
    options.cancel = Some(interrupt.token());
    Ok(load_mcp(config, options).await?)
}
