//! Keys that tell whether a definition changed.
//!
//! A [`fingerprint`] is remembered with a person's decision to trust an entry: it changes with everything that changes
//! what is started. A [`listing_key`] names a cached tool list on disk, so no secret goes into it.

use sha2::{Digest, Sha256};

use super::definition::{ServerDefinition, Transport};
use super::expand::{ExpandMode, is_bare_reference};
use super::launch_line::{visible_args, visible_url};
use super::secret_command::command_in;

/// SHA-256, in hexadecimal, of everything in a definition that changes what is started, before it is expanded.
///
/// The name, limits, filters and the like do not count, nor does the order of env and headers.
#[must_use]
pub fn fingerprint(definition: &ServerDefinition) -> String {
    digest("launch 1", definition, Secrets::Kept)
}

/// SHA-256, in hexadecimal, of the name and of the definition without literal values of env and headers and without
/// what is likely to be a secret in arguments and addresses.
#[must_use]
pub fn listing_key(definition: &ServerDefinition) -> String {
    digest(
        &format!("listing 1 {}", definition.name),
        definition,
        Secrets::LeftOut,
    )
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Secrets {
    Kept,
    LeftOut,
}

fn digest(purpose: &str, definition: &ServerDefinition, secrets: Secrets) -> String {
    let mut canonical = Canonical::default();
    canonical.text(purpose);
    canonical.text(match definition.expand {
        None => "",
        Some(ExpandMode::HeadersOnly) => "headers",
        Some(ExpandMode::All) => "all",
    });
    canonical.text(match definition.resident {
        None => "",
        Some(true) => "resident",
        Some(false) => "not resident",
    });
    let value = |value: &str| match secrets {
        Secrets::LeftOut if !is_bare_reference(value) && command_in(value).is_none() => None,
        _ => Some(value.to_owned()),
    };
    match &definition.transport {
        Transport::Stdio(stdio) => {
            canonical.text("stdio");
            match secrets {
                Secrets::Kept => canonical.list(stdio.args.iter()),
                Secrets::LeftOut => canonical.list(visible_args(&stdio.args).iter()),
            }
            canonical.text(&stdio.command);
            canonical.optional(stdio.cwd.as_deref());
            let mut env: Vec<_> = stdio.env.iter().collect();
            env.sort();
            canonical.count(env.len());
            for (name, set) in env {
                canonical.text(name);
                canonical.text(if set.is_some() { "set" } else { "unset" });
                canonical.optional(set.as_deref().and_then(value).as_deref());
            }
            canonical.optional(stdio.inherit_env.as_ref().map(|_| "inherit"));
            canonical.list(stdio.inherit_env.iter().flatten());
        }
        Transport::Http(remote) | Transport::Sse(remote) => {
            canonical.text(if matches!(definition.transport, Transport::Sse(_)) {
                "sse"
            } else {
                "http"
            });
            match secrets {
                Secrets::Kept => canonical.text(&remote.url),
                Secrets::LeftOut => canonical.text(&visible_url(&remote.url)),
            }
            let mut headers: Vec<_> = remote
                .headers
                .iter()
                .map(|(name, set)| (name.to_ascii_lowercase(), set))
                .collect();
            headers.sort();
            canonical.count(headers.len());
            for (name, set) in headers {
                canonical.text(&name);
                canonical.optional(value(set).as_deref());
            }
        }
    }
    canonical.finish()
}

/// Texts with their lengths, so that no two different definitions become the same bytes.
#[derive(Default)]
struct Canonical {
    hash: Sha256,
}

impl Canonical {
    fn count(&mut self, count: usize) {
        self.hash.update((count as u64).to_be_bytes());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.hash.update(text);
    }

    fn optional(&mut self, text: Option<&str>) {
        self.count(usize::from(text.is_some()));
        self.text(text.unwrap_or_default());
    }

    fn list<'t>(&mut self, texts: impl Iterator<Item = &'t String>) {
        let texts: Vec<_> = texts.collect();
        self.count(texts.len());
        texts.into_iter().for_each(|text| self.text(text));
    }

    fn finish(self) -> String {
        self.hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::config::{ConfigInput, ParseOptions, parse};

    fn definition(name: &str, entry: &Value) -> ServerDefinition {
        let parsed = parse(
            ConfigInput::Object(json!({name: entry})),
            &ParseOptions::default(),
        )
        .unwrap();
        parsed.servers[0].definition.clone().unwrap()
    }

    fn stdio() -> Value {
        json!({"command": "srv", "args": ["a", "b"], "env": {"A": "1", "B": "2"}, "cwd": "x", "inheritEnv": ["C"]})
    }

    fn changed(base: &Value, change: Value) -> Value {
        let mut entry = base.clone();
        entry
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        entry
    }

    #[test]
    fn a_fingerprint_changes_with_everything_that_changes_what_is_started() {
        let base = fingerprint(&definition("s", &stdio()));
        assert_eq!(base.len(), 64);
        for change in [
            json!({"command": "other"}),
            json!({"args": ["ab"]}),
            json!({"args": ["a", "c"]}),
            json!({"env": {"A": "1", "B": "3"}}),
            json!({"env": {"A": "1", "B": null}}),
            json!({"env": {"A": "1"}}),
            json!({"cwd": "y"}),
            json!({"cwd": null}),
            json!({"inheritEnv": []}),
            json!({"inheritEnv": null}),
            json!({"expand": "all"}),
            json!({"resident": true}),
            json!({"type": "http", "url": "http://h/"}),
        ] {
            assert_ne!(
                fingerprint(&definition("s", &changed(&stdio(), change.clone()))),
                base,
                "{change}"
            );
        }
        for same in [
            json!({"timeout": 5}),
            json!({"env": {"B": "2", "A": "1"}}),
            json!({"tools": {"x": true}, "exposure": "hidden", "enabled": false, "limits": {"maxTools": 5}}),
        ] {
            assert_eq!(
                fingerprint(&definition("other", &changed(&stdio(), same.clone()))),
                base,
                "{same}"
            );
        }
    }

    #[test]
    fn the_order_and_case_of_headers_do_not_count() {
        let one = json!({"url": "http://h/", "headers": {"A": "1", "b": "2"}});
        let other = json!({"url": "http://h/", "headers": {"B": "2", "a": "1"}});
        assert_eq!(
            fingerprint(&definition("s", &one)),
            fingerprint(&definition("s", &other))
        );
    }

    #[test]
    fn a_listing_key_does_not_depend_on_secrets_but_on_all_else() {
        let key = |entry: &Value| listing_key(&definition("s", entry));
        let secrets = json!({"args": ["--token", "x"], "env": {"A": "1", "B": "${B}"}});
        let base = key(&changed(&stdio(), secrets));
        let other_secrets = json!({"args": ["--token", "y"], "env": {"A": "2", "B": "${B}"}});
        assert_eq!(key(&changed(&stdio(), other_secrets)), base);
        let other_source = json!({"args": ["--token", "x"], "env": {"A": "1", "B": "${C}"}});
        assert_ne!(key(&changed(&stdio(), other_source)), base);
        let remote = |url: &str, header: &str| {
            key(&json!({"url": url, "headers": {"Authorization": header}}))
        };
        assert_eq!(
            remote("http://u:p@h/?k=1", "Bearer 1"),
            remote("http://u:q@h/?k=2", "Bearer 2")
        );
        assert_ne!(remote("http://h/a", "x"), remote("http://h/b", "x"));
        assert_ne!(
            listing_key(&definition("s", &stdio())),
            listing_key(&definition("t", &stdio()))
        );
        assert_ne!(
            listing_key(&definition("s", &stdio())),
            fingerprint(&definition("s", &stdio()))
        );
    }
}
