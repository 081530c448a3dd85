//! From a document to its servers: the key around the entries, and each entry judged alone.

use super::definition::ServerDefinition;
use super::document::{Document, Duplicate, Malformed, Member, Node, NodeValue};
use super::entry::{Adjustment, is_enabled, read_adjustment, read_definition};
use super::fields::Fields;
use super::hints::looks_like_wrapper;
use super::input::{ConfigInput, ParseOptions, read_file, without_byte_order_mark};
use super::problem::{ConfigError, ConfigProblem, Position};

/// The keys that may hold the entries, the first one present counting.
const WRAPPERS: &[&str] = &["mcpServers", "servers", "mcp"];

/// Keys that are no servers where the entries have no key around them.
const RESERVED: &[&str] = &["builtins", "agents", "a2a", "mcpServer"];

/// A configuration that was read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ParsedConfig {
    /// The entries, in the order of the file.
    pub servers: Vec<ServerEntry>,
    /// What is odd but keeps no server from starting.
    pub warnings: Vec<ConfigProblem>,
}

/// One entry, whether or not it can be used.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerEntry {
    /// The entry's key.
    pub name: String,
    /// Whether it is to be used; known even when the definition is not.
    pub enabled: bool,
    /// The server, or why it cannot be started.
    pub definition: Result<ServerDefinition, ConfigProblem>,
    /// What it changes of an entry in a lower layer, when it holds nothing else. Its definition is then a problem.
    pub adjustment: Option<Adjustment>,
}

impl ParsedConfig {
    /// The servers that can be used and are enabled, in the order of the file.
    pub fn usable(&self) -> impl Iterator<Item = &ServerDefinition> {
        self.servers
            .iter()
            .filter_map(|entry| entry.definition.as_ref().ok())
            .filter(|server| server.enabled)
    }

    /// The entries that cannot be used, in the order of the file.
    pub fn problems(&self) -> impl Iterator<Item = &ConfigProblem> {
        self.servers
            .iter()
            .filter_map(|entry| entry.definition.as_ref().err())
    }
}

/// Reads a configuration.
///
/// An empty text and `null` have no servers. Nothing is expanded and nothing started.
///
/// # Errors
///
/// When the whole input is unusable: unreadable, no UTF-8, no JSON, no object. What is wrong with one entry is in
/// that entry.
pub fn parse(input: ConfigInput, options: &ParseOptions) -> Result<ParsedConfig, ConfigError> {
    let (origin, document) = match input {
        ConfigInput::File(path) => {
            let text = read_file(&path, options)?;
            (
                Some(path.display().to_string()),
                Document::from_text(without_byte_order_mark(&text)),
            )
        }
        ConfigInput::Text { text, origin } => (
            Some(origin),
            Document::from_text(without_byte_order_mark(&text)),
        ),
        ConfigInput::Object(value) => (None, Document::from_value(value)),
        ConfigInput::Parsed(config) => return Ok(config),
    };
    let reader = Reader {
        origin,
        warnings: Vec::new(),
    };
    let document = document.map_err(|malformed| reader.malformed(malformed))?;
    reader.read(document)
}

struct Reader {
    origin: Option<String>,
    warnings: Vec<ConfigProblem>,
}

impl Reader {
    fn read(mut self, document: Document) -> Result<ParsedConfig, ConfigError> {
        let Some(root) = document.root.filter(|root| !root.is_null()) else {
            return Ok(ParsedConfig::default());
        };
        let root = self.object(root, "an object with the key mcpServers")?;
        let (wrapper, entries) = self.entries(root)?;
        for duplicate in document.duplicates {
            self.warn_of_duplicate(&wrapper, duplicate);
        }
        let servers = entries.into_iter().map(|entry| self.entry(entry)).collect();
        Ok(ParsedConfig {
            servers,
            warnings: self.warnings,
        })
    }

    /// The entries, and the keys that lead to them.
    fn entries(&mut self, root: Vec<Member>) -> Result<(Vec<String>, Vec<Member>), ConfigError> {
        let wrapper = WRAPPERS
            .iter()
            .find(|name| root.iter().any(|member| member.name == **name));
        self.warn_of_unused_keys(&root, wrapper.copied());
        let Some(wrapper) = wrapper else {
            let entries = root.into_iter().filter(|member| {
                let name = member.name.as_str();
                !RESERVED.contains(&name) && !name.starts_with('$') && !looks_like_wrapper(name)
            });
            return Ok((Vec::new(), entries.collect()));
        };
        let mut path = vec![(*wrapper).to_owned()];
        let Some(member) = root.into_iter().find(|member| member.name == *wrapper) else {
            return Ok((path, Vec::new()));
        };
        let mut entries =
            self.object_or_nothing(member.value, &format!("an object of servers as {wrapper}"))?;
        if *wrapper == "mcp"
            && let Some(inner) = entries.iter_mut().find(|member| holds_entries(member))
        {
            // `mcp: {servers: {...}}` is how editors write it in their settings.
            path.push(inner.name.clone());
            let value = std::mem::replace(
                &mut inner.value,
                Node {
                    at: None,
                    value: NodeValue::Null,
                },
            );
            entries = self.object_or_nothing(value, "an object of servers as mcp.servers")?;
        }
        Ok((path, entries))
    }

