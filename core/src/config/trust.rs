//! What a layer would start that its host did not allow.

use super::definition::ServerDefinition;
use super::parse::{ParsedConfig, ServerEntry};

/// Takes out of `upper` every entry that would start something and that `is_trusted` refuses, and returns what would have
/// been started. Laid over `lower` then, the entry below stays in force.
///
/// An entry starts its own server, or one of `lower` that it switches on. What is switched off, and what changes only how
/// tools are shown, needs no trust; neither does an entry that cannot be used.
pub fn without_untrusted(
    mut upper: ParsedConfig,
    lower: &ParsedConfig,
    mut is_trusted: impl FnMut(&ServerDefinition) -> bool,
) -> (ParsedConfig, Vec<ServerDefinition>) {
    let mut refused = Vec::new();
    upper.servers.retain(|entry| {
        let started = started_by(entry, lower).filter(|definition| !is_trusted(definition));
        let is_allowed = started.is_none();
        refused.extend(started);
        is_allowed
    });
    (upper, refused)
}

/// What would be started because of this entry: its own server, or one that it switches on.
fn started_by(entry: &ServerEntry, lower: &ParsedConfig) -> Option<ServerDefinition> {
    match (&entry.definition, &entry.adjustment) {
        (Ok(definition), _) => definition.enabled.then(|| definition.clone()),
        (Err(_), Some(adjustment)) if adjustment.enabled == Some(true) => {
            let below = lower.servers.iter().find(|other| other.name == entry.name);
            let definition = below?.definition.as_ref().ok()?;
            (!definition.enabled).then(|| definition.clone())
        }
        (Err(_), _) => None,
    }
}
