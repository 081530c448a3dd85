//! The older HTTP+SSE transport: one stream for everything from the server, one address to post to.
//!
//! It is like standard input and output: the connection is the stream, and when that ends it is dropped. Nothing is
//! resumed and no new stream is opened; that is a new link, made by the owner.

use std::{future::pending, sync::Arc, time::Duration};

use bytes::Bytes;
use http::HeaderMap;
use reqwest::{Response, Url};
use tokio::{sync::watch, task::AbortHandle, time::timeout};

use super::{
    DropCause,
    http::{
        HttpClient, HttpOptions, RequestFailure,
        body::{MediaType, drain_in_background, read_refusal},
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
    /// How the stream ended, once it has.
    dropped: watch::Receiver<Option<Arc<str>>>,
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
        let (ended, dropped) = watch::channel(None);
        let reader = tokio::spawn(async move {
            let inbound = Arc::clone(&stream.connection.inbound);
            let reason = stream.read_to_end().await;
            inbound.dropped(&DropCause::StreamEnded(reason.clone()));
            ended.send_replace(Some(reason.into()));
        });
        Ok(Self {
            connection,
            endpoint,
            dropped,
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

    #[cfg(test)]
    /// Waits until the stream has ended by itself, and says how. Pending for ever on a link that was closed.
    pub(crate) async fn dropped(&self) -> Arc<str> {
        let mut dropped = self.dropped.clone();
        match dropped.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(reason)) => Arc::clone(reason),
            Ok(None) | Err(_) => pending().await,
        }
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
            drain_in_background(response);
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
mod tests {
    use std::{io, sync::Mutex};

    use http::{HeaderValue, Method};
    use tokio::sync::mpsc;

    use super::{
        super::testing::{
            Answer, MakeAnswer, Recorder, Seen, TEST_LIMIT, TestServer, events, json, open_events,
            respond,
        },
        *,
    };

    type Feed = mpsc::Sender<io::Result<Bytes>>;

    async fn connect(
        server: &TestServer,
        recorder: &Arc<Recorder>,
    ) -> Result<LegacySseLink, RequestFailure> {
        let client = HttpClient::new(Duration::from_secs(5)).unwrap();
        let mut options = HttpOptions::new(server.url("/base/sse?key=k"));
        options.max_message_bytes = 1000;
        options
            .headers
            .insert("x-custom", HeaderValue::from_static("kept"));
        LegacySseLink::connect(client, options, recorder.clone(), TEST_LIMIT).await
    }

    /// A link whose stream the test feeds, to a server that answers every POST by `post`.
    async fn connected(
        first: &str,
        post: MakeAnswer,
    ) -> (TestServer, Arc<Recorder>, LegacySseLink, Feed) {
        let (feed, answer) = open_events();
        let answer = Mutex::new(Some(answer));
        let server = TestServer::start(move |received| match received.method {
            Method::GET => answer.lock().unwrap().take().unwrap(),
            _ => post(),
        })
        .await;
        feed.send(Ok(first.to_owned().into())).await.unwrap();
        let recorder = Recorder::new();
        let link = connect(&server, &recorder).await.unwrap();
        (server, recorder, link, feed)
    }

    async fn bounded<T>(work: impl Future<Output = T>) -> T {
        timeout(TEST_LIMIT, work).await.expect("done in time")
    }

    #[tokio::test]
    async fn messages_go_to_the_endpoint_and_replies_come_on_the_stream() {
        for (endpoint, path) in [
            ("/message?sessionId=1", "/message"),
            ("message", "/base/message"),
        ] {
            let first = format!(": hi\n\nevent: endpoint\ndata: {endpoint}\n\n");
            let (server, recorder, link, feed) =
                connected(&first, || respond(202, &[], "Accepted")).await;
            bounded(link.request(&1.into(), r#"{"id":1}"#.into()))
                .await
                .unwrap();
            bounded(link.notify(r#"{"method":"x"}"#.into()))
                .await
                .unwrap();
            let posts = server.received(&Method::POST);
            assert_eq!(posts[0].path, path);
            assert_eq!(posts[0].header("x-custom"), Some("kept"));
            assert_eq!(posts[1].body, r#"{"method":"x"}"#);
            feed.send(Ok(
                "event: message\ndata: {\"id\":1,\"result\":{}}\n\n".into()
            ))
            .await
            .unwrap();
            let expected = Seen::Message(r#"{"id":1,"result":{}}"#.to_owned(), Origin::Shared);
            recorder.wait_until(|seen| seen == [expected.clone()]).await;
        }
    }

    #[tokio::test]
    async fn an_absolute_endpoint_of_the_same_origin_is_used() {
        let (feed, answer) = open_events();
        let answer = Mutex::new(Some(answer));
        let server = TestServer::start(move |received| match received.method {
            Method::GET => answer.lock().unwrap().take().unwrap(),
            _ => respond(202, &[], ""),
        })
        .await;
        feed.send(Ok(format!(
            "event: endpoint\ndata: {}\n\n",
            server.url("/absolute")
        )
        .into()))
            .await
            .unwrap();
        let link = connect(&server, &Recorder::new()).await.unwrap();
        bounded(link.notify("{}".into())).await.unwrap();
        assert_eq!(server.received(&Method::POST)[0].path, "/absolute");
    }

    #[tokio::test]
    async fn a_server_without_such_a_stream_is_named_as_what_it_is() {
        let cases: [(MakeAnswer, &str); 7] = [
            (
                || respond(404, &[], ""),
                "no MCP endpoint at this URL (HTTP 404)",
            ),
            (|| respond(405, &[], ""), "the server answered HTTP 405"),
            (
                || respond(401, &[], ""),
                "the server rejects the credentials (HTTP 401): check the configured headers",
            ),
            (
                || json("{}"),
                "the server answered HTTP 200 with content type \"application/json\": \"{}\"",
            ),
            (
                || events("data: {}\n\n"),
                "the event stream names no usable endpoint: end of the event stream",
            ),
            (
                || events("event: endpoint\ndata: http://localhost:1/x?token=canary\n\n"),
                "the event stream names no usable endpoint: http://localhost:1 is of another origin",
            ),
            (
                || events("event: endpoint\ndata: http://[\n\n"),
                "the event stream names no usable endpoint: \"http://[\": invalid IPv6 address",
            ),
        ];
        for (answer, expected) in cases {
            let server = TestServer::start(move |_| answer()).await;
            let failure = bounded(connect(&server, &Recorder::new()))
                .await
                .err()
                .unwrap();
            assert_eq!(failure.to_string(), expected);
        }
    }

    #[tokio::test]
    async fn the_wait_for_the_endpoint_is_bounded() {
        for hangs in [true, false] {
            let (_feed, answer) = open_events();
            let answer = Mutex::new(Some(answer));
            let server = TestServer::start(move |_| match hangs {
                true => Answer::Hang,
                false => answer.lock().unwrap().take().unwrap(),
            })
            .await;
            let client = HttpClient::new(Duration::from_secs(5)).unwrap();
            let options = HttpOptions::new(server.url("/sse"));
            let connecting =
                LegacySseLink::connect(client, options, Recorder::new(), Duration::from_millis(50));
            let failure = bounded(connecting).await.err().unwrap();
            assert_eq!(
                failure.to_string(),
                "the event stream names no usable endpoint: nothing came within 50 ms"
            );
        }
    }

    #[tokio::test]
    async fn the_end_of_the_stream_drops_the_connection() {
        let first = "event: endpoint\ndata: /m\n\n";
        let too_large = format!("data: {}\n\n", "x".repeat(1000));
        let cases = [
            (None, "end of the event stream"),
            (
                Some(Ok(Bytes::from(too_large))),
                "a message exceeds the limit of 1000 bytes",
            ),
        ];
        for (last, expected) in cases {
            let (_server, _recorder, link, feed) = connected(first, || respond(202, &[], "")).await;
            if let Some(last) = last {
                feed.send(last).await.unwrap();
            }
            drop(feed);
            assert_eq!(&*bounded(link.dropped()).await, expected);
            assert_eq!(
                &*bounded(link.dropped()).await,
                expected,
                "the reason stays"
            );
        }
    }

    #[tokio::test]
    async fn a_refused_message_says_why() {
        let first = "event: endpoint\ndata: /m\n\n";
        let cases: [(MakeAnswer, &str); 3] = [
            (
                || respond(404, &[], "Could not find session"),
                "the server no longer knows the session (HTTP 404)",
            ),
            (
                || respond(400, &[], "No transport found for sessionId"),
                "the server no longer knows the session (HTTP 400)",
            ),
            (
                || respond(500, &[], "x"),
                "the server answered HTTP 500: \"x\"",
            ),
        ];
        for (answer, expected) in cases {
            let (_server, _recorder, link, _feed) = connected(first, answer).await;
            let failure = bounded(link.request(&1.into(), "{}".into()))
                .await
                .unwrap_err();
            assert_eq!(failure.to_string(), expected);
        }
        let error = || respond(400, &[], r#"{"error":{"code":-32600,"message":"bad"}}"#);
        let (_server, recorder, link, _feed) = connected(first, error).await;
        bounded(link.request(&1.into(), "{}".into())).await.unwrap();
        let expected = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"bad"}}"#;
        assert_eq!(recorder.messages(), [expected]);
    }

    #[tokio::test]
    async fn close_lets_go_of_the_stream() {
        let (_server, _recorder, link, feed) =
            connected("event: endpoint\ndata: /m\n\n", || respond(202, &[], "")).await;
        link.close();
        bounded(feed.closed()).await;
    }
}
