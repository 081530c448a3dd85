//! One layer of configuration over another: the project's over the user's.
//!
//! An entry replaces the one of the same name whole, so that a program named by a project never gets what the user
//! configured for another. Only what says nothing about what is started can be changed without restating the entry.
//! Whether a layer is trusted is not decided here.

use super::definition::FieldOrigin;
use super::entry::Adjustment;
use super::parse::{ParsedConfig, ServerEntry};
use super::problem::ConfigProblem;

/// Lays `upper` over `lower`.
///
/// - A usable entry takes the place of the lower one of the same name.
/// - An entry with nothing but `enabled`, `disabled`, `exposure` or `toolExposure` changes just those of the lower one.
/// - An entry that cannot be used leaves the lower one in force and becomes a warning.
///
/// The order is the lower layer's, followed by what is new.
#[must_use]
pub fn layer(lower: ParsedConfig, upper: ParsedConfig) -> ParsedConfig {
    let mut layered = lower;
    layered.warnings.extend(upper.warnings);
    for entry in upper.servers {
        let below = layered
            .servers
            .iter_mut()
            .find(|below| below.name == entry.name);
        match (entry, below) {
            (
                ServerEntry {
                    definition: Err(_),
                    adjustment: Some(adjustment),
                    ..
                },
                Some(below),
            ) => {
                adjust(below, adjustment);
            }
            (
                ServerEntry {
                    definition: Err(problem),
                    ..
                },
                Some(below),
            ) => {
                layered.warnings.push(without_effect(problem, below));
            }
            (entry, Some(below)) => *below = entry,
            (entry, None) => layered.servers.push(with_base_missing(entry)),
        }
    }
    layered
}

fn adjust(below: &mut ServerEntry, adjustment: Adjustment) {
    below.enabled = adjustment.enabled.unwrap_or(below.enabled);
    let Ok(definition) = &mut below.definition else {
        return;
    };
    definition.enabled = below.enabled;
    if adjustment.exposure.is_some() {
        definition.exposure = adjustment.exposure;
    }
    if let Some(tool_exposure) = adjustment.tool_exposure {
        definition.tool_exposure = tool_exposure;
    }
    let source = adjustment.origin.source;
    let fields = adjustment.origin.fields.into_iter();
    definition
        .origin
        .changed
        .extend(fields.map(|(field, position)| {
            let source = source.clone();
            (field, FieldOrigin { source, position })
        }));
}

fn without_effect(mut problem: ConfigProblem, below: &ServerEntry) -> ConfigProblem {
    let source = below.definition.as_ref().map_or_else(
        |other| &other.origin,
        |definition| &definition.origin.source,
    );
    let lower = source.as_deref().unwrap_or("the lower layer");
    problem.reason = format!("{}; the entry of {lower} stays in force", problem.reason);
    problem
}

fn with_base_missing(mut entry: ServerEntry) -> ServerEntry {
    if let (Err(problem), Some(_)) = (&mut entry.definition, &entry.adjustment) {
        problem.reason =
            "changes a server that no lower layer has; give it command or url".to_owned();
    }
    entry
}
