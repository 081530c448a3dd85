//! Where secrets are likely to stand in arguments and addresses.
//!
//! Nobody marks them there, so this goes by habit: after a flag that names one, in the user and query parts of an
//! address, after the prefixes of well-known tokens. It is a help and no guarantee; env and headers are the place for
//! secrets.

use std::ops::Range;

/// Parts of names that announce a secret, lower case without separators.
const TELLING_PARTS: &[&str] = &[
    "accesskey",
    "apikey",
    "authorization",
    "bearer",
    "credential",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "token",
];

/// Whole names that do.
const TELLING_NAMES: &[&str] = &["auth", "cookie", "key", "pass", "pat", "pwd"];

/// How well-known tokens begin.
const TOKEN_PREFIXES: &[&str] = &[
    "AKIA",
    "eyJ",
    "ghp_",
    "github_pat_",
    "glpat-",
    "gho_",
    "sk-",
    "sk_live_",
    "xoxb-",
    "xoxp-",
];

/// Flags that are followed by `NAME=value`.
const VARIABLE_FLAGS: &[&str] = &["-e", "--env"];

/// Flags that are followed by `Name: value`.
const HEADER_FLAGS: &[&str] = &["-H", "--header"];

/// The ranges of each argument that are likely to be secrets.
pub(crate) fn in_args(args: &[String]) -> Vec<Vec<Range<usize>>> {
    let mut flag = None;
    args.iter()
        .map(|arg| {
            let ranges = in_arg(arg, flag);
            flag = (arg.starts_with('-') && !arg.contains('=')).then_some(arg.as_str());
            ranges
        })
        .collect()
}

/// The ranges of an address, or of a template of one, that are likely to be secrets: user, password, query, fragment.
pub(crate) fn in_url(url: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let head = url.find(['?', '#']).unwrap_or(url.len());
    let start = authority_start(&url[..head]);
    let end = url[start..head]
        .find(['/', '\\'])
        .map_or(head, |offset| start + offset);
    if let Some(at) = url[start..end].rfind('@') {
        let userinfo = start..start + at;
        match url[userinfo.clone()].find(':') {
            Some(colon) => ranges.extend([start..start + colon, start + colon + 1..userinfo.end]),
            None => ranges.push(userinfo),
        }
    }
    let fragment = url[head..]
        .find('#')
        .map_or(url.len(), |offset| head + offset);
    let mut at = head + 1;
    for pair in url.get(at..fragment).unwrap_or_default().split('&') {
        let value = pair.find('=').map_or(0, |equals| equals + 1);
        ranges.push(at + value..at + pair.len());
        at += pair.len() + 1;
    }
    ranges.push((fragment + 1).min(url.len())..url.len());
    ranges.retain(|range| !range.is_empty());
    ranges
}

/// The text with every range that `hide` agrees to replaced by the mask.
pub(crate) fn masked(text: &str, ranges: &[Range<usize>], hide: impl Fn(&str) -> bool) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges.iter().filter(|range| hide(&text[(*range).clone()])) {
        masked.push_str(&text[at..range.start]);
        masked.push_str(super::redact::MASK);
        at = range.end;
    }
    masked.push_str(&text[at..]);
    masked
}

#[expect(
    clippy::single_range_in_vec_init,
    reason = "one range of the argument, not its elements"
)]
fn in_arg(arg: &str, flag: Option<&str>) -> Vec<Range<usize>> {
    let from = |start: usize| vec![start..arg.len()];
    let after = |separator: char| arg.find(separator).map(|at| at + separator.len_utf8());
    if let Some(flag) = flag {
        if VARIABLE_FLAGS.contains(&flag) {
            return after('=').map(from).unwrap_or_default();
        }
        if HEADER_FLAGS.contains(&flag) {
            return after(':')
                .map(|start| from(start + leading_spaces(&arg[start..])))
                .unwrap_or_default();
        }
        if announces_secret(flag) && !arg.starts_with("--") {
            return from(0);
        }
    }
    if let Some(start) = after('=')
        && announces_secret(&arg[..start - 1])
    {
        return from(start);
    }
    let start = after('=').filter(|_| arg.starts_with('-')).unwrap_or(0);
    let value = &arg[start..];
    if TOKEN_PREFIXES
        .iter()
        .any(|prefix| value.starts_with(prefix) && value.len() > prefix.len() + 4)
    {
        return from(start);
    }
    if value.contains("://") {
        return in_url(value)
            .into_iter()
            .map(|range| start + range.start..start + range.end)
            .collect();
    }
    Vec::new()
}

