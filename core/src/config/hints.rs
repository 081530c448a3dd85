//! What a key that means nothing here was probably meant to be.

/// Keys of other programs, with the way to say the same here.
const FOREIGN_KEYS: &[(&str, &str)] = &[
    ("alwaysAllow", "asking before a call is the host's business"),
    ("autoApprove", "asking before a call is the host's business"),
    (
        "bearerTokenEnvVar",
        "use headers: {\"Authorization\": \"Bearer ${NAME}\"}",
    ),
    ("disabledTools", "use tools: {\"name\": false}"),
    ("enabledTools", "use tools: {\"name\": true}"),
    ("envFile", "name the variables in env or inheritEnv"),
    ("envHttpHeaders", "use headers with ${NAME} in the value"),
    ("envVars", "use inheritEnv"),
    ("excludeTools", "use tools: {\"name\": false}"),
    ("headersHelper", "use headers with a \"!command\" value"),
    ("httpHeaders", "use headers"),
    ("includeTools", "use tools: {\"name\": true}"),
    ("requestTimeout", "use timeout, in milliseconds"),
    (
        "startupTimeoutMs",
        "use limits: {\"connectTimeoutMs\": ...}",
    ),
    (
        "startupTimeoutSec",
        "use limits: {\"connectTimeoutMs\": ...}, in milliseconds",
    ),
    ("toolTimeoutSec", "use timeout, in milliseconds"),
    ("workingDirectory", "use cwd"),
];

/// The usual spellings of the key around all entries that are not accepted, in lower case without separators.
const WRAPPER_LOOKALIKES: &[&str] = &["mcpservers", "mcpserver", "servers", "server", "mcp"];

/// `camelCase` for `snake_case`; other keys stay as they are.
pub(crate) fn camel_case(key: &str) -> String {
    let mut parts = key.split('_');
    let mut camel = parts.next().unwrap_or_default().to_owned();
    if camel.is_empty() {
        return key.to_owned();
    }
    for part in parts {
        let mut characters = part.chars();
        camel.extend(characters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(characters.as_str());
    }
    camel
}

/// A key that is no setting by convention: comments, schema references.
pub(crate) fn is_annotation(key: &str) -> bool {
    key.starts_with(['$', '_', '/', '#']) || matches!(key, "description" | "comment" | "title")
}

/// What to write instead of an unknown key.
pub(crate) fn hint_for_key(key: &str, known: &[&'static str]) -> String {
    let camel = camel_case(key);
    if let Some((_, advice)) = FOREIGN_KEYS
        .iter()
        .find(|(foreign, _)| foreign.eq_ignore_ascii_case(&camel))
    {
        return format!("; {advice}");
    }
    nearest(&camel, known).map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

/// Whether a top-level key looks like a misspelled `mcpServers`.
pub(crate) fn looks_like_wrapper(key: &str) -> bool {
    let folded: String = key
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .map(|c| c.to_ascii_lowercase())
        .collect();
    folded != key && WRAPPER_LOOKALIKES.contains(&folded.as_str()) || folded == "mcpservers"
}

fn nearest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    const FURTHEST: usize = 2;
    let lower = key.to_ascii_lowercase();
    known
        .iter()
        .map(|name| (distance(&lower, &name.to_ascii_lowercase()), *name))
        .filter(|&(distance, name)| distance <= FURTHEST && distance < name.len())
        .min()
        .map(|(_, name)| name)
}

/// Letters to insert, remove or replace to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    const LONGEST: usize = 40;
    let (from, to): (Vec<char>, Vec<char>) =
        (from.chars().take(LONGEST).collect(), to.chars().collect());
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snake_case_becomes_camel_case() {
        for (key, expected) in [
            ("inherit_env", "inheritEnv"),
            ("a_b_c", "aBC"),
            ("plain", "plain"),
            ("_private", "_private"),
            ("", ""),
        ] {
            assert_eq!(camel_case(key), expected);
        }
    }

    #[test]
    fn a_hint_names_the_nearest_key_or_the_way_to_say_it_here() {
        let known = ["command", "args", "env", "headers"];
        assert_eq!(hint_for_key("comand", &known), "; did you mean command?");
        assert_eq!(hint_for_key("Headers", &known), "; did you mean headers?");
        assert_eq!(hint_for_key("http_headers", &known), "; use headers");
        assert_eq!(hint_for_key("colour", &known), "");
    }

    #[test]
    fn misspelled_wrapper_keys_are_recognised() {
        for key in [
            "mcp_servers",
            "mcp.servers",
            "MCPServers",
            "mcpservers",
            "mcp-servers",
            "MCP",
        ] {
            assert!(looks_like_wrapper(key), "{key}");
        }
        for key in ["github", "server", "serve"] {
            assert!(!looks_like_wrapper(key), "{key}");
        }
    }
}
