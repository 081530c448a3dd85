//! Names for models (SPEC 2.5, 7.4): at most 64 characters, unique, and never given to another tool.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

/// The longest name that common model APIs take, in characters.
pub(crate) const MAX_NAME: usize = 64;
/// Hash digits that a name gets when it needs a hash; more while it is taken.
const HASH_DIGITS: usize = 8;

/// Replaces each character outside of `[a-zA-Z0-9_-]` by `_`.
pub(crate) fn sanitize(name: &str) -> String {
    name.chars()
        .map(|letter| if is_legal_letter(letter) { letter } else { '_' })
        .collect()
}

fn is_legal_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// A tool's identity: its server's name and its own.
pub(crate) type Identity = (String, String);

/// How a name is made of a server's name and a tool's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameStyle {
    /// `server_tool`, of `[a-zA-Z0-9_-]`.
    Source,
    /// `mcp__server__tool`, of `[a-zA-Z0-9_]`.
    Session,
}

impl NameStyle {
    fn plain(self, server: &str, tool: &str) -> String {
        match self {
            Self::Source => format!("{}_{}", sanitize(server), sanitize(tool)),
            Self::Session => {
                format!("mcp__{}__{}", sanitize(server), sanitize(tool)).replace('-', "_")
            }
        }
    }

    /// Whether the name holds this one as it is.
    fn keeps(self, name: &str) -> bool {
        name.chars()
            .all(|letter| is_legal_letter(letter) && (self == Self::Source || letter != '-'))
    }
}

/// The names that a source has given.
#[derive(Debug)]
pub(crate) struct NameTable {
    style: NameStyle,
    /// By server, then by tool: looked up for every tool of every listing, without building a key.
    by_identity: HashMap<String, HashMap<String, String>>,
    by_name: HashMap<String, Identity>,
}

impl NameTable {
    pub(crate) fn new(style: NameStyle) -> Self {
        Self {
            style,
            by_identity: HashMap::new(),
            by_name: HashMap::new(),
        }
    }

    /// Gives each of these tools its name. Who has one keeps it; the others get theirs in the order
    /// of server name bytes, then tool name bytes, those first whose name needs no change.
    pub(crate) fn assign<'a>(&mut self, tools: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let mut unnamed: Vec<(&str, &str)> = tools
            .into_iter()
            .filter(|(server, tool)| self.name(server, tool).is_none())
            .collect();
        unnamed.sort_by_cached_key(|&(server, tool)| {
            let changes = !self.style.keeps(server) || !self.style.keeps(tool);
            (changes, server, tool)
        });
        for (server, tool) in unnamed {
            let name = self.free_name(server, tool);
            self.by_name
                .insert(name.clone(), (server.to_owned(), tool.to_owned()));
            self.by_identity
                .entry(server.to_owned())
                .or_default()
                .insert(tool.to_owned(), name);
        }
    }

    /// The name that was given to a tool.
    pub(crate) fn name(&self, server: &str, tool: &str) -> Option<&str> {
        self.by_identity.get(server)?.get(tool).map(String::as_str)
    }

    /// The tool that a name was given to.
    pub(crate) fn owner(&self, name: &str) -> Option<&Identity> {
        self.by_name.get(name)
    }

    fn free_name(&self, server: &str, tool: &str) -> String {
        let plain = self.style.plain(server, tool);
        if plain.len() <= MAX_NAME && !self.by_name.contains_key(&plain) {
            return plain;
        }
        let hash = hash(server, tool);
        (HASH_DIGITS..=hash.len().min(MAX_NAME - 2))
            .map(|digits| {
                let kept = plain.len().min(MAX_NAME - digits - 1);
                format!("{}_{}", &plain[..kept], &hash[..digits])
            })
            .find(|name| !self.by_name.contains_key(name))
            // All lengths of a SHA-256 taken would be a collision of SHA-256.
            .unwrap_or_else(|| hash[..MAX_NAME].to_owned())
    }
}

