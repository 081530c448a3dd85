//! A configuration document before it is understood: values with the place they were written at.
//!
//! A file (JSON with comments and trailing commas) and an object handed over by the host become the same tree, so
//! that every later rule exists once. Nothing here knows what a server is.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseStringErrorKind, parse_to_ast};
use serde_json::Value;

use super::problem::Position;

/// Deeper documents are refused: no configuration needs it, and walking one must not exhaust the stack.
const MAX_DEPTH: usize = 64;

/// One value, and where it was written.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) at: Option<Position>,
    pub(crate) value: NodeValue,
}

/// The value itself. A number stays the text that was written.
#[derive(Clone)]
pub(crate) enum NodeValue {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Object(Vec<Member>),
}

/// One key of an object with its value; `at` is the place of the key.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) at: Option<Position>,
    pub(crate) value: Node,
}

/// A key that was written twice in one object; the later one counts.
pub(crate) struct Duplicate {
    /// The keys that lead to it, the repeated key last.
    pub(crate) path: Vec<String>,
    pub(crate) first: Option<Position>,
    pub(crate) last: Option<Position>,
}

/// What stops a document from being read.
pub(crate) struct Malformed {
    pub(crate) position: Option<Position>,
    pub(crate) expected: String,
    pub(crate) found: String,
}

/// A whole document. `root` is none for a text without any value.
pub(crate) struct Document {
    pub(crate) root: Option<Node>,
    pub(crate) duplicates: Vec<Duplicate>,
}

impl Document {
    /// Reads JSON with comments and trailing commas.
    pub(crate) fn from_text(text: &str) -> Result<Self, Malformed> {
        let lines = LineIndex::new(text);
        let parsed = parse_to_ast(text, &CollectOptions::default(), &json_with_comments())
            .map_err(|error| malformed(text, &lines, &error))?;
        let mut reader = AstReader {
            lines: &lines,
            path: Vec::new(),
            duplicates: Vec::new(),
        };
        let root = parsed.value.map(|value| reader.node(value)).transpose()?;
        Ok(Self {
            root,
            duplicates: reader.duplicates,
        })
    }

    /// Takes over an object of the host; it has no places and no repeated keys.
    pub(crate) fn from_value(value: Value) -> Result<Self, Malformed> {
        Ok(Self {
            root: Some(node_from_value(value, 0)?),
            duplicates: Vec::new(),
        })
    }
}

impl Node {
    /// The kind of value, with its article, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            NodeValue::Null => "null",
            NodeValue::Bool(_) => "a boolean",
            NodeValue::Number(_) => "a number",
            NodeValue::Text(_) => "a text",
            NodeValue::List(_) => "a list",
            NodeValue::Object(_) => "an object",
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.value, NodeValue::Null)
    }

    /// The value without its places.
    pub(crate) fn into_json(self) -> Value {
        match self.value {
            NodeValue::Null => Value::Null,
            NodeValue::Bool(value) => Value::Bool(value),
            NodeValue::Number(literal) => {
                serde_json::from_str(&literal).unwrap_or(Value::String(literal))
            }
            NodeValue::Text(text) => Value::String(text),
            NodeValue::List(items) => {
                Value::Array(items.into_iter().map(Self::into_json).collect())
            }
            NodeValue::Object(members) => Value::Object(
                members
                    .into_iter()
                    .map(|member| (member.name, member.value.into_json()))
                    .collect(),
            ),
        }
    }
}

fn json_with_comments() -> jsonc_parser::ParseOptions {
    jsonc_parser::ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

struct AstReader<'a> {
    lines: &'a LineIndex<'a>,
    path: Vec<String>,
    duplicates: Vec<Duplicate>,
}

impl AstReader<'_> {
    fn node(&mut self, value: ast::Value<'_>) -> Result<Node, Malformed> {
        let at = Some(self.lines.position(value.start()));
        if self.path.len() > MAX_DEPTH {
            return Err(too_deep(at));
        }
        let value = match value {
            ast::Value::NullKeyword(_) => NodeValue::Null,
            ast::Value::BooleanLit(literal) => NodeValue::Bool(literal.value),
            ast::Value::NumberLit(literal) => NodeValue::Number(literal.value.to_owned()),
            ast::Value::StringLit(literal) => NodeValue::Text(literal.value.into_owned()),
            ast::Value::Array(array) => {
                self.path.push(String::new());
                let items = array
                    .elements
                    .into_iter()
                    .map(|item| self.node(item))
                    .collect::<Result<_, _>>()?;
                self.path.pop();
                NodeValue::List(items)
            }
            ast::Value::Object(object) => NodeValue::Object(self.members(object)?),
        };
        Ok(Node { at, value })
    }

    fn members(&mut self, object: ast::Object<'_>) -> Result<Vec<Member>, Malformed> {
        let mut members: Vec<Option<Member>> = Vec::with_capacity(object.properties.len());
        let mut places: HashMap<String, usize> = HashMap::new();
        for property in object.properties {
            let at = Some(self.lines.position(property.range.start));
            let name = property.name.into_string();
            self.path.push(name.clone());
            let value = self.node(property.value)?;
            match places.entry(name.clone()) {
                Entry::Vacant(place) => {
                    place.insert(members.len());
                }
                Entry::Occupied(mut place) => {
                    let earlier = members[*place.get()].take();
                    place.insert(members.len());
                    self.duplicates.push(Duplicate {
                        path: self.path.clone(),
                        first: earlier.and_then(|member| member.at),
                        last: at,
                    });
                }
            }
            self.path.pop();
            members.push(Some(Member { name, at, value }));
        }
        Ok(members.into_iter().flatten().collect())
    }
}

