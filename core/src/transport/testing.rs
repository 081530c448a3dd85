//! What the tests of the HTTP transports share: a scripted loopback server and a recording receiver.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use reqwest::Url;
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
    task::JoinSet,
    time::timeout,
};

use super::DropCause;
use super::http::HttpClient;
use super::inbound::{Arrival, Inbound, Origin, RequestId, TransportNote};
use crate::config::{Environment, FixedEnvironment};

/// A client that knows of no proxy, whatever the environment of the tests says.
pub(super) fn direct_client() -> HttpClient {
    let environment = Environment::read(&FixedEnvironment::default());
    HttpClient::new(&environment, Duration::from_secs(5)).unwrap()
}

/// No event of a test takes as long as this.
pub(super) const TEST_LIMIT: Duration = Duration::from_secs(20);

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// One request as the server saw it.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Received {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// What the server does with a request.
pub(super) enum Answer {
    Response(Response<Body>),
    /// Never answers.
    Hang,
}

/// Makes the same answer again and again.
pub(super) type MakeAnswer = fn() -> Answer;

/// A whole response.
pub(super) fn respond(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
    let body = http_body_util::Full::new(body.into()).map_err(|never: Infallible| match never {});
    Answer::Response(head(status, headers).body(body.boxed_unsync()).unwrap())
}

/// A whole response of the media type that fits `body`.
pub(super) fn json(body: impl Into<Bytes>) -> Answer {
    respond(200, &[("content-type", "application/json")], body)
}

/// A whole event stream, of unknown length as they are.
pub(super) fn events(body: impl Into<Bytes>) -> Answer {
    let frame = Ok(Frame::data(body.into()));
    let body = StreamBody::new(stream::iter([frame])).boxed_unsync();
    Answer::Response(
        head(200, &[("content-type", "text/event-stream")])
            .body(body)
            .unwrap(),
    )
}

/// An event stream that the test feeds. It ends when the sender is dropped, and breaks on an error.
pub(super) fn open_events() -> (mpsc::Sender<io::Result<Bytes>>, Answer) {
    let (sender, receiver) = mpsc::channel(16);
    let frames = stream::unfold(
        receiver,
        |mut receiver: mpsc::Receiver<io::Result<Bytes>>| async {
            Some((receiver.recv().await?.map(Frame::data), receiver))
        },
    );
    let response = head(200, &[("content-type", "text/event-stream")]);
    (
        sender,
        Answer::Response(
            response
                .body(StreamBody::new(frames).boxed_unsync())
                .unwrap(),
        ),
    )
}

fn head(status: u16, headers: &[(&str, &str)]) -> http::response::Builder {
    headers.iter().fold(
        Response::builder().status(status),
        |builder, (name, value)| builder.header(*name, *value),
    )
}

/// A loopback server that keeps a journal. It ends when it is dropped.
pub(super) struct TestServer {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    journal: watch::Receiver<Vec<Received>>,
    accepting: JoinSet<()>,
}

