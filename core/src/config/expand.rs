//! The grammar of references to variables in configured texts.
//!
//! | written | means |
//! |---|---|
//! | `${NAME}`, `${env:NAME}` | the variable; it must be set |
//! | `${NAME:-default}` | the default when the variable is unset or empty; a default may hold references |
//! | `$NAME` | the same as `${NAME}`, in values of env and headers only |
//! | `$$` | one dollar |
//! | `~/` at the beginning | the home directory, in command, args and cwd only |
//!
//! A text is read once, from left to right. What a variable holds is inserted as it is and never read as a template.
//! References in other programs' forms stay as they are and give a [`Hint`].

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::ops::Range;

use super::environment::{Environment, Platform};

/// Which fields of a server are expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpandMode {
    /// Only `${NAME}`, and only in headers; an unset variable is empty.
    #[default]
    HeadersOnly,
    /// The whole grammar in every text; an unset variable without a default keeps the server from starting.
    All,
}

/// Defaults within defaults beyond this depth stay as they are.
const MAX_NESTING: usize = 8;

/// Variables that editors provide and this library does not.
const EDITOR_VARIABLES: &[&str] = &[
    "workspaceFolder",
    "workspaceFolderBasename",
    "workspaceRoot",
    "userHome",
    "pathSeparator",
];

/// What the grammar allows in one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// A value of env or headers: `$NAME` counts.
    Value,
    /// A program or an argument: a leading `~/` counts.
    Word,
    /// A directory: the same, and `~` alone.
    Directory,
    /// An address: neither.
    Address,
    /// A header where only `${NAME}` counts.
    HeaderOfContract,
}

/// A text with its references replaced.
#[derive(Default)]
pub(crate) struct Expanded {
    pub(crate) text: String,
    /// What was inserted, in order.
    pub(crate) inserted: Vec<String>,
    pub(crate) hints: BTreeSet<Hint>,
}

/// Why a text cannot be expanded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ExpandError {
    #[error("variable {0} is not set; set it, or write ${{{0}:-default}}, or $$ for a dollar")]
    Unset(String),
    #[error("variable {0} is not UTF-8 text")]
    NotText(String),
    #[error("~ needs a home directory; set {0}")]
    NoHome(&'static str),
}

/// A form that is left as it is although it looks like a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hint {
    BareDollar,
    Braces,
    ContractOnly,
    EditorVariable,
    OtherHome,
    Percent,
    UnknownForm,
    Unclosed,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BareDollar => "$NAME stays as it is here; write ${NAME}, or $$ for a dollar",
            Self::Braces => "{{NAME}} stays as it is; write ${NAME}",
            Self::ContractOnly => "only ${NAME} is expanded; set expand to \"all\" for other forms",
            Self::EditorVariable => "a variable of an editor stays as it is; name the directory",
            Self::OtherHome => "~ with a user's name stays as it is; write the directory",
            Self::Percent => "%NAME% stays as it is; write ${NAME}",
            Self::UnknownForm => {
                "this form of ${...} stays as it is; write ${NAME} or ${NAME:-default}"
            }
            Self::Unclosed => "${ without its } stays as it is; close it, or write $$ for a dollar",
        })
    }
}

/// Replaces the references of a text.
pub(crate) fn expand(
    template: &str,
    grammar: Grammar,
    environment: &Environment,
) -> Result<Expanded, ExpandError> {
    let mut expander = Expander {
        template,
        closes: closing_braces(template),
        grammar,
        environment,
        result: Expanded::default(),
    };
    let start = expander.home()?;
    expander.run(start..template.len(), 0)?;
    Ok(expander.result)
}

/// Whether a text is one reference and nothing else, so that showing it shows no value.
pub(crate) fn is_bare_reference(template: &str) -> bool {
    let inner = template
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    let inner = inner.map(|inner| inner.strip_prefix("env:").unwrap_or(inner));
    let name = inner.or_else(|| template.strip_prefix('$'));
    name.is_some_and(|name| !name.is_empty() && name_length(name, inner.is_some()) == name.len())
}

struct Expander<'a> {
    template: &'a str,
    /// For each `${` that has one, its `}`.
    closes: HashMap<usize, usize>,
    grammar: Grammar,
    environment: &'a Environment,
    result: Expanded,
}