    fn entry(&mut self, Member { name, at, value }: Member) -> ServerEntry {
        let kind = value.kind();
        let NodeValue::Object(members) = value.value else {
            let place = Fields::new(&name, self.origin.as_deref(), at, Vec::new());
            let reason = format!("must be an object with command or url, found {kind}");
            return ServerEntry {
                enabled: true,
                definition: Err(place.problem_at(None, value.at, reason)),
                adjustment: None,
                name,
            };
        };
        let fields = |members| Fields::new(&name, self.origin.as_deref(), at, members);
        let enabled = is_enabled(fields(members.clone()));
        let adjustment = read_adjustment(fields(members.clone())).ok().flatten();
        let definition = read_definition(&name, fields(members), &mut self.warnings);
        ServerEntry {
            enabled,
            definition,
            adjustment,
            name,
        }
    }

    fn object(&self, node: Node, expected: &str) -> Result<Vec<Member>, ConfigError> {
        let kind = node.kind();
        match node.value {
            NodeValue::Object(members) => Ok(members),
            _ => Err(self.malformed(Malformed {
                position: node.at,
                expected: expected.to_owned(),
                found: kind.to_owned(),
            })),
        }
    }

    fn object_or_nothing(&self, node: Node, expected: &str) -> Result<Vec<Member>, ConfigError> {
        if node.is_null() {
            Ok(Vec::new())
        } else {
            self.object(node, expected)
        }
    }

    fn warn_of_unused_keys(&mut self, root: &[Member], wrapper: Option<&str>) {
        for member in root
            .iter()
            .filter(|member| Some(member.name.as_str()) != wrapper)
        {
            let unused_list =
                |node: &Node| matches!(&node.value, NodeValue::List(items) if items.is_empty());
            let reason = match wrapper {
                Some(wrapper) if WRAPPERS.contains(&member.name.as_str()) => {
                    format!("is ignored because of {wrapper}; keep one of them")
                }
                _ if RESERVED.contains(&member.name.as_str()) => continue,
                _ if looks_like_wrapper(&member.name) => {
                    "is not a known key; did you mean mcpServers?".to_owned()
                }
                Some(_) if member.name == "inputs" && !unused_list(&member.value) => {
                    "is not supported and ignored; ${input:...} stays as it is, use ${NAME}"
                        .to_owned()
                }
                _ => continue,
            };
            self.warn(None, Some(member.name.clone()), member.at, reason);
        }
    }

    fn warn_of_duplicate(
        &mut self,
        wrapper: &[String],
        Duplicate { path, first, last }: Duplicate,
    ) {
        let reason = match (first, last) {
            (Some(first), Some(last)) if first.line == last.line => {
                format!(
                    "is given twice on line {}; the later one counts",
                    first.line
                )
            }
            (Some(first), Some(last)) => {
                format!(
                    "is given twice, on line {} and on line {}; the later one counts",
                    first.line, last.line
                )
            }
            _ => "is given twice; the later one counts".to_owned(),
        };
        let (server, field) = match path.strip_prefix(wrapper) {
            Some([server]) => (Some(server.clone()), None),
            Some([server, field @ ..]) if !field.is_empty() => (
                Some(server.clone()),
                Some(field.join(".").replace("..", ".")),
            ),
            _ => (None, Some(path.join("."))),
        };
        self.warn(server, field, last, reason);
    }

    fn warn(
        &mut self,
        server: Option<String>,
        field: Option<String>,
        position: Option<Position>,
        reason: String,
    ) {
        self.warnings.push(ConfigProblem {
            origin: self.origin.clone(),
            position,
            server,
            field,
            reason,
        });
    }

    fn malformed(
        &self,
        Malformed {
            position,
            expected,
            found,
        }: Malformed,
    ) -> ConfigError {
        ConfigError::Malformed {
            origin: self.origin.clone(),
            position,
            expected,
            found,
        }
    }
}

/// Whether this is a key around entries and not an entry that is called `servers`.
fn holds_entries(member: &Member) -> bool {
    let is_entry = |members: &[Member]| {
        members.iter().any(|member| {
            matches!(
                member.name.as_str(),
                "command" | "url" | "type" | "transport"
            )
        })
    };
    member.name == "servers"
        && matches!(&member.value.value, NodeValue::Object(members) if !is_entry(members))
}
