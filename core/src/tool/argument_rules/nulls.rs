//! Nulls of optional properties. Models write them for what they leave out, and servers refuse them.
//!
//! A null is dropped only where the arguments would be refused with it. Which ones those are is asked of the schema as a
//! whole, so that it is the same at every depth and through references and alternatives.

use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{errors, is_undecided};
use crate::json::{Members, RawJson};

/// Dropping one null can show the next. More rounds than schemas are deep.
const MAX_ROUNDS: usize = 32;

/// One step from a value into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Member(String),
    Item(usize),
}

/// Where something is in a value.
pub(super) type Place = Vec<Step>;

/// The places of the nulls without which the value is accepted; or, when nothing helps, the value that is refused: without
/// the nulls that have nothing to do with it.
pub(super) fn without_refused(validator: &Validator, value: Value) -> Result<Vec<Place>, Value> {
    let mut value = value;
    let mut dropped: Vec<Place> = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let mut refused = Vec::new();
        for error in errors(validator, &value) {
            collect_refused(&error, &mut refused);
        }
        if refused.is_empty() {
            break;
        }
        for place in refused {
            if set(&mut value, &place, None) {
                dropped.push(place);
            }
        }
    }
    if errors(validator, &value).next().is_some() {
        // A property that must be there is not left out for being null: then that is what is wrong.
        for place in missing(validator, &value) {
            if dropped.contains(&place) {
                set(&mut value, &place, Some(Value::Null));
            }
        }
        return Err(value);
    }
    // What was refused by one alternative may be what another one wants.
    dropped.retain(|place| {
        set(&mut value, place, Some(Value::Null));
        let refused = errors(validator, &value).next().is_some();
        if refused {
            set(&mut value, place, None);
        }
        refused
    });
    Ok(dropped)
}

/// Adds the places of nulls in objects that an error is about.
fn collect_refused(error: &ValidationError<'_>, refused: &mut Vec<Place>) {
    if error.instance().is_null() {
        let place = steps(error.instance_path());
        if matches!(place.last(), Some(Step::Member(_))) && !refused.contains(&place) {
            refused.push(place);
        }
        return;
    }
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            for error in context
                .iter()
                .flatten()
                .filter(|error| !is_undecided(error))
            {
                collect_refused(error, refused);
            }
        }
        _ => {}
    }
}

/// The places of the properties that have to be there and are not.
fn missing(validator: &Validator, value: &Value) -> Vec<Place> {
    errors(validator, value)
        .filter_map(|error| match error.kind() {
            ValidationErrorKind::Required {
                property: Value::String(name),
            } => {
                let mut place = steps(error.instance_path());
                place.push(Step::Member(name.clone()));
                Some(place)
            }
            _ => None,
        })
        .collect()
}

fn steps(location: &Location) -> Place {
    location
        .iter()
        .map(|segment| match segment {
            LocationSegment::Property(name) => Step::Member(name.into_owned()),
            LocationSegment::Index(index) => Step::Item(index),
        })
        .collect()
}

/// Sets the member at `place`, or removes it. Returns whether there is such a place.
fn set(value: &mut Value, place: &[Step], new: Option<Value>) -> bool {
    let Some((Step::Member(name), way)) = place.split_last() else {
        return false;
    };
    let mut parent = value;
    for step in way {
        let next = match step {
            Step::Member(name) => parent.get_mut(name),
            Step::Item(index) => parent.get_mut(index),
        };
        let Some(next) = next else { return false };
        parent = next;
    }
    let Value::Object(parent) = parent else {
        return false;
    };
    match new {
        Some(new) => parent.insert(name.clone(), new).is_none(),
        None => parent.shift_remove(name).is_some(),
    }
}

/// The same removal on the text, of which everything else stays as it was written.
pub(super) fn remove_from_text(text: &RawJson, places: &[Place]) -> RawJson {
    remove(text, &places.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn remove(value: &RawJson, places: &[&[Step]]) -> RawJson {
    let below = |step: &Step| -> Vec<&[Step]> {
        let through = places.iter().filter(|place| place.first() == Some(step));
        through.map(|place| &place[1..]).collect()
    };
    if let Some(members) = Members::of(value) {
        let kept = members.iter().filter_map(|(name, member)| {
            let places = below(&Step::Member(name.to_owned()));
            match places.iter().any(|place| place.is_empty()) {
                true => None,
                false => Some((name.to_owned(), remove_within(member, &places))),
            }
        });
        return kept.collect::<Members>().to_json();
    }
    match serde_json::from_str::<Vec<&RawValue>>(value.as_str()) {
        Ok(items) => {
            let items = items.into_iter().enumerate().map(|(index, item)| {
                remove_within(&value.part(item.get()), &below(&Step::Item(index)))
            });
            let items: Vec<RawJson> = items.collect();
            let texts: Vec<&str> = items.iter().map(RawJson::as_str).collect();
            RawJson::trusted(format!("[{}]", texts.join(",")))
        }
        Err(_) => value.clone(),
    }
}

fn remove_within(value: &RawJson, places: &[&[Step]]) -> RawJson {
    if places.is_empty() {
        value.clone()
    } else {
        remove(value, places)
    }
}