impl TestServer {
    pub(super) async fn start(
        script: impl Fn(&Received) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (journal_writer, journal) = watch::channel(Vec::new());
        let mut accepting = JoinSet::new();
        let (script, journal_writer, accepted) = (
            Arc::new(script),
            Arc::new(journal_writer),
            Arc::clone(&connections),
        );
        accepting.spawn(async move {
            let mut serving = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                accepted.fetch_add(1, Ordering::SeqCst);
                let (script, journal_writer) = (Arc::clone(&script), Arc::clone(&journal_writer));
                let service = service_fn(move |request| {
                    let (script, journal_writer) =
                        (Arc::clone(&script), Arc::clone(&journal_writer));
                    async move {
                        let received = receive(request).await;
                        journal_writer.send_modify(|journal| journal.push(received.clone()));
                        match script(&received) {
                            Answer::Response(response) => Ok::<_, Infallible>(response),
                            Answer::Hang => std::future::pending().await,
                        }
                    }
                });
                serving.spawn(async move {
                    // A client that goes away is no failure of the server.
                    let _gone = http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self {
            address,
            connections,
            journal,
            accepting,
        }
    }

    pub(super) fn url(&self, path: &str) -> Url {
        format!("http://{}{path}", self.address).parse().unwrap()
    }

    /// Closes the listening socket and all connections.
    pub(super) async fn stop(mut self) {
        self.accepting.shutdown().await;
    }

    /// How many connections were accepted so far.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(super) fn journal(&self) -> Vec<Received> {
        self.journal.borrow().clone()
    }

    /// The requests of this method so far.
    pub(super) fn received(&self, method: &Method) -> Vec<Received> {
        self.journal()
            .into_iter()
            .filter(|received| received.method == *method)
            .collect()
    }

    /// Waits until so many requests of this method came.
    pub(super) async fn wait_for(&self, method: Method, count: usize) -> Vec<Received> {
        let mut journal = self.journal.clone();
        let enough = |journal: &Vec<Received>| {
            journal
                .iter()
                .filter(|received| received.method == method)
                .count()
                >= count
        };
        timeout(TEST_LIMIT, journal.wait_for(enough))
            .await
            .expect("requests in time")
            .unwrap();
        self.received(&method)
    }
}

async fn receive(request: Request<Incoming>) -> Received {
    let (parts, body) = request.into_parts();
    let body = body
        .collect()
        .await
        .map(|body| body.to_bytes())
        .unwrap_or_default();
    Received {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        headers: parts.headers,
        body: String::from_utf8(body.into()).unwrap(),
    }
}

/// One thing that a transport reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    Message(String, Origin),
    Listening,
    Note(TransportNote),
    Dropped(DropCause),
}

/// Records what a transport hands over, and finds replies as a router would.
pub(super) struct Recorder {
    seen: watch::Sender<Vec<Seen>>,
    /// Ids that the router has forgotten.
    forgotten: Mutex<Vec<RequestId>>,
}

impl Recorder {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            seen: watch::Sender::new(Vec::new()),
            forgotten: Mutex::default(),
        })
    }

    pub(super) fn forget(&self, id: RequestId) {
        self.forgotten.lock().unwrap().push(id);
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.borrow().clone()
    }

    pub(super) fn messages(&self) -> Vec<String> {
        self.seen()
            .into_iter()
            .filter_map(|seen| match seen {
                Seen::Message(message, _) => Some(message),
                _ => None,
            })
            .collect()
    }

    /// Waits until what was seen fulfils the condition.
    pub(super) async fn wait_until(&self, condition: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        let mut seen = self.seen.subscribe();
        let seen = timeout(TEST_LIMIT, seen.wait_for(|seen| condition(seen))).await;
        seen.unwrap_or_else(|_| panic!("not seen in time, only {:?}", self.seen()))
            .unwrap()
            .clone()
    }

    fn push(&self, seen: Seen) {
        self.seen.send_modify(|all| all.push(seen));
    }
}

impl Inbound for Recorder {
    fn dropped(&self, cause: &DropCause) {
        self.push(Seen::Dropped(cause.clone()));
    }

    fn message(&self, message: Bytes, origin: Origin) -> Arrival {
        self.push(Seen::Message(
            String::from_utf8_lossy(&message).into_owned(),
            origin,
        ));
        let Ok(message) = serde_json::from_slice::<serde_json::Value>(&message) else {
            return Arrival::Other;
        };
        match message.get("id") {
            Some(id) if message.get("method").is_none() && !id.is_null() => {
                let id = RequestId::from_json(&id.to_string());
                // A router knows the ids that are under way; in tests those above 99 are not.
                let known = !matches!(id, RequestId::Integer(100..))
                    && !self.forgotten.lock().unwrap().contains(&id);
                if known {
                    Arrival::Reply(id)
                } else {
                    Arrival::Other
                }
            }
            _ => Arrival::Other,
        }
    }

    fn listening(&self) {
        self.push(Seen::Listening);
    }

    fn note(&self, note: TransportNote) {
        self.push(Seen::Note(note));
    }
}
