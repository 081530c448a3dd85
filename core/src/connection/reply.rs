//! A reply, parsed once.

use bytes::Bytes;
use bytestring::ByteString;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::RawJson;
use crate::protocol::{Envelope, quick_result};

/// Why a reply has no result that can be used.
#[derive(Debug, Clone)]
pub(crate) enum ReplyError {
    /// The server answered with an error.
    Error {
        code: i64,
        message: String,
        data: Option<RawJson>,
    },
    /// The answer is none.
    Malformed(String),
}

#[derive(Deserialize)]
struct RpcError<'a> {
    #[serde(default)]
    code: Option<f64>,
    #[serde(default)]
    message: Option<String>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

/// Parses the result of a reply with `parse`, and returns it with its text, which shares the memory of
/// the message.
///
/// Nearly all replies are laid out alike, and then the result is parsed without looking for it first:
/// `parse` refuses text that is not exactly one JSON value, so what it takes is the result.
pub(crate) fn read_result<T>(
    message: Bytes,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<(T, ByteString), ReplyError> {
    let message = ByteString::try_from(message)
        .map_err(|_| ReplyError::Malformed("the reply is not valid UTF-8".to_owned()))?;
    if let Some(text) = quick_result(&message)
        && let Ok(parsed) = parse(text)
    {
        return Ok((parsed, message.slice_ref(text)));
    }
    let result = find_result(&message)?;
    let parsed = parse(&result).map_err(ReplyError::Malformed)?;
    Ok((parsed, result))
}

/// The text of the result, wherever it stands. `error: null` beside it is no error, and an error
/// without a message has an empty one.
fn find_result(message: &ByteString) -> Result<ByteString, ReplyError> {
    let envelope = serde_json::from_str::<Envelope<'_>>(message)
        .map_err(|error| ReplyError::Malformed(format!("the reply is not valid JSON: {error}")))?;
    if let Some(error) = envelope.error {
        // The parser's own words name types of this crate.
        let error: RpcError<'_> = serde_json::from_str(error.get()).map_err(|_| {
            let reason = "the reply's error is none: it is not an object with a code and a message";
            ReplyError::Malformed(reason.to_owned())
        })?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a saturated code is still none of ours"
        )]
        return Err(ReplyError::Error {
            code: error.code.unwrap_or_default() as i64,
            message: error.message.unwrap_or_default(),
            data: error.data.map(RawJson::from_raw),
        });
    }
    match envelope.result {
        Some(result) => Ok(message.slice_ref(result.get())),
        None => Err(ReplyError::Malformed(
            "the reply has neither a result nor an error".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Result<ByteString, ReplyError> {
        let one_value = |text: &str| {
            serde_json::from_str::<&RawValue>(text)
                .map(drop)
                .map_err(|error| error.to_string())
        };
        read_result(Bytes::from_static(text.as_bytes()), one_value).map(|(_, text)| text)
    }

    #[test]
    fn the_result_is_found_wherever_it_stands_and_kept_as_it_is() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1e2}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1e2},"error":null}"#,
            r#"{"id":1,"result": {"a":1e2} }"#,
            r#"{"result":{"a":1e2},"jsonrpc":"2.0","id":1}"#,
        ] {
            assert_eq!(&*read(text).unwrap(), r#"{"a":1e2}"#, "{text}");
        }
    }

    #[test]
    fn an_error_behind_a_result_is_an_error() {
        let reply = read(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":-5}}"#);
        let Err(ReplyError::Error {
            code: -5, message, ..
        }) = reply
        else {
            panic!("{reply:?}")
        };
        assert!(message.is_empty());
    }

    #[test]
    fn what_is_no_reply_says_why() {
        for (text, part) in [
            (r#"{"id":1}"#, "neither a result nor an error"),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
                "neither a result nor an error",
            ),
            (r#"{"id":1,"result":}"#, "not valid JSON"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}"#, "not valid JSON"),
            (r#"{"id":1,"error":"no"}"#, "error is none"),
        ] {
            let Err(ReplyError::Malformed(reason)) = read(text) else {
                panic!("{text}")
            };
            assert!(reason.contains(part), "{text}: {reason}");
        }
    }
}
