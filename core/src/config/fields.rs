//! Taking the fields of one entry apart: each is asked for by name and type, and what nobody asked for is left over.
//!
//! The field types known here are JSON's; what the fields mean is the business of `entry`.

use super::definition::Origin;
use super::document::{Member, Node, NodeValue};
use super::hints::camel_case;
use super::problem::{ConfigProblem, Position};

/// The fields of one entry that were not taken yet.
pub(crate) struct Fields {
    server: String,
    members: Vec<Member>,
    /// The fields that were taken, as they are called here.
    taken: Vec<String>,
    pub(crate) origin: Origin,
}

/// One field that was taken: `name` as it was written, `key` as it is called here.
pub(crate) struct Field {
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) at: Option<Position>,
    pub(crate) node: Node,
}

impl Fields {
    pub(crate) fn new(
        server: &str,
        source: Option<&str>,
        at: Option<Position>,
        members: Vec<Member>,
    ) -> Self {
        let origin = Origin {
            source: source.map(str::to_owned),
            entry: at,
            ..Origin::default()
        };
        Self {
            server: server.to_owned(),
            members,
            taken: Vec::new(),
            origin,
        }
    }

    /// The names of the fields that are not null, as they are called here.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.members
            .iter()
            .filter(|member| !member.value.is_null())
            .map(|member| camel_case(&member.name))
    }

    /// Whether a field of this name was there and taken.
    pub(crate) fn had(&self, key: &str) -> bool {
        self.taken.iter().any(|taken| taken == key)
    }

    /// Takes the field that has one of these names, all of which mean `names[0]`; a null field is no field.
    pub(crate) fn take(&mut self, names: &[&str]) -> Result<Option<Field>, ConfigProblem> {
        let mut found = self.take_all(names);
        match (found.pop(), found.pop()) {
            (None, _) => Ok(None),
            (Some(field), None) => Ok(Some(field)),
            (Some(later), Some(earlier)) => Err(self.problem(
                &later,
                format!("the same as {}; keep one of them", earlier.name),
            )),
        }
    }

    /// Takes every field that has one of these names, in the order written.
    pub(crate) fn take_all(&mut self, names: &[&str]) -> Vec<Field> {
        let (taken, left) = std::mem::take(&mut self.members)
            .into_iter()
            .partition::<Vec<_>, _>(|member| names.contains(&camel_case(&member.name).as_str()));
        self.members = left;
        taken
            .into_iter()
            .filter(|member| !member.value.is_null())
            .map(|member| {
                self.note(names[0], member.at);
                self.taken.push(names[0].to_owned());
                Field {
                    key: names[0].to_owned(),
                    name: member.name,
                    at: member.at,
                    node: member.value,
                }
            })
            .collect()
    }

    /// Takes everything that is left, null fields left out.
    pub(crate) fn drain(&mut self) -> Vec<Member> {
        let members = std::mem::take(&mut self.members);
        members
            .into_iter()
            .filter(|member| !member.value.is_null())
            .collect()
    }

    pub(crate) fn problem(&self, field: &Field, reason: impl Into<String>) -> ConfigProblem {
        self.problem_at(Some(&field.name), field.at, reason)
    }

    pub(crate) fn problem_at(
        &self,
        field: Option<&str>,
        at: Option<Position>,
        reason: impl Into<String>,
    ) -> ConfigProblem {
        ConfigProblem {
            origin: self.origin.source.clone(),
            position: at.or(self.origin.entry),
            server: Some(self.server.clone()),
            field: field.map(str::to_owned),
            reason: reason.into(),
        }
    }

    pub(crate) fn boolean(&mut self, name: &str) -> Result<Option<bool>, ConfigProblem> {
        let Some(field) = self.take(&[name])? else {
            return Ok(None);
        };
        match field.node.value {
            NodeValue::Bool(value) => Ok(Some(value)),
            _ => Err(self.wrong(&field, "true or false without quotes")),
        }
    }

    pub(crate) fn text(
        &mut self,
        names: &[&str],
    ) -> Result<Option<(Field, String)>, ConfigProblem> {
        let Some(field) = self.take(names)? else {
            return Ok(None);
        };
        match &field.node.value {
            NodeValue::Text(text) => {
                let text = text.clone();
                Ok(Some((field, text)))
            }
            _ => Err(self.wrong(&field, "a text")),
        }
    }

    /// A field that holds one of a few words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        name: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, ConfigProblem> {
        let Some(field) = self.take(&[name])? else {
            return Ok(None);
        };
        self.one_of(&field, &field.node, words).map(Some)
    }

    pub(crate) fn one_of<T: Copy>(
        &self,
        field: &Field,
        node: &Node,
        words: &[(&str, T)],
    ) -> Result<T, ConfigProblem> {
        let meant = match &node.value {
            NodeValue::Text(text) => words
                .iter()
                .find(|(word, _)| word.eq_ignore_ascii_case(text)),
            _ => None,
        };
        meant.map(|&(_, value)| value).ok_or_else(|| {
            let listed: Vec<_> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
            let found = match &node.value {
                NodeValue::Text(text) => super::problem::describe_text(text),
                _ => node.kind().to_owned(),
            };
            self.problem_at(
                Some(&field.name),
                node.at,
                format!("must be {}, found {found}", listed.join(" or ")),
            )
        })
    }

    pub(crate) fn object(
        &mut self,
        names: &[&str],
    ) -> Result<Option<(Field, Vec<Member>)>, ConfigProblem> {
        let Some(mut field) = self.take(names)? else {
            return Ok(None);
        };
        match std::mem::replace(&mut field.node.value, NodeValue::Null) {
            NodeValue::Object(members) => {
                for member in &members {
                    self.note(&format!("{}.{}", field.key, member.name), member.at);
                }
                Ok(Some((field, members)))
            }
            other => {
                field.node.value = other;
                Err(self.wrong(&field, "an object"))
            }
        }
    }

    /// The texts of a list; numbers and booleans become the text that was written.
    pub(crate) fn texts(&mut self, field: &Field) -> Result<Vec<String>, ConfigProblem> {
        let NodeValue::List(items) = &field.node.value else {
            return Err(self.wrong(field, "a list of texts, such as [\"one\", \"two\"]"));
        };
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let place = format!("{}[{index}]", field.key);
            self.note(&place, item.at);
            texts.push(self.scalar(&format!("{}[{index}]", field.name), item)?);
        }
        Ok(texts)
    }

    /// A text, number or boolean as the text that was written.
    pub(crate) fn scalar(&self, name: &str, node: &Node) -> Result<String, ConfigProblem> {
        let text = match &node.value {
            NodeValue::Text(text) => text.clone(),
            NodeValue::Number(literal) => literal.clone(),
            NodeValue::Bool(value) => value.to_string(),
            NodeValue::Null | NodeValue::List(_) | NodeValue::Object(_) => {
                let reason = format!(
                    "must be a text, a number or a boolean, found {}",
                    node.kind()
                );
                return Err(self.problem_at(Some(name), node.at, reason));
            }
        };
        if text.contains('\0') {
            return Err(self.problem_at(
                Some(name),
                node.at,
                "contains a NUL character; remove it",
            ));
        }
        Ok(text)
    }

    /// A whole number that is not negative.
    pub(crate) fn whole_number(&self, name: &str, node: &Node) -> Result<u64, ConfigProblem> {
        let number = match &node.value {
            NodeValue::Number(literal) => whole(literal),
            _ => None,
        };
        number.ok_or_else(|| {
            let found = match &node.value {
                NodeValue::Number(literal) => literal.as_str(),
                _ => node.kind(),
            };
            self.problem_at(
                Some(name),
                node.at,
                format!("must be a whole number of 0 or more, found {found}"),
            )
        })
    }

    pub(crate) fn wrong(&self, field: &Field, expected: &str) -> ConfigProblem {
        self.problem_at(
            Some(&field.name),
            field.node.at,
            format!("must be {expected}, found {}", field.node.kind()),
        )
    }

    pub(crate) fn note(&mut self, key: &str, at: Option<Position>) {
        if let Some(at) = at {
            self.origin.fields.insert(key.to_owned(), at);
        }
    }
}

/// Reads `5000`, and also `5e3` and `5000.0`, which are the same number.
fn whole(literal: &str) -> Option<u64> {
    if let Ok(number) = literal.parse() {
        return Some(number);
    }
    let number: f64 = literal.parse().ok()?;
    // Beyond 2^53 a float no longer says which whole number is meant, but only that it is large.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be whole and not negative"
    )]
    (number >= 0.0 && number.fract() == 0.0).then_some(number as u64)
}
