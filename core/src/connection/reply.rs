//! A reply, parsed once.

use bytes::Bytes;
use bytestring::ByteString;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::RawJson;
use crate::protocol::Envelope;

/// A reply whose text is valid UTF-8 and whose outer members are known.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// The text of `result`, sharing the memory of the message.
    Result(ByteString),
    /// The server answered with an error.
    Error {
        code: i64,
        message: String,
        data: Option<RawJson>,
    },
}

/// Why a reply cannot be used.
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

impl Reply {
    /// Reads the envelope. `error: null` beside a result is no error, and a missing message is empty.
    pub(crate) fn read(message: Bytes) -> Result<Self, ReplyError> {
        let message = ByteString::try_from(message)
            .map_err(|_| ReplyError::Malformed("the reply is not valid UTF-8".to_owned()))?;
        let envelope = serde_json::from_str::<Envelope<'_>>(&message).map_err(|error| {
            ReplyError::Malformed(format!("the reply is not valid JSON: {error}"))
        })?;
        if let Some(error) = envelope.error.filter(|error| error.get() != "null") {
            let error: RpcError<'_> = serde_json::from_str(error.get()).map_err(|error| {
                ReplyError::Malformed(format!("the reply's error is none: {error}"))
            })?;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a saturated code is still none of ours"
            )]
            return Ok(Reply::Error {
                code: error.code.unwrap_or_default() as i64,
                message: error.message.unwrap_or_default(),
                data: error.data.map(RawJson::from_raw),
            });
        }
        match envelope.result {
            Some(result) => Ok(Reply::Result(message.slice_ref(result.get()))),
            None => Err(ReplyError::Malformed(
                "the reply has neither a result nor an error".to_owned(),
            )),
        }
    }

    /// The result's text, or the server's error.
    pub(crate) fn into_result(self) -> Result<ByteString, ReplyError> {
        match self {
            Reply::Result(result) => Ok(result),
            Reply::Error {
                code,
                message,
                data,
            } => Err(ReplyError::Error {
                code,
                message,
                data,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Result<Reply, ReplyError> {
        Reply::read(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn null_errors_and_missing_messages_are_tolerated() {
        let reply = read(r#"{"id":1,"result":{"a":1e2},"error":null}"#).unwrap();
        assert!(matches!(reply, Reply::Result(text) if &*text == r#"{"a":1e2}"#));
        let reply = read(r#"{"id":1,"error":{"code":-5}}"#).unwrap();
        assert!(matches!(reply, Reply::Error { code: -5, message, .. } if message.is_empty()));
    }

    #[test]
    fn what_is_no_reply_says_why() {
        for (text, part) in [
            (r#"{"id":1}"#, "neither a result nor an error"),
            (r#"{"id":1,"result":}"#, "not valid JSON"),
            (r#"{"id":1,"error":"no"}"#, "error is none"),
        ] {
            let Err(ReplyError::Malformed(reason)) = read(text) else {
                panic!("{text}")
            };
            assert!(reason.contains(part), "{reason}");
        }
    }
}