impl Expander<'_> {
    fn run(&mut self, range: Range<usize>, depth: usize) -> Result<(), ExpandError> {
        let template = self.template;
        let mut at = range.start;
        while let Some(offset) = template[at..range.end].find(['$', '%', '{']) {
            let special = at + offset;
            self.result.text.push_str(&template[at..special]);
            let rest = &template[special..range.end];
            at = special
                + match rest.as_bytes()[0] {
                    b'$' => self.dollar(special, rest, depth)?,
                    b'%' => self.keep(1, rest, is_percent_form(rest).then_some(Hint::Percent)),
                    _ => self.keep(1, rest, is_brace_form(rest).then_some(Hint::Braces)),
                };
        }
        self.result.text.push_str(&template[at..range.end]);
        Ok(())
    }

    /// Handles what begins with a dollar and gives the number of bytes it took.
    fn dollar(&mut self, at: usize, rest: &str, depth: usize) -> Result<usize, ExpandError> {
        let contract_only = self.grammar == Grammar::HeaderOfContract;
        if rest.starts_with("$$") && !contract_only {
            self.result.text.push('$');
            return Ok(2);
        }
        if rest.starts_with("${") {
            return match self.closes.get(&at) {
                Some(&close) => self.braces(at + 2..close, depth),
                None => Ok(self.keep(2, rest, Some(Hint::Unclosed))),
            };
        }
        let length = name_length(&rest[1..], false);
        if length == 0 {
            return Ok(self.keep(1, rest, None));
        }
        if self.grammar == Grammar::Value {
            self.insert(&rest[1..=length])?;
            return Ok(1 + length);
        }
        let hint = if contract_only {
            Hint::ContractOnly
        } else {
            Hint::BareDollar
        };
        Ok(self.keep(1, rest, Some(hint)))
    }

    /// Handles `${body}` and gives its length.
    fn braces(&mut self, body: Range<usize>, depth: usize) -> Result<usize, ExpandError> {
        let template = self.template;
        let whole = body.start - 2..body.end + 1;
        let text = &template[body.clone()];
        let contract_only = self.grammar == Grammar::HeaderOfContract;
        let named = if contract_only {
            text
        } else {
            text.strip_prefix("env:").unwrap_or(text)
        };
        let name = &named[..name_length(named, true)];
        let default = match named[name.len()..].strip_prefix(":-") {
            Some(default) => Some(body.end - default.len()..body.end),
            None if named.len() == name.len() => None,
            None => return Ok(self.keep_form(whole, text)),
        };
        if name.is_empty() || contract_only && default.is_some() || depth > MAX_NESTING {
            return Ok(self.keep_form(whole, text));
        }
        let is_set = self.environment.value(name).is_some();
        match default {
            Some(default)
                if self
                    .environment
                    .value(name)
                    .is_none_or(|value| value.is_empty()) =>
            {
                self.run(default, depth + 1)?;
            }
            None if !is_set && contract_only => {}
            None if !is_set && EDITOR_VARIABLES.contains(&name) => {
                return Ok(self.keep(whole.len(), &template[whole], Some(Hint::EditorVariable)));
            }
            _ => self.insert(name)?,
        }
        Ok(whole.len())
    }

    fn keep_form(&mut self, whole: Range<usize>, body: &str) -> usize {
        let hint = match self.grammar {
            Grammar::HeaderOfContract => Hint::ContractOnly,
            _ if EDITOR_VARIABLES.iter().any(|name| body.starts_with(name)) => Hint::EditorVariable,
            _ => Hint::UnknownForm,
        };
        let template = self.template;
        self.keep(whole.len(), &template[whole], Some(hint))
    }

    fn keep(&mut self, length: usize, rest: &str, hint: Option<Hint>) -> usize {
        self.result.text.push_str(&rest[..length]);
        self.result.hints.extend(hint);
        length
    }

    fn insert(&mut self, name: &str) -> Result<(), ExpandError> {
        let value = self
            .environment
            .value(name)
            .ok_or_else(|| ExpandError::Unset(name.to_owned()))?;
        let value = value
            .to_str()
            .ok_or_else(|| ExpandError::NotText(name.to_owned()))?;
        self.result.text.push_str(value);
        self.result.inserted.push(value.to_owned());
        Ok(())
    }

    /// Replaces a leading `~` and gives the number of bytes it took.
    fn home(&mut self) -> Result<usize, ExpandError> {
        let windows = self.environment.platform() == Platform::Windows;
        let Some(rest) = self.template.strip_prefix('~') else {
            return Ok(0);
        };
        let expands = match self.grammar {
            Grammar::Value | Grammar::Address | Grammar::HeaderOfContract => return Ok(0),
            Grammar::Directory if rest.is_empty() => true,
            Grammar::Word | Grammar::Directory => {
                rest.starts_with('/') || windows && rest.starts_with('\\')
            }
        };
        if !expands {
            let names_a_user =
                rest.contains('/') && rest.starts_with(|c: char| c.is_ascii_alphanumeric());
            self.result
                .hints
                .extend(names_a_user.then_some(Hint::OtherHome));
            return Ok(0);
        }
        let variable = if windows { "USERPROFILE" } else { "HOME" };
        let home = self
            .environment
            .home()
            .ok_or(ExpandError::NoHome(variable))?;
        let home = home
            .to_str()
            .ok_or_else(|| ExpandError::NotText(variable.to_owned()))?;
        self.result.text.push_str(
            home.strip_suffix('/')
                .filter(|_| !rest.is_empty())
                .unwrap_or(home),
        );
        Ok(1)
    }
}

/// The `}` of each `${`, found in one pass so that a hostile text costs no more than its length.
fn closing_braces(template: &str) -> HashMap<usize, usize> {
    let bytes = template.as_bytes();
    let (mut open, mut closes) = (Vec::new(), HashMap::new());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'$', Some(b'$')) => at += 1,
            (b'$', Some(b'{')) => {
                open.push(at);
                at += 1;
            }
            (b'}', _) => {
                if let Some(start) = open.pop() {
                    closes.insert(start, at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    closes
}

/// How much of the beginning of a text is a variable's name. Windows has names such as `ProgramFiles(x86)`.
fn name_length(text: &str, in_braces: bool) -> usize {
    let bytes = text.as_bytes();
    if !bytes
        .first()
        .is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
    {
        return 0;
    }
    let belongs = |byte: &u8| {
        byte.is_ascii_alphanumeric() || *byte == b'_' || in_braces && matches!(byte, b'(' | b')')
    };
    bytes
        .iter()
        .position(|byte| !belongs(byte))
        .unwrap_or(bytes.len())
}

fn is_percent_form(rest: &str) -> bool {
    let length = name_length(&rest[1..], true);
    length > 0 && rest[1 + length..].starts_with('%')
}

fn is_brace_form(rest: &str) -> bool {
    rest.strip_prefix("{{").is_some_and(|inner| {
        let inner = inner.trim_start();
        let length = name_length(inner, false);
        length > 0 && inner[length..].trim_start().starts_with("}}")
    })
}

#[cfg(test)]
mod tests;
