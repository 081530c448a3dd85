//! Keeping secrets out of everything that is shown.
//!
//! Redaction goes by value and not by key: whatever came from env values, headers, references, commands or the
//! sensitive parts of an address is remembered and masked wherever it turns up, also in what a server printed.
//! Values that are short or that everybody uses would garble texts and are left alone.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use memchr::memmem;

use super::env_scope::safe_base;
use super::environment::{Environment, Platform};

/// What stands where a secret stood.
pub const MASK: &str = "***";

/// Shorter values are no secrets worth the name, and masking them garbles every text: 6 characters.
pub const MIN_SECRET_CHARS: usize = 6;

/// Settings that look like values worth hiding but are words that everybody uses.
const COMMON_VALUES: &[&str] = &[
    "application/json",
    "bearer",
    "debug",
    "default",
    "development",
    "disabled",
    "enabled",
    "localhost",
    "production",
    "127.0.0.1",
    "staging",
    "stdout",
    "stderr",
    "testing",
    "verbose",
    "warning",
];

/// The secrets of one server, to be masked in texts.
///
/// Cloning copies the secrets; share it instead where it is used often.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Longest first, so that a secret within another one does not leave the rest of the longer one.
    secrets: Vec<String>,
    innocent: HashSet<String>,
}

impl Redactor {
    /// A redactor without secrets that never masks what is plain to everybody on this host: the directories of `PATH`,
    /// the home directory, the user's name.
    #[must_use]
    pub fn new(environment: &Environment) -> Self {
        let separator = if environment.platform() == Platform::Windows {
            ';'
        } else {
            ':'
        };
        let innocent = safe_base(environment.platform())
            .into_iter()
            .filter_map(|name| environment.value(name)?.to_str())
            .flat_map(|value| value.split(separator).chain([value]))
            .map(str::to_owned)
            .collect();
        Self {
            secrets: Vec::new(),
            innocent,
        }
    }

    /// Remembers a secret, and the forms in which it may turn up: without an `Authorization` scheme, line by line, as
    /// JSON writes it, percent-encoded.
    pub fn add(&mut self, secret: &str) {
        self.add_form(secret);
        if let Some((scheme, credentials)) = secret.split_once(' ')
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-')
        {
            self.add_form(credentials.trim());
        }
        for line in secret.lines().filter(|line| !line.starts_with("-----")) {
            self.add_form(line.trim());
        }
    }

    /// Remembers a secret from an address, where it may be percent-encoded.
    pub(crate) fn add_encoded(&mut self, secret: &str) {
        self.add(secret);
        let decoded = percent_decoded(secret);
        if decoded != secret {
            self.add(&decoded);
        }
    }

    /// Remembers all secrets of another redactor as well.
    pub fn absorb(&mut self, other: &Self) {
        for secret in &other.secrets {
            self.insert(secret);
        }
    }

    /// The text with every secret replaced by [`MASK`].
    #[must_use]
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut masked = Cow::Borrowed(text);
        // Replacing can bring a secret together that contains the mask; the text gets shorter each time.
        while let Some(shorter) = self.mask_once(&masked) {
            masked = Cow::Owned(shorter);
        }
        masked
    }

    /// The same for a text whose beginning was cut off, possibly within a secret: the rest of one goes as well.
    #[must_use]
    pub(crate) fn mask_cut_start(&self, text: &str) -> String {
        let rest = self.secrets.iter().filter_map(|secret| {
            let longest = secret.len().min(text.len());
            (MIN_SECRET_CHARS..longest).rev().find(|length| {
                text.as_bytes()
                    .starts_with(&secret.as_bytes()[secret.len() - length..])
            })
        });
        match rest.max() {
            Some(length) => format!("{MASK}{}", self.mask(&text[length..])),
            None => self.mask(text).into_owned(),
        }
    }

    /// The same for a text whose end was cut off.
    #[must_use]
    pub(crate) fn mask_cut_end<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let rest = self.secrets.iter().filter_map(|secret| {
            let longest = secret.len().min(text.len());
            (MIN_SECRET_CHARS..longest)
                .rev()
                .find(|length| text.as_bytes().ends_with(&secret.as_bytes()[..*length]))
        });
        match rest.max() {
            Some(length) => {
                Cow::Owned(format!("{}{MASK}", self.mask(&text[..text.len() - length])))
            }
            None => self.mask(text),
        }
    }

    /// Whether there is nothing to mask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    fn mask_once(&self, text: &str) -> Option<String> {
        let mut hits: Vec<Range<usize>> = Vec::new();
        for secret in self
            .secrets
            .iter()
            .filter(|secret| secret.len() <= text.len())
        {
            let found = memmem::find_iter(text.as_bytes(), secret.as_bytes());
            hits.extend(found.map(|start| start..start + secret.len()));
        }
        if hits.is_empty() {
            return None;
        }
        hits.sort_by_key(|hit| hit.start);
        let mut masked = String::with_capacity(text.len());
        let mut end = 0;
        for hit in hits {
            if hit.start > end || masked.is_empty() {
                masked.push_str(&text[end..hit.start]);
                masked.push_str(MASK);
            }
            end = end.max(hit.end);
        }
        masked.push_str(&text[end..]);
        Some(masked)
    }

    fn add_form(&mut self, form: &str) {
        let worth_hiding = form.chars().count() >= MIN_SECRET_CHARS
            && !self.innocent.contains(form)
            && !COMMON_VALUES
                .iter()
                .any(|common| common.eq_ignore_ascii_case(form));
        if worth_hiding {
            let quoted = serde_json::Value::from(form).to_string();
            self.insert(form);
            self.insert(&quoted[1..quoted.len() - 1]);
            self.insert(&percent_encoded(form));
        }
    }

    fn insert(&mut self, secret: &str) {
        let place = self
            .secrets
            .partition_point(|other| (other.len(), other.as_str()) > (secret.len(), secret));
        if self.secrets.get(place).is_none_or(|other| other != secret) {
            self.secrets.insert(place, secret.to_owned());
        }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor")
            .field("secrets", &self.secrets.len())
            .finish_non_exhaustive()
    }
}

