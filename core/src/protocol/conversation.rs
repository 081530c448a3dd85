//! The handshake with a server, and the task that answers what it asks afterwards.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitationCapability, FormElicitationCapability,
    Implementation, ProtocolVersion, UrlElicitationCapability,
};
use rmcp::service::{ClientInitializeError, RunningService, serve_client};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::mpsc;

use super::version;
use super::wire::Wire;
use crate::transport::{Link, RequestFailure};

/// How long the conversation's task may take to end, once told.
const END_WAIT: Duration = Duration::from_millis(500);

/// How this host introduces itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientIdentity {
    pub(crate) name: String,
    pub(crate) version: String,
}

/// How a server introduced itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerIdentity {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) protocol_version: String,
    /// Whether it said that it has tools.
    pub(crate) offers_tools: bool,
}

/// Why the handshake failed.
#[derive(Debug)]
pub(crate) enum HandshakeError {
    /// The request could not be brought there and back.
    Transport(RequestFailure),
    /// The server ended the connection.
    Closed,
    /// The server answered with an error.
    Refused {
        code: i64,
        message: String,
        /// A revision that both sides speak, when the error says that there is one.
        supported: Option<&'static str>,
    },
    /// The server's answer is none.
    NoAnswer(String),
    /// The server speaks another revision.
    Version { theirs: String },
}

/// A running conversation. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Conversation {
    service: RunningService<RoleClient, Host>,
}

impl Conversation {
    /// Shakes hands over `link`. The caller bounds the time.
    ///
    /// A server that refuses the newest revision and says which ones it supports is asked once more.
    pub(crate) async fn open(
        link: Arc<Link>,
        inbox: mpsc::Receiver<Bytes>,
        client: &ClientIdentity,
        asks_a_person: bool,
    ) -> Result<(Self, ServerIdentity), HandshakeError> {
        let (first, returned) = Wire::new(Arc::clone(&link), inbox);
        let host = |version| Host {
            client: client.clone(),
            asks_a_person,
            version,
        };
        match Self::shake(host(version::NEWEST), first).await {
            Err(HandshakeError::Refused {
                supported: Some(common),
                ..
            }) => {
                let inbox = returned.await.map_err(|_| HandshakeError::Closed)?;
                let (second, _) = Wire::new(link, inbox);
                Self::shake(host(common), second).await
            }
            result => result,
        }
    }

    async fn shake(host: Host, wire: Wire) -> Result<(Self, ServerIdentity), HandshakeError> {
        let last_failure = wire.last_failure();
        let service = serve_client(host, wire).await.map_err(|error| {
            let failure = last_failure
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            failed(error, failure)
        })?;
        let info = service.peer_info().ok_or(HandshakeError::Closed)?;
        let theirs = info.protocol_version.to_string();
        if !version::is_spoken(&theirs) {
            return Err(HandshakeError::Version { theirs });
        }
        let (name, version) = match &info.server_info {
            Some(server) => (server.name.clone(), server.version.clone()),
            None => (String::new(), String::new()),
        };
        let offers_tools = info.capabilities.tools.is_some();
        let identity = ServerIdentity {
            name,
            version,
            protocol_version: theirs,
            offers_tools,
        };
        Ok((Self { service }, identity))
    }

    /// Ends the conversation's task and waits for it, within a bound.
    pub(crate) async fn close(mut self) {
        let _ = tokio::time::timeout(END_WAIT, self.service.close()).await;
    }
}

fn failed(error: ClientInitializeError, failure: Option<RequestFailure>) -> HandshakeError {
    if let Some(failure) = failure {
        return HandshakeError::Transport(failure);
    }
    match error {
        ClientInitializeError::JsonRpcError(error) => {
            let supported = error
                .data
                .as_ref()
                .and_then(|data| data.get("supported"))
                .and_then(serde_json::Value::as_array)
                .and_then(|versions| {
                    version::best_common(versions.iter().filter_map(serde_json::Value::as_str))
                })
                .filter(|common| *common != version::NEWEST);
            HandshakeError::Refused {
                code: i64::from(error.code.0),
                message: error.message.into_owned(),
                supported,
            }
        }
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::TransportError { .. } => HandshakeError::Closed,
        ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ExpectedInitResponse(_) => HandshakeError::NoAnswer(
            "the answer to `initialize` lacks `protocolVersion`, `capabilities` or `serverInfo`"
                .to_owned(),
        ),
        // The other variants name ids and modes that mean nothing to a person.
        _ => HandshakeError::NoAnswer("the answer to `initialize` cannot be used".to_owned()),
    }
}

/// Answers what a server asks of its host: a ping, its roots (none), and a refusal of the rest.
#[derive(Debug)]
struct Host {
    client: ClientIdentity,
    asks_a_person: bool,
    version: &'static str,
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if self.asks_a_person {
            let elicitation = ElicitationCapability::new()
                .with_form(FormElicitationCapability::new())
                .with_url(UrlElicitationCapability::new());
            capabilities.elicitation = Some(elicitation);
        }
        let identity = Implementation::new(self.client.name.clone(), self.client.version.clone());
        // rmcp asks for a revision that has no handshake unless it is told otherwise.
        let version = serde_json::from_value(serde_json::Value::from(self.version))
            .unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE);
        ClientConfig::new(capabilities, identity).with_protocol_version(version)
    }

    async fn create_elicitation(
        &self,
        _request: rmcp::model::ElicitRequestParams,
        _context: rmcp::service::RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ElicitResult, rmcp::ErrorData> {
        // The router takes these to the desk when there is one, so nobody can be asked here.
        Err(rmcp::ErrorData::method_not_found::<
            rmcp::model::ElicitationCreateRequestMethod,
        >())
    }
}
