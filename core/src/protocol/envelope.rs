//! Looking at a JSON-RPC message without parsing what it carries.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The outer members of a message; everything inside stays text.
#[derive(Debug, Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) error: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    /// Reads a message, or says why it is none.
    pub(crate) fn read(message: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(message)
    }

    /// Whether this is a message at all: a line that is a JSON object may be a log record. An id
    /// without anything else is taken for a reply, so that its call fails instead of waiting.
    pub(crate) fn is_message(&self) -> bool {
        self.method.is_some() || self.id.is_some() || self.error.is_some()
    }

    /// The id, when it is a number or a string that spells one: some servers answer with `"7"` or
    /// `7.0` to the request `7`.
    pub(crate) fn numeric_id(&self) -> Option<u64> {
        self.id.and_then(numeric)
    }
}

/// A whole number, also as a string or with `.0`.
pub(crate) fn numeric(value: &RawValue) -> Option<u64> {
    let text = value.get();
    let text = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(text);
    text.strip_suffix(".0").unwrap_or(text).parse().ok()
}

/// The id of a reply that begins as nearly all do, without reading what follows. A hint for routing
/// only: the caller still parses the reply.
pub(crate) fn quick_reply_id(message: &[u8]) -> Option<u64> {
    let (id, rest) = quick_start(message)?;
    (rest.starts_with(RESULT) || rest.starts_with(b",\"error\":")).then_some(id)
}

/// Where the result of a reply stands that is laid out as nearly all are. The text may be more than
/// the result, or no JSON at all: only a parser can tell.
pub(crate) fn quick_result(message: &str) -> Option<&str> {
    let (_, rest) = quick_start(message.as_bytes())?;
    rest.strip_prefix(RESULT)?;
    let from = message.len() - rest.len() + RESULT.len();
    message
        .get(from..)?
        .strip_suffix('}')
        .filter(|text| !text.starts_with("null"))
}

const RESULT: &[u8] = b",\"result\":";

fn quick_start(message: &[u8]) -> Option<(u64, &[u8])> {
    let rest = message.strip_prefix(b"{\"jsonrpc\":\"2.0\",\"id\":")?;
    let digits = rest
        .iter()
        .take(18)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (number, rest) = rest.split_at(digits);
    Some((std::str::from_utf8(number).ok()?.parse().ok()?, rest))
}

/// The id at the beginning of an overlong reply. Keys may come in either order, so anything that
/// looks like a top-level id before the payload counts.
pub(crate) fn leading_id(head: &[u8]) -> Option<u64> {
    if let Some(id) = quick_reply_id(head) {
        return Some(id);
    }
    let text = std::str::from_utf8(head).unwrap_or_else(|error| {
        // Cut inside a character: the part before it is whole.
        std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
    });
    let before_payload = text.split("\"result\"").next()?.split("\"error\"").next()?;
    let (_, after) = before_payload.split_once("\"id\"")?;
    let after = after
        .trim_start()
        .strip_prefix(':')?
        .trim_start()
        .trim_start_matches('"');
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    after[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_look_agrees_with_parsing_or_declines() {
        let table: [(&str, Option<u64>); 6] = [
            (r#"{"jsonrpc":"2.0","id":12,"result":{}}"#, Some(12)),
            (r#"{"jsonrpc":"2.0","id":12,"error":{}}"#, Some(12)),
            (r#"{"jsonrpc":"2.0","id":"12","result":{}}"#, None),
            (r#"{"jsonrpc":"2.0","id":12,"method":"ping"}"#, None),
            (r#"{"id":12,"jsonrpc":"2.0","result":{}}"#, None),
            (r#"{"jsonrpc":"2.0","id":,"result":{}}"#, None),
        ];
        for (message, id) in table {
            assert_eq!(quick_reply_id(message.as_bytes()), id, "{message}");
        }
    }

    #[test]
    fn ids_of_sloppy_servers_are_understood() {
        for (message, id) in [
            (r#"{"id":"7","result":1}"#, Some(7)),
            (r#"{"id":7.0,"result":1}"#, Some(7)),
            (r#"{"id":null,"error":{}}"#, None),
            (r#"{"id":"seven","result":1}"#, None),
        ] {
            assert_eq!(
                Envelope::read(message.as_bytes()).unwrap().numeric_id(),
                id,
                "{message}"
            );
        }
    }

    #[test]
    fn the_owner_of_an_overlong_reply_is_found_when_its_id_comes_first() {
        assert_eq!(leading_id(br#"{"id" : "9" ,"result":{"content"#), Some(9));
        assert_eq!(
            leading_id(br#"{"jsonrpc":"2.0","id":9,"result":{"content"#),
            Some(9)
        );
        assert_eq!(leading_id(br#"{"jsonrpc":"2.0","result":{"id":9"#), None);
        assert_eq!(
            leading_id("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":\"\u{e9}".as_bytes()),
            Some(9)
        );
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..80)) {
            let _ = quick_reply_id(&bytes);
            let _ = leading_id(&bytes);
            let _ = Envelope::read(&bytes).map(|envelope| envelope.numeric_id());
        }
    }
}