/// As an address writes a text in its query.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn percent_decoded(text: &str) -> String {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escape = after
            .get(..2)
            .filter(|_| byte == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(escaped) => {
                decoded.push(escaped);
                rest = &after[2..];
            }
            None => {
                decoded.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::FixedEnvironment;

    fn redactor(secrets: &[&str]) -> Redactor {
        let variables = [
            ("PATH", "/usr/local/bin:/usr/bin"),
            ("HOME", "/home/someone"),
            ("USER", "someone"),
        ];
        let environment = Environment::read(&variables.into_iter().collect::<FixedEnvironment>());
        let mut redactor = Redactor::new(&environment.with_platform(Platform::Posix));
        for secret in secrets {
            redactor.add(secret);
        }
        redactor
    }

    #[test]
    fn secrets_are_masked_wherever_they_turn_up() {
        let cases: &[(&[&str], &str, &str)] = &[
            (
                &["canary-1"],
                "x canary-1, canary-1canary-1.",
                "x ***, ***.",
            ),
            (
                &["canary-1", "canary-1-long"],
                "canary-1-long canary-1",
                "*** ***",
            ),
            (&["abcdefgh", "efghijkl"], "abcdefghijkl", "***"),
            (&["Bearer canary-1"], "token=canary-1", "token=***"),
            (&["line one\nline two"], "> line two <", "> *** <"),
            (
                &["a\"b\\canary"],
                r#"{"k": "a\"b\\canary"}"#,
                r#"{"k": "***"}"#,
            ),
            (
                &["p@ss/word"],
                "http://h/?k=p%40ss%2Fword",
                "http://h/?k=***",
            ),
            (&["geheimä"], "<geheimä>", "<***>"),
            (&[], "nothing", "nothing"),
        ];
        for (secrets, text, masked) in cases {
            assert_eq!(redactor(secrets).mask(text), *masked);
        }
    }

    #[test]
    fn values_that_everybody_uses_do_not_garble_a_text() {
        let values = [
            "1",
            "true",
            "info",
            "",
            "/usr/bin",
            "/home/someone",
            "someone",
            "production",
            "Bearer",
            "12345",
        ];
        let text = "true 1 info /usr/bin /home/someone someone production Bearer 12345";
        assert!(matches!(redactor(&values).mask(text), Cow::Borrowed(same) if same == text));
        assert!(redactor(&values).is_empty());
    }

    #[test]
    fn a_redactor_takes_over_the_secrets_of_another() {
        let mut one = redactor(&["canary-1"]);
        one.absorb(&redactor(&["canary-22", "canary-1"]));
        assert_eq!(one.mask("canary-1 canary-22"), "*** ***");
        assert_eq!(format!("{one:?}"), "Redactor { secrets: 2, .. }");
    }

    proptest! {
        #[test]
        fn no_secret_is_left(
            secrets in prop::collection::vec("[ab*ä]{1,9}|[a-z\\n \"%]{6,12}", 0..6),
            parts in prop::collection::vec((0usize..6, "[ab*ä ]{0,5}"), 0..8),
        ) {
            let list: Vec<_> = secrets.iter().map(String::as_str).collect();
            let redactor = redactor(&list);
            let text: String = parts
                .iter()
                .map(|(index, around)| format!("{around}{}", secrets.get(*index).map_or("", String::as_str)))
                .collect();
            let masked = redactor.mask(&text);
            for secret in secrets.iter().filter(|secret| secret.chars().count() >= MIN_SECRET_CHARS) {
                prop_assert!(!masked.contains(secret.as_str()), "{secret:?} in {masked:?}");
            }
            prop_assert_eq!(redactor.mask(&masked), masked.as_ref());
        }
    }
}