/// Hex digits of a hash of the exact original. The separator cannot be part of a JSON key's text and
/// so keeps `a` + `bc` apart from `ab` + `c`.
fn hash(server: &str, tool: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(server.as_bytes());
    hasher.update([0]);
    hasher.update(tool.as_bytes());
    hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(tools: &[(&'static str, &'static str)]) -> (NameTable, Vec<String>) {
        named_in(NameStyle::Source, tools)
    }

    fn named_in(
        style: NameStyle,
        tools: &[(&'static str, &'static str)],
    ) -> (NameTable, Vec<String>) {
        let mut table = NameTable::new(style);
        table.assign(tools.iter().copied());
        let names = tools
            .iter()
            .map(|(server, tool)| table.name(server, tool).unwrap().to_owned())
            .collect();
        (table, names)
    }

    #[test]
    fn characters_outside_of_the_set_become_underscores() {
        let (_, names) = named(&[("my server", "repo.issues/list"), ("s", "größe")]);
        assert_eq!(names, ["my_server_repo_issues_list", "s_gr__e"]);
    }

    #[test]
    fn names_of_sessions_have_no_hyphen_and_grow_a_hash_that_stays_within_the_limit() {
        let long = "a-tool-with-a-name-that-is-much-too-long-for-the-names-of-models-as-they-are";
        let tools = [
            ("my-server", "read-file"),
            ("my_server", "read_file"),
            ("s", long),
        ];
        let (table, names) = named_in(NameStyle::Session, &tools);
        assert_eq!(names[1], "mcp__my_server__read_file");
        assert!(names[0].starts_with("mcp__my_server__read_file_") && names[0] != names[1]);
        assert_eq!(names[2].len(), MAX_NAME);
        assert!(names.iter().all(|name| !name.contains('-')));
        // A tool that is called like a hashed name does not take its place.
        let mut table = table;
        let like = names[0]["mcp__my_server__".len()..].to_owned();
        table.assign([("my_server", like.as_str())]);
        assert_ne!(table.name("my_server", &like), Some(names[0].as_str()));
        assert_eq!(
            table.name("my-server", "read-file"),
            Some(names[0].as_str())
        );
    }

    #[test]
    fn a_collision_costs_the_one_that_was_changed() {
        let tools = [
            ("acme", "_status"),
            ("acme_", "status"),
            ("acme", ".status"),
        ];
        let (table, names) = named(&tools);
        assert_eq!(names[0], "acme__status");
        for name in &names[1..] {
            assert!(
                name.starts_with("acme__status_") && name.len() == 13 + HASH_DIGITS,
                "{name}"
            );
        }
        assert_ne!(names[1], names[2]);
        for ((server, tool), name) in tools.iter().zip(&names) {
            let owner = (server.to_string(), tool.to_string());
            assert_eq!(table.owner(name), Some(&owner));
        }
    }

    #[test]
    fn the_order_in_which_tools_come_makes_no_difference() {
        let (table, _) = named(&[("b", "x.y"), ("b", "x_y"), ("b", "x y")]);
        let (other, _) = named(&[("b", "x y"), ("b", "x_y"), ("b", "x.y")]);
        for tool in ["x.y", "x_y", "x y"] {
            assert_eq!(table.name("b", tool), other.name("b", tool));
        }
        assert_eq!(table.name("b", "x_y"), Some("b_x_y"));
    }

    #[test]
    fn a_name_once_given_stays() {
        let (mut table, names) = named(&[("b", "x.y")]);
        assert_eq!(names, ["b_x_y"]);
        table.assign([("b", "x_y"), ("b", "x.y")]);
        assert_eq!(table.name("b", "x.y"), Some("b_x_y"));
        assert_ne!(table.name("b", "x_y"), Some("b_x_y"));
    }

    proptest::proptest! {
        #[test]
        fn every_name_is_legal_and_unique(
            tools in proptest::collection::btree_set(("\\PC{0,80}", "\\PC{0,80}"), 0..12)
        ) {
            let mut table = NameTable::new(NameStyle::Source);
            table.assign(tools.iter().map(|(server, tool)| (server.as_str(), tool.as_str())));
            let mut names = std::collections::BTreeSet::new();
            for (server, tool) in &tools {
                let name = table.name(server, tool).unwrap();
                proptest::prop_assert!(name.len() <= MAX_NAME && sanitize(name) == name);
                proptest::prop_assert!(names.insert(name.to_owned()));
            }
        }
    }
}
