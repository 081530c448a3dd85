//! Streamable HTTP: one POST per message, replies as JSON or as an event stream, a listening stream beside them.
//!
//! A [`HttpLink`] is one session with one server. It holds no deadline for a request: that is the caller's, who drops the
//! future. It never opens a new session by itself, and never sends a request twice that may have been run.

pub(super) mod body;
pub(super) mod client;
pub(super) mod connection;
mod connector;
mod failure;
mod headers;
mod listen;
mod options;
pub(super) mod refusal;
mod reply;
mod resume;
mod tails;

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ::http::{HeaderMap, HeaderValue, Method, StatusCode};
use bytes::Bytes;
use tokio::{task::AbortHandle, time::timeout};

use self::{
    body::read_refusal,
    connection::{Connection, Purpose},
    refusal::{Refusal, Refused, judge},
    reply::Exchange,
};
pub(crate) use self::{
    client::HttpClient,
    failure::{RequestFailure, suggests_legacy_sse},
    options::HttpOptions,
};
use super::inbound::{Inbound, RequestId, TransportNote};

/// One session with one server over streamable HTTP.
pub(crate) struct HttpLink {
    connection: Arc<Connection>,
    listening: Mutex<Listening>,
}

/// The listening task, at most one in the life of a link.
enum Listening {
    NotStarted,
    Running(AbortHandle),
    Closed,
}

impl HttpLink {
    /// Sends nothing yet. Links of the same server share `client`, and so its connections.
    pub(crate) fn new(client: HttpClient, options: HttpOptions, inbound: Arc<dyn Inbound>) -> Self {
        let connection = Arc::new(Connection::new(client, options, inbound));
        Self {
            connection,
            listening: Mutex::new(Listening::NotStarted),
        }
    }

    /// Sends `initialize` and, when it succeeds, takes over the session that the response names.
    ///
    /// # Errors
    /// As [`Self::request`].
    pub(crate) async fn initialize(
        &self,
        id: &RequestId,
        body: Bytes,
    ) -> Result<StatusCode, RequestFailure> {
        self.send(id, body, &HeaderMap::new(), Purpose::Initialize)
            .await
    }

    /// Sends one request and drives its response until the reply was handed to [`Inbound`]. Returns the HTTP status that
    /// it came with: a JSON-RPC error may come with any. Dropping the future stops reading; it cancels nothing.
    ///
    /// # Errors
    /// Every response that cannot be the reply is a failure: the caller is never left waiting for another one.
    pub(crate) async fn request(
        &self,
        id: &RequestId,
        body: Bytes,
    ) -> Result<StatusCode, RequestFailure> {
        self.send(id, body, &HeaderMap::new(), Purpose::Other).await
    }

    /// Sends a notification, or a reply to the server. Any success ends it; a body is not waited for.
    ///
    /// # Errors
    /// When the server did not take it.
    pub(crate) async fn notify(&self, body: Bytes) -> Result<(), RequestFailure> {
        let connection = &self.connection;
        let url = &connection.options.url;
        let mut posted = connection
            .post(url, body, &HeaderMap::new(), Purpose::Other)
            .await?;
        if posted.response.status().is_success() {
            connection.client.drain(posted.response);
            return Ok(());
        }
        let text = read_refusal(&mut posted.response).await;
        let refused = Refused {
            id: None,
            had_session: posted.had_session,
        };
        match judge(&posted.response, &text, refused, &connection.previewer) {
            Refusal::Failure(failure) => Err(failure),
            // Only a request has an id to be answered.
            Refusal::Answer(_) => Ok(()),
        }
    }

    /// Sends this version with every request from now on, as agreed by `initialize`.
    pub(crate) fn set_protocol_version(&self, version: HeaderValue) {
        self.connection.headers.set_protocol_version(version);
    }

    /// The session that the server named, if it named one.
    #[cfg(test)]
    pub(crate) fn session(&self) -> Option<HeaderValue> {
        self.connection.headers.current().session.clone()
    }

    /// Opens the listening stream and keeps it open as long as the server offers it. Call it after `initialize`, on a
    /// runtime; it waits for nothing, and what comes of it goes to [`Inbound`]. A refusal of the first try, 404 included, says
    /// nothing of the session.
    pub(crate) fn listen(&self) {
        let mut listening = self.listening();
        if matches!(*listening, Listening::NotStarted) {
            let task = tokio::spawn(listen::listen(Arc::clone(&self.connection)));
            *listening = Listening::Running(task.abort_handle());
        }
    }

    /// Stops listening and ends the session, if there is one and it was not ended yet. Takes at most the limit for this;
    /// what goes wrong is only noted. Requests still under way are not touched.
    pub(crate) async fn close(&self) {
        if !self.stop_listening() {
            return;
        }
        let Connection {
            options, inbound, ..
        } = &*self.connection;
        let outcome = timeout(options.delete_timeout, self.end_session()).await;
        let reason = match outcome {
            Ok(Ok(())) => return,
            Ok(Err(reason)) => reason,
            Err(_) => format!("no answer within {} ms", options.delete_timeout.as_millis()),
        };
        inbound.note(TransportNote::SessionNotEnded { reason });
    }

    async fn end_session(&self) -> Result<(), String> {
        let Connection {
            client,
            options,
            headers,
            ..
        } = &*self.connection;
        let current = headers.current();
        if current.session.is_none() {
            return Ok(());
        }
        let sent = client
            .send(
                Method::DELETE,
                &options.url,
                &current.bare,
                None,
                options.redirect_hops,
            )
            .await;
        let response = sent.map_err(|failure| failure.to_string())?;
        let status = response.status();
        client.drain(response);
        match status {
            // The session is gone already, or the server ends sessions by itself.
            StatusCode::NOT_FOUND
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::NOT_IMPLEMENTED => Ok(()),
            status if status.is_success() => Ok(()),
            status => Err(format!("HTTP {}", status.as_u16())),
        }
    }

    /// Whether the link was open until now.
    fn stop_listening(&self) -> bool {
        match mem::replace(&mut *self.listening(), Listening::Closed) {
            Listening::NotStarted => true,
            Listening::Running(task) => {
                task.abort();
                true
            }
            Listening::Closed => false,
        }
    }

    fn listening(&self) -> MutexGuard<'_, Listening> {
        self.listening
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(
        &self,
        id: &RequestId,
        body: Bytes,
        headers: &HeaderMap,
        purpose: Purpose,
    ) -> Result<StatusCode, RequestFailure> {
        let posted = self
            .connection
            .post(&self.connection.options.url, body, headers, purpose)
            .await?;
        if purpose == Purpose::Initialize && posted.response.status().is_success() {
            self.connection
                .headers
                .adopt_session(posted.response.headers());
        }
        Exchange::new(Arc::clone(&self.connection), id.clone())
            .drive(posted)
            .await
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        self.stop_listening();
    }
}

#[cfg(test)]
mod tests;
