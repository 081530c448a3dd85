//! The older HTTP+SSE transport: one stream for everything from the server, one address to post to.
//!
//! It is like standard input and output: the connection is the stream, and when that ends it is dropped. Nothing is
//! resumed and no new stream is opened; that is a new link, made by the owner.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::HeaderMap;
use reqwest::{Response, Url};
use tokio::{task::AbortHandle, time::timeout};

use super::{
    DropCause,
    http::{
        HttpClient, HttpOptions, RequestFailure,
        body::{MediaType, read_refusal},
        client::root_cause,
        connection::{Connection, Purpose},
        refusal::{Refusal, Refused, judge},
    },
    inbound::{Inbound, Origin, RequestId},
    sse_stream::{Event, SseParser},
};

/// The name of the event that says where to post.
const ENDPOINT: &str = "endpoint";

/// One connection to one server over HTTP+SSE.
pub(crate) struct LegacySseLink {
    connection: Arc<Connection>,
    endpoint: Url,
    reader: AbortHandle,
}

impl LegacySseLink {
    /// Opens the stream and waits, at most so long, until it says where to post.
    ///
    /// # Errors
    /// When the server offers no such stream, or names an address of another origin. Nothing was executed then.
    pub(crate) async fn connect(
        client: HttpClient,
        options: HttpOptions,
        inbound: Arc<dyn Inbound>,
        endpoint_timeout: Duration,
    ) -> Result<Self, RequestFailure> {
        let connection = Arc::new(Connection::new(client, options, inbound));
        let opening = async {
            let mut stream = Stream::open(Arc::clone(&connection)).await?;
            let endpoint = stream.endpoint().await?;
            Ok((stream, endpoint))
        };
        let (stream, endpoint) = timeout(endpoint_timeout, opening)
            .await
            .unwrap_or_else(|_| {
                let reason = format!("nothing came within {} ms", endpoint_timeout.as_millis());
                Err(RequestFailure::NoEndpointEvent { reason })
            })?;
        let reader = tokio::spawn(async move {
            let inbound = Arc::clone(&stream.connection.inbound);
            let reason = stream.read_to_end().await;
            inbound.dropped(&DropCause::StreamEnded(reason));
        });
        Ok(Self {
            connection,
            endpoint,
            reader: reader.abort_handle(),
        })
    }

    /// Sends one request. It returns once the server has taken it: the reply comes on the stream, to [`Inbound`].
    ///
    /// # Errors
    /// When the server did not take it. A JSON-RPC error in the refusal is handed over as the reply instead.
    pub(crate) async fn request(&self, id: &RequestId, body: Bytes) -> Result<(), RequestFailure> {
        match self.post(Some(id), body).await? {
            Some(error) => {
                let _arrival = self
                    .connection
                    .inbound
                    .message(error, Origin::Request(id.clone()));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Sends a notification, or a reply to the server.
    ///
    /// # Errors
    /// When the server did not take it.
    pub(crate) async fn notify(&self, body: Bytes) -> Result<(), RequestFailure> {
        self.post(None, body).await.map(drop)
    }

    /// Lets go of the stream, which ends the session. Waits for nothing.
    pub(crate) fn close(&self) {
        self.reader.abort();
    }

    /// Posts one message. Returns the JSON-RPC error by which the server refused it, if it did so.
    async fn post(
        &self,
        id: Option<&RequestId>,
        body: Bytes,
    ) -> Result<Option<Bytes>, RequestFailure> {
        let posted = self
            .connection
            .post(&self.endpoint, body, &HeaderMap::new(), Purpose::Other)
            .await?;
        let mut response = posted.response;
        if response.status().is_success() {
            self.connection.client.drain(response);
            return Ok(None);
        }
        let text = read_refusal(&mut response).await;
        // The address itself names the session.
        match judge(
            &response,
            &text,
            Refused {
                id,
                had_session: true,
            },
            &self.connection.previewer,
        ) {
            Refusal::Answer(error) => Ok(Some(error)),
            Refusal::Failure(failure) => Err(failure),
        }
    }
}

impl Drop for LegacySseLink {
    fn drop(&mut self) {
        self.close();
    }
}

/// The stream from the server.
struct Stream {
    connection: Arc<Connection>,
    response: Response,
    parser: SseParser,
}

impl Stream {
    async fn open(connection: Arc<Connection>) -> Result<Self, RequestFailure> {
        let mut response = connection.open_stream(None).await?;
        let status = response.status();
        let media_type = MediaType::of(&response);
        if status.is_success() && media_type == MediaType::EventStream {
            let parser = SseParser::new(connection.options.max_message_bytes);
            return Ok(Self {
                connection,
                response,
                parser,
            });
        }
        let body = read_refusal(&mut response).await;
        let preview = || connection.previewer.of(&body);
        if status.is_success() {
            return Err(RequestFailure::ContentType {
                status,
                media_type: media_type.to_string(),
                preview: preview(),
            });
        }
        Err(
            match judge(
                &response,
                &body,
                Refused {
                    id: None,
                    had_session: false,
                },
                &connection.previewer,
            ) {
                Refusal::Failure(failure) => failure,
                Refusal::Answer(_) => RequestFailure::Status {
                    status,
                    preview: preview(),
                    retry_after: None,
                },
            },
        )
    }

    async fn endpoint(&mut self) -> Result<Url, RequestFailure> {
        let unusable = |reason| RequestFailure::NoEndpointEvent { reason };
        loop {
            match self.next_event().await.map_err(unusable)? {
                event if event.name == ENDPOINT => {
                    return self.resolve(&event.data).map_err(unusable);
                }
                event => self.hand_over(event),
            }
        }
    }

    fn resolve(&self, address: &[u8]) -> Result<Url, String> {
        let base = self.response.url();
        let quoted = || format!("{:?}", self.connection.previewer.of(address));
        let text = std::str::from_utf8(address).map_err(|_| quoted())?;
        let endpoint = base
            .join(text.trim())
            .map_err(|error| format!("{}: {error}", quoted()))?;
        if endpoint.origin() != base.origin() {
            return Err(format!(
                "{} is of another origin",
                endpoint.origin().ascii_serialization()
            ));
        }
        Ok(endpoint)
    }

    /// Hands over what comes. Returns how the stream ended.
    async fn read_to_end(mut self) -> String {
        loop {
            match self.next_event().await {
                Ok(event) => self.hand_over(event),
                Err(reason) => return reason,
            }
        }
    }

    fn hand_over(&self, event: Event) {
        if event.is_message() {
            self.connection.hand_over_shared(event.data);
        }
    }

    /// The next event, or how the stream ended.
    async fn next_event(&mut self) -> Result<Event, String> {
        loop {
            match self.parser.next_event() {
                Ok(Some(event)) => return Ok(event),
                Ok(None) => {}
                Err(too_large) => {
                    return Err(format!(
                        "a message exceeds the limit of {} bytes",
                        too_large.limit
                    ));
                }
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.parser.push(chunk),
                Ok(None) => return Err("end of the event stream".to_owned()),
                Err(error) => return Err(root_cause(&error)),
            }
        }
    }
}

#[cfg(test)]
mod tests;
