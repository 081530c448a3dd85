//! Looking at a message only as far as a transport must, to say which request it answers.

use bytes::Bytes;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::inbound::RequestId;

/// The parts of a JSON-RPC message that tell what it is. An absent id and a null one are the same.
#[derive(Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct ErrorObject {
    code: i64,
    message: String,
}

/// What a message is to the transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A request or notification.
    ToClient,
    /// An error reply.
    Error {
        /// The id that it names, if any.
        id: Option<RequestId>,
        code: i64,
        message: String,
    },
    /// Any other reply.
    Result { id: Option<RequestId> },
}

impl<'a> Envelope<'a> {
    pub(super) fn parse(message: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(message)
    }

    pub(super) fn kind(&self) -> Kind {
        let id = self.id.map(|id| RequestId::from_json(id.get()));
        if self.method.is_some() {
            return Kind::ToClient;
        }
        match self
            .error
            .and_then(|error| serde_json::from_str::<ErrorObject>(error.get()).ok())
        {
            Some(ErrorObject { code, message }) => Kind::Error { id, code, message },
            None => Kind::Result { id },
        }
    }

    /// The same error as the reply to the request `id`.
    pub(super) fn error_for(&self, id: &RequestId) -> Option<Bytes> {
        let error = self.error?.get();
        Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into())
    }
}

/// Whether this is meant to be JSON-RPC at all. Some servers put words such as "ping" on their streams.
pub(super) fn looks_like_message(data: &[u8]) -> bool {
    matches!(data.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// The messages of one body or event: one, or those of a batch. Older servers may send batches.
pub(super) fn split_batch(body: Bytes) -> Result<Messages, serde_json::Error> {
    let text = body
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(&body)
        .trim_ascii();
    if text.first() != Some(&b'[') {
        return Ok(Messages::One(body.slice_ref(text)));
    }
    let batch: Vec<&RawValue> = serde_json::from_slice(text)?;
    Ok(Messages::Batch(
        batch
            .iter()
            .map(|message| body.slice_ref(message.get().as_bytes()))
            .collect(),
    ))
}

/// One message without an allocation, or several.
pub(super) enum Messages {
    One(Bytes),
    Batch(Vec<Bytes>),
}

impl AsRef<[Bytes]> for Messages {
    fn as_ref(&self) -> &[Bytes] {
        match self {
            Self::One(message) => std::slice::from_ref(message),
            Self::Batch(messages) => messages,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(message: &str) -> Kind {
        Envelope::parse(message.as_bytes()).unwrap().kind()
    }

    #[test]
    fn messages_are_told_apart_by_method_first() {
        assert_eq!(kind(r#"{"id":1,"method":"ping"}"#), Kind::ToClient);
        assert_eq!(
            kind(r#"{"id":1,"result":{}}"#),
            Kind::Result { id: Some(1.into()) }
        );
        for (id, text) in [
            (None, ""),
            (None, r#""id":null,"#),
            (Some(7.into()), r#""id":7,"#),
        ] {
            let message = format!(r#"{{{text}"error":{{"code":-32000,"message":"no","data":1}}}}"#);
            assert_eq!(
                kind(&message),
                Kind::Error {
                    id,
                    code: -32000,
                    message: "no".into()
                }
            );
        }
        assert_eq!(
            kind(r#"{"error":"invalid_token"}"#),
            Kind::Result { id: None },
            "not a JSON-RPC error"
        );
    }

    #[test]
    fn an_error_keeps_its_bytes_under_another_id() {
        let envelope =
            Envelope::parse(br#"{"id":null,"error":{"code":-1, "message":"no","x":1e2}}"#).unwrap();
        let message = envelope.error_for(&RequestId::from_json("\"a\"")).unwrap();
        assert_eq!(
            message,
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-1, "message":"no","x":1e2}}"#
        );
    }

    #[test]
    fn a_batch_is_split_without_a_copy() {
        let body = Bytes::from_static(b"\xef\xbb\xbf [ {\"a\": 1} ,{\"b\":2}]\n");
        let messages = split_batch(body.clone()).unwrap();
        assert_eq!(messages.as_ref(), [&b"{\"a\": 1}"[..], b"{\"b\":2}"]);
        assert!(body.as_ptr_range().contains(&messages.as_ref()[1].as_ptr()));
        assert_eq!(split_batch(" {} ".into()).unwrap().as_ref(), [&b"{}"[..]]);
        assert!(split_batch("[1,".into()).is_err());
    }
}
