//! Quoting what a server sent in an error, without quoting a secret of the connection that it echoes. Secrets that the
//! transport does not know are masked further up.

use http::HeaderMap;
use reqwest::Url;

use crate::config::MASK;

/// A shorter part of a header value is too likely to be an ordinary word.
const SHORTEST_SECRET_BYTES: usize = 6;

/// Makes previews in which no header value of the host occurs.
pub(super) struct Previewer {
    secrets: Vec<String>,
    limit: usize,
}

impl Previewer {
    /// Masks the values of `headers`, and the password and the query of `url`. `limit` is the length of a preview, in bytes.
    pub(super) fn new(headers: &HeaderMap, url: &Url, limit: usize) -> Self {
        let values = headers.values().filter_map(|value| value.to_str().ok());
        let mut secrets: Vec<String> = values
            // A server may echo the token of "Bearer token" alone.
            .flat_map(|value| value.split_ascii_whitespace().chain([value]))
            .filter(|part| !part.eq_ignore_ascii_case("bearer"))
            .chain(url.password())
            .chain(url.query())
            .map(str::to_owned)
            .chain(url.query_pairs().map(|(_, value)| value.into_owned()))
            .filter(|secret| secret.len() >= SHORTEST_SECRET_BYTES)
            .collect();
        // The longest first, or a part would be masked and leave the rest of the whole.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets, limit }
    }

    /// The beginning of `body` on one line.
    pub(super) fn of(&self, body: &[u8]) -> String {
        let longest_secret = self.secrets.first().map_or(0, String::len);
        let window = body.len().min(self.limit.saturating_add(longest_secret));
        let text = String::from_utf8_lossy(&body[..window]);
        let mut line = String::new();
        let mut rest = &*text;
        // Cut by where a piece begins, so that a secret across the edge is masked as a whole.
        while let Some(letter) = rest.chars().next()
            && text.len() - rest.len() < self.limit
        {
            if let Some(secret) = self
                .secrets
                .iter()
                .find(|secret| rest.starts_with(secret.as_str()))
            {
                line.push_str(MASK);
                rest = &rest[secret.len()..];
            } else {
                rest = &rest[letter.len_utf8()..];
                if !letter.is_whitespace() && !letter.is_control() {
                    line.push(letter);
                } else if !line.is_empty() && !line.ends_with(' ') {
                    line.push(' ');
                }
            }
        }
        line.truncate(line.trim_end().len());
        if !rest.is_empty() {
            line.push('…');
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, header::AUTHORIZATION};

    use super::*;

    fn previewer(limit: usize) -> Previewer {
        let mut headers = HeaderMap::new();
        headers.insert(
            AUTHORIZATION,
            HeaderValue::from_static("Bearer canary-123456"),
        );
        headers.insert("x-mode", HeaderValue::from_static("on"));
        let url = "http://user:pass-canary@localhost/?key=query%20canary"
            .parse()
            .unwrap();
        Previewer::new(&headers, &url, limit)
    }

    #[test]
    fn a_secret_that_comes_back_is_masked() {
        let cases = [
            ("bad token canary-123456!", "bad token ***!"),
            ("header Bearer canary-123456, on", "header ***, on"),
            ("password pass-canary", "password ***"),
            ("query canary of key=query%20canary", "*** of ***"),
        ];
        for (body, expected) in cases {
            assert_eq!(previewer(100).of(body.as_bytes()), expected);
        }
    }

    #[test]
    fn a_secret_on_the_edge_is_not_left_in_part() {
        for padding in 0..30 {
            let preview =
                previewer(12).of(format!("{}canary-123456", "x".repeat(padding)).as_bytes());
            assert!(!preview.contains("canary"), "{preview}");
        }
    }

    #[test]
    fn a_preview_is_one_bounded_line_of_whole_characters() {
        assert_eq!(previewer(10).of("a\r\n\tb\0 ééé".as_bytes()), "a b éé…");
    }
}
