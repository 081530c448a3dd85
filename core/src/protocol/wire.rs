//! Feeds rmcp: what the router left over goes in, what rmcp says goes out on our transport.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::Envelope;
use crate::transport::{Link, RequestFailure, RequestId};

/// The code of an error that this side puts in place of a reply that never came.
const NO_REPLY: i64 = -32099;

/// Replies that may wait at once for requests that failed on the way.
const FAILURE_QUEUE: usize = 16;

/// Our transport as rmcp sees it. Closing it does nothing: the link has an owner of its own.
pub(super) struct Wire {
    link: Arc<Link>,
    inbox: mpsc::Receiver<Bytes>,
    /// Replies that are made here for requests that failed on the way.
    failures: (mpsc::Sender<Bytes>, mpsc::Receiver<Bytes>),
    last_failure: LastFailure,
    /// Takes the inbox back when rmcp lets go of the wire, for another handshake on the same link.
    returns: Option<oneshot::Sender<mpsc::Receiver<Bytes>>>,
}

/// The last failure of a message on the way: it says more than an error's text.
pub(super) type LastFailure = Arc<Mutex<Option<RequestFailure>>>;

impl Wire {
    /// Lends the link to rmcp. The receiver gives the inbox back at the end.
    pub(super) fn new(
        link: Arc<Link>,
        inbox: mpsc::Receiver<Bytes>,
    ) -> (Self, oneshot::Receiver<mpsc::Receiver<Bytes>>) {
        let (returns, returned) = oneshot::channel();
        let wire = Self {
            link,
            inbox,
            failures: mpsc::channel(FAILURE_QUEUE),
            last_failure: LastFailure::default(),
            returns: Some(returns),
        };
        (wire, returned)
    }

    pub(super) fn last_failure(&self) -> LastFailure {
        Arc::clone(&self.last_failure)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Some(returns) = self.returns.take() {
            let (_, empty) = mpsc::channel(1);
            // Nobody waits for it when no other handshake follows.
            let _ = returns.send(std::mem::replace(&mut self.inbox, empty));
        }
    }
}

impl Transport<RoleClient> for Wire {
    type Error = RequestFailure;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), RequestFailure>> + Send + 'static {
        let link = Arc::clone(&self.link);
        let failures = self.failures.0.clone();
        let last_failure = Arc::clone(&self.last_failure);
        async move {
            let body = serde_json::to_vec(&message)
                .map(Bytes::from)
                .map_err(|error| RequestFailure::Internal {
                    reason: error.to_string(),
                })?;
            let JsonRpcMessage::Request(request) = message else {
                return link.notify(body).await.inspect_err(|failure| {
                    note_failure(&last_failure, failure.clone());
                });
            };
            let opens_session = matches!(request.request, ClientRequest::InitializeRequest(_));
            let id_text =
                serde_json::to_string(&request.id).map_err(|error| RequestFailure::Internal {
                    reason: error.to_string(),
                })?;
            let id = RequestId::from_json(&id_text);
            // rmcp waits for this future before it reads on, so the request goes its own way.
            let task_link = Arc::clone(&link);
            link.in_background(async move {
                let result = if opens_session {
                    task_link.initialize(&id, body).await
                } else {
                    task_link.request(&id, body).await
                };
                if let Err(failure) = result {
                    let error = serde_json::json!({
                        "jsonrpc": "2.0",
                        "id": serde_json::from_str::<Value>(&id_text).unwrap_or(Value::Null),
                        "error": { "code": NO_REPLY, "message": failure.to_string() },
                    });
                    note_failure(&last_failure, failure);
                    // Nobody listens any more when the conversation is over.
                    let _ = failures.send(Bytes::from(error.to_string())).await;
                }
            });
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = tokio::select! {
                message = self.inbox.recv() => message?,
                Some(failure) = self.failures.1.recv() => failure,
            };
            if let Some(message) = self.parse(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), RequestFailure> {
        Ok(())
    }
}

impl Wire {
    /// Reads a message as rmcp's type. A request that cannot be read is answered here with its own
    /// id, so that the server does not wait for ever.
    fn parse(&self, message: &Bytes) -> Option<ServerJsonRpcMessage> {
        let mut value: Value = serde_json::from_slice(message).ok()?;
        // Servers that write absent members as `null` mean absent.
        if let Some(result) = value.get_mut("result") {
            drop_nulls(result);
        }
        if let Some(version) = value
            .pointer("/result/protocolVersion")
            .and_then(Value::as_str)
        {
            // Before rmcp sends the next message: that one must carry the version already.
            self.link.set_protocol_version(version);
        }
        match serde_json::from_value(value) {
            Ok(message) => Some(message),
            Err(error) => {
                let envelope = Envelope::read(message).ok()?;
                let (Some(id), Some(_)) = (envelope.id, &envelope.method) else {
                    return None;
                };
                let text = Value::from(format!("cannot read this request: {error}"));
                self.link.notify_soon(format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32600,"message":{text}}}}}"#,
                    id = id.get()
                ));
                None
            }
        }
    }
}

fn note_failure(last: &LastFailure, failure: RequestFailure) {
    *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
}

/// Removes members that are `null`, at every depth.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
