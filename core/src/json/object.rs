//! The members of an object, in order, without a tree.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::RawJson;

/// The members of one JSON object, in the order in which they were written.
#[derive(Debug, Default)]
pub(crate) struct Members(Vec<(String, RawJson)>);

impl Members {
    /// The members of `value`, or nothing when it is not an object.
    pub(crate) fn of(value: &RawJson) -> Option<Members> {
        let raw: Vec<(String, &RawValue)> = serde_json::Deserializer::from_str(value.as_str())
            .deserialize_map(RawMembers)
            .ok()?;
        let members = raw.into_iter();
        Some(Members(
            members
                .map(|(name, raw)| (name, value.part(raw.get())))
                .collect(),
        ))
    }

    /// The last member of this name.
    pub(crate) fn find(&self, name: &str) -> Option<RawJson> {
        self.0
            .iter()
            .rev()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.clone())
    }

    /// Puts `value` where the first member of this name stands, or at the end; duplicates go.
    pub(crate) fn set(&mut self, name: &str, value: RawJson) {
        match self.0.iter().position(|(key, _)| key == name) {
            Some(place) => {
                self.0[place].1 = value;
                let mut at = 0;
                self.0.retain(|(key, _)| {
                    at += 1;
                    key != name || at == place + 1
                });
            }
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// The members with their names, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The object again, its members' own text unchanged.
    pub(crate) fn to_json(&self) -> RawJson {
        let mut text = String::with_capacity(
            self.0
                .iter()
                .map(|(name, value)| name.len() + value.as_str().len() + 4)
                .sum(),
        );
        text.push('{');
        for (index, (name, value)) in self.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str(&serde_json::Value::from(name).to_string());
            text.push(':');
            text.push_str(value.as_str());
        }
        text.push('}');
        RawJson::trusted(text)
    }
}

impl FromIterator<(String, RawJson)> for Members {
    fn from_iter<T: IntoIterator<Item = (String, RawJson)>>(members: T) -> Self {
        Self(members.into_iter().collect())
    }
}

struct RawMembers;

impl<'de> Visitor<'de> for RawMembers {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        text.parse().unwrap()
    }

    #[test]
    fn order_number_text_and_inner_spacing_are_kept() {
        let value = json(r#"{ "b": 1e2, "a": { "x" : -0 } }"#);
        let members = Members::of(&value).unwrap();
        assert_eq!(members.to_json().as_str(), r#"{"b":1e2,"a":{ "x" : -0 }}"#);
    }

    #[test]
    fn set_replaces_in_place_or_appends() {
        let value = json(r#"{"type":"array","title":"t"}"#);
        let mut members = Members::of(&value).unwrap();
        members.set("type", json(r#""object""#));
        members.set("properties", json("{}"));
        assert_eq!(
            members.to_json().as_str(),
            r#"{"type":"object","title":"t","properties":{}}"#
        );
    }

    #[test]
    fn set_leaves_no_duplicate_behind() {
        let value = json(r#"{"a":1,"b":2,"a":3}"#);
        let mut members = Members::of(&value).unwrap();
        members.set("a", json("4"));
        assert_eq!(members.to_json().as_str(), r#"{"a":4,"b":2}"#);
    }

    #[test]
    fn the_last_of_duplicate_members_counts() {
        assert_eq!(json(r#"{"a":1,"a":2}"#).member("a").unwrap().as_str(), "2");
    }

    #[test]
    fn what_is_not_an_object_has_no_members() {
        for text in ["[1]", "1", "null", "\"a\""] {
            assert!(Members::of(&json(text)).is_none(), "{text}");
        }
    }
}