fn announces_secret(name: &str) -> bool {
    let folded: String = name
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .map(|c| c.to_ascii_lowercase())
        .collect();
    TELLING_PARTS.iter().any(|part| folded.contains(part))
        || TELLING_NAMES.contains(&folded.as_str())
}

fn leading_spaces(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Behind the scheme and its slashes; addresses are read as leniently as browsers do.
fn authority_start(head: &str) -> usize {
    let is_scheme = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    let start = match head.find(':') {
        Some(colon) if is_scheme(&head[..colon]) => colon + 1,
        _ => head.find("//").unwrap_or(0),
    };
    let rest = &head[start..];
    start + rest.len() - rest.trim_start_matches(['/', '\\']).len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mask_args(line: &[&str]) -> String {
        let args: Vec<_> = line.iter().map(|&arg| arg.to_owned()).collect();
        let ranges = in_args(&args);
        let masked = args
            .iter()
            .zip(&ranges)
            .map(|(arg, ranges)| masked(arg, ranges, |_| true));
        masked.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn arguments_that_habit_calls_secret_are_found() {
        let cases: &[(&[&str], &str)] = &[
            (&["--token", "canary", "x"], "--token *** x"),
            (&["--api-key=canary"], "--api-key=***"),
            (&["--API_KEY", "canary"], "--API_KEY ***"),
            (&["-password", "canary"], "-password ***"),
            (&["GITHUB_TOKEN=canary"], "GITHUB_TOKEN=***"),
            (&["-e", "MODE=canary", "image"], "-e MODE=*** image"),
            (&["-H", "X-Custom: canary"], "-H X-Custom: ***"),
            (&["--token", "--verbose", "x"], "--token --verbose x"),
            (&["ghp_abcdefgh", "--x=sk-12345678"], "*** --x=***"),
            (
                &["postgres://u:canary@h/db?a=canary"],
                "postgres://***:***@h/db?a=***",
            ),
            (
                &["--url=https://h/?k=canary&l=m#canary"],
                "--url=https://h/?k=***&l=***#***",
            ),
            (
                &["-y", "@scope/package", "--author", "me"],
                "-y @scope/package --author me",
            ),
            (&["a=b", "--port", "80", "C:\\x"], "a=b --port 80 C:\\x"),
        ];
        for (args, expected) in cases {
            assert_eq!(mask_args(args), *expected);
        }
    }

    #[test]
    fn user_password_query_and_fragment_of_an_address_are_found() {
        let cases = [
            (
                "http://u:canary@127.0.0.1:1/mcp?key=canary",
                "http://***:***@127.0.0.1:1/mcp?key=***",
            ),
            ("http://canary@h", "http://***@h"),
            ("http://u:a@b:c@h/@x", "http://***:***@h/@x"),
            ("https:u:canary@h/", "https:***:***@h/"),
            ("https://h/mcp?canary&a=&b", "https://h/mcp?***&a=&***"),
            ("${BASE}/mcp?k=canary", "${BASE}/mcp?k=***"),
            ("http://h/a:b@c", "http://h/a:b@c"),
            ("http://h/", "http://h/"),
        ];
        for (url, expected) in cases {
            assert_eq!(masked(url, &in_url(url), |_| true), expected);
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_searched(args in prop::collection::vec("[-=:/?#@&a-zä ]{0,12}|--token|-H|-e", 0..5)) {
            for (arg, ranges) in args.iter().zip(in_args(&args)) {
                masked(arg, &ranges, |_| true);
                masked(arg, &in_url(arg), |_| true);
            }
        }
    }
}