fn node_from_value(value: Value, depth: usize) -> Result<Node, Malformed> {
    if depth > MAX_DEPTH {
        return Err(too_deep(None));
    }
    let value = match value {
        Value::Null => NodeValue::Null,
        Value::Bool(value) => NodeValue::Bool(value),
        Value::Number(number) => NodeValue::Number(shortest(&number)),
        Value::String(text) => NodeValue::Text(text),
        Value::Array(items) => NodeValue::List(
            items
                .into_iter()
                .map(|item| node_from_value(item, depth + 1))
                .collect::<Result<_, _>>()?,
        ),
        Value::Object(members) => NodeValue::Object(
            members
                .into_iter()
                .map(|(name, value)| {
                    Ok(Member {
                        name,
                        at: None,
                        value: node_from_value(value, depth + 1)?,
                    })
                })
                .collect::<Result<_, _>>()?,
        ),
    };
    Ok(Node { at: None, value })
}

/// `1.0` and `1` are one number for some hosts, so a whole number has no fraction in any of them.
fn shortest(number: &serde_json::Number) -> String {
    let text = number.to_string();
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

fn too_deep(position: Option<Position>) -> Malformed {
    Malformed {
        position,
        expected: format!("at most {MAX_DEPTH} nested lists and objects"),
        found: "a deeper one".to_owned(),
    }
}

fn malformed(text: &str, lines: &LineIndex<'_>, error: &ParseError) -> Malformed {
    use ParseErrorKind as Kind;
    let start = error.range().start;
    let expected = match error.kind() {
        Kind::ExpectedColonAfterObjectKey => "\":\" after the key",
        Kind::ExpectedObjectValue => "a value after \":\"",
        Kind::ExpectedStringObjectProperty => "a key in double quotes",
        Kind::UnexpectedTokenInObject => "a key in double quotes or \"}\"",
        Kind::ExpectedComma => "\",\" between two entries",
        Kind::MultipleRootJsonValues => "the end of the text",
        Kind::SingleQuotedStringsNotAllowed => "double quotes instead of single ones",
        Kind::UnterminatedObject => "\"}\" for the object that starts here",
        Kind::UnterminatedArray => "\"]\" for the list that starts here",
        Kind::UnterminatedCommentBlock => "\"*/\" for the comment that starts here",
        Kind::UnexpectedCloseBrace | Kind::UnexpectedColon => "a value, \",\" or \"]\"",
        Kind::UnexpectedCloseBracket
        | Kind::UnexpectedComma
        | Kind::UnexpectedWord
        | Kind::UnexpectedToken => "a value",
        Kind::NestingDepthExceeded => return too_deep(Some(lines.position(start))),
        Kind::String(ParseStringErrorKind::UnterminatedStringLiteral) => "a closing double quote",
        Kind::String(_) => "a text with valid escapes (write a backslash as \"\\\\\")",
        Kind::UnaryPlusNumbersNotAllowed
        | Kind::HexadecimalNumbersNotAllowed
        | Kind::BareDecimalPointNumbersNotAllowed
        | Kind::NonFiniteNumbersNotAllowed
        | Kind::ExpectedDigit
        | Kind::ExpectedDigitFollowingNegativeSign
        | Kind::ExpectedPlusMinusOrDigitInNumberLiteral => "a number as JSON writes it",
        _ => "valid JSON",
    };
    let found = match error.kind() {
        Kind::UnterminatedObject | Kind::UnterminatedArray | Kind::UnterminatedCommentBlock => {
            "the end of the text".to_owned()
        }
        _ => describe_token(&text[start.min(text.len())..]),
    };
    Malformed {
        position: Some(lines.position(start)),
        expected: expected.to_owned(),
        found,
    }
}

fn describe_token(rest: &str) -> String {
    let rest = rest.trim_start();
    let Some(first) = rest.chars().next() else {
        return "the end of the text".to_owned();
    };
    if matches!(first, '"' | '\'') {
        return "a quoted text".to_owned();
    }
    let end = rest
        .find(|c: char| c.is_whitespace() || ",:{}[]\"".contains(c))
        .unwrap_or(rest.len());
    match end {
        0 => format!("{:?}", first.to_string()),
        _ => super::problem::describe_text(&rest[..end]),
    }
}

/// Turns a byte offset into a line and column without walking the text each time.
struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let ends = (0..bytes.len()).filter(|&at| {
            bytes[at] == b'\n' || bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n')
        });
        Self {
            text,
            starts: std::iter::once(0).chain(ends.map(|at| at + 1)).collect(),
        }
    }

    fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|&start| start <= offset);
        let start = self.starts[line.saturating_sub(1)];
        let column = self
            .text
            .get(start..offset)
            .map_or(0, |before| before.chars().count())
            + 1;
        Position {
            line: saturating(line),
            column: saturating(column),
        }
    }
}

/// The place of a byte, for what is found before there is a document.
pub(crate) fn position_in(text: &str, offset: usize) -> Position {
    LineIndex::new(text).position(offset)
}

fn saturating(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
