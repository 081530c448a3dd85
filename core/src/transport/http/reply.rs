//! Driving the response to one request until its reply has been handed over.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use http::StatusCode;
use reqwest::Response;
use tokio::{task::yield_now, time::timeout};

use super::{
    super::{
        envelope::{Envelope, Kind, looks_like_message, split_batch},
        inbound::{Arrival, Origin, RequestId},
        sse_stream::SseParser,
    },
    body::{DRAIN_TIMEOUT, MediaType, next_chunk, read_refusal, read_whole},
    client::root_cause,
    connection::{Connection, Posted},
    failure::RequestFailure,
    refusal::{Refusal, Refused, judge},
    resume::Resumption,
};

/// One request whose response is being read.
#[derive(Clone)]
pub(super) struct Exchange {
    connection: Arc<Connection>,
    id: RequestId,
}

/// What a message turned out to be for the request.
enum Outcome {
    /// Its reply; nothing else is to be expected.
    Answered,
    /// A notification, a request of the server, or a reply that has found another request.
    ToClient,
    /// A reply, but not to this request. Says which.
    Stray(String),
}

/// How a stream ended.
enum StreamEnd {
    Answered,
    /// Before the reply. `progressed` says whether it brought anything at all.
    Broken {
        reason: String,
        progressed: bool,
    },
}

impl Exchange {
    pub(super) fn new(connection: Arc<Connection>, id: RequestId) -> Self {
        Self { connection, id }
    }

    /// Reads the response until the reply is handed over. Returns the status that it came with.
    pub(super) async fn drive(&self, posted: Posted) -> Result<StatusCode, RequestFailure> {
        let Posted {
            mut response,
            had_session,
        } = posted;
        let status = response.status();
        if !status.is_success() {
            return self.refused(response, had_session).await;
        }
        let declared = MediaType::of(&response);
        if declared == MediaType::EventStream {
            self.stream(response, Bytes::new()).await?;
            return Ok(status);
        }
        let Some(first) = self.first_bytes(&mut response).await? else {
            return Err(RequestFailure::NoReply { status });
        };
        let kind = if declared == MediaType::Unclear {
            MediaType::sniff(&first)
        } else {
            Some(declared)
        };
        match kind {
            Some(MediaType::Json) => self.json(response, first).await?,
            Some(MediaType::EventStream) => self.stream(response, first).await?,
            Some(MediaType::Unclear | MediaType::Other(_)) | None => {
                let media_type = MediaType::of(&response).to_string();
                let preview = self.connection.previewer.of(&first);
                self.connection.client.drain(response);
                return Err(RequestFailure::ContentType {
                    status,
                    media_type,
                    preview,
                });
            }
        }
        Ok(status)
    }

    /// The first chunk that is more than white space.
    async fn first_bytes(&self, response: &mut Response) -> Result<Option<Bytes>, RequestFailure> {
        while let Some(chunk) = next_chunk(response).await? {
            if !chunk.trim_ascii().is_empty() {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }

    async fn refused(
        &self,
        mut response: Response,
        had_session: bool,
    ) -> Result<StatusCode, RequestFailure> {
        let body = read_refusal(&mut response).await;
        let refused = Refused {
            id: Some(&self.id),
            had_session,
        };
        match judge(&response, &body, refused, &self.connection.previewer) {
            Refusal::Answer(error) => {
                self.hand_over(error);
                Ok(response.status())
            }
            Refusal::Failure(failure) => Err(failure),
        }
    }

    async fn json(&self, mut response: Response, first: Bytes) -> Result<(), RequestFailure> {
        let body = read_whole(
            &mut response,
            first,
            self.connection.options.max_message_bytes,
        )
        .await?;
        match self.deliver(body)? {
            Outcome::Answered => Ok(()),
            Outcome::ToClient => Err(RequestFailure::Unmatched {
                found: "another message".to_owned(),
            }),
            Outcome::Stray(found) => Err(RequestFailure::Unmatched { found }),
        }
    }

    async fn stream(&self, mut response: Response, mut first: Bytes) -> Result<(), RequestFailure> {
        let mut parser = SseParser::new(self.connection.options.max_message_bytes);
        let mut resumption = Resumption::new(&self.connection);
        loop {
            match self.read_stream(&mut parser, response, first).await? {
                StreamEnd::Answered => return Ok(()),
                StreamEnd::Broken { reason, progressed } => {
                    if progressed {
                        resumption.progressed();
                    }
                    response = resumption.next_stream(&parser, reason).await?;
                }
            }
            parser.restart();
            first = Bytes::new();
        }
    }

    async fn read_stream(
        &self,
        parser: &mut SseParser,
        mut response: Response,
        first: Bytes,
    ) -> Result<StreamEnd, RequestFailure> {
        let mut progressed = false;
        let mut chunk = first;
        loop {
            parser.push(chunk);
            while let Some(event) = parser
                .next_event()
                .map_err(|error| RequestFailure::TooLarge { limit: error.limit })?
            {
                progressed = true;
                if event.is_message() && self.is_answered_by(event.data)? {
                    let limit = self.connection.options.max_message_bytes;
                    let parser = std::mem::replace(parser, SseParser::new(limit));
                    self.read_tail(parser, response).await;
                    return Ok(StreamEnd::Answered);
                }
            }
            chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => {
                    return Ok(StreamEnd::Broken {
                        reason: "end of the stream".to_owned(),
                        progressed,
                    });
                }
                Err(error) => {
                    return Ok(StreamEnd::Broken {
                        reason: root_cause(&error),
                        progressed,
                    });
                }
            };
        }
    }

    fn is_answered_by(&self, data: Bytes) -> Result<bool, RequestFailure> {
        if !looks_like_message(&data) {
            self.connection.note_noise(&data);
            return Ok(false);
        }
        match self.deliver(data)? {
            Outcome::Answered => Ok(true),
            Outcome::ToClient => Ok(false),
            Outcome::Stray(found) => Err(RequestFailure::Unmatched { found }),
        }
    }

    /// Hands over the messages of one body or event.
    fn deliver(&self, body: Bytes) -> Result<Outcome, RequestFailure> {
        let malformed = |error: serde_json::Error| RequestFailure::Malformed {
            reason: error.to_string(),
            preview: self.connection.previewer.of(&body),
        };
        let messages = split_batch(body.clone()).map_err(malformed)?;
        let mut outcome = Outcome::ToClient;
        for message in messages.as_ref() {
            match (self.deliver_message(message).map_err(malformed)?, &outcome) {
                (Outcome::ToClient, _) | (Outcome::Stray(_), Outcome::Answered) => {}
                (newer, _) => outcome = newer,
            }
        }
        Ok(outcome)
    }

    fn deliver_message(&self, message: &Bytes) -> Result<Outcome, serde_json::Error> {
        match self.hand_over(message.clone()) {
            Arrival::Reply(id) if id == self.id => return Ok(Outcome::Answered),
            // On its way to another request, which is odd but settled.
            Arrival::Reply(_) => return Ok(Outcome::ToClient),
            Arrival::Other => {}
        }
        let envelope = Envelope::parse(message)?;
        Ok(match envelope.kind() {
            Kind::ToClient => Outcome::ToClient,
            // The receiver may have given up on a reply that is ours all the same.
            Kind::Error { id: Some(id), .. } | Kind::Result { id: Some(id) } if id == self.id => {
                Outcome::Answered
            }
            Kind::Error { id: None, .. } => {
                if let Some(error) = envelope.error_for(&self.id) {
                    self.hand_over(error);
                }
                Outcome::Answered
            }
            Kind::Error { id: Some(id), .. } | Kind::Result { id: Some(id) } => {
                Outcome::Stray(format!(
                    "a reply to id {}",
                    self.connection.previewer.of(id.to_string().as_bytes())
                ))
            }
            Kind::Result { id: None } => Outcome::Stray("another message".to_owned()),
        })
    }

    fn hand_over(&self, message: Bytes) -> Arrival {
        self.connection
            .inbound
            .message(message, Origin::Request(self.id.clone()))
    }

    /// Reads what follows the reply, so that no notification is lost and the connection can be used again.
    ///
    /// Gives way once, so that the connection can bring the end that often came along with the reply; then no task is
    /// needed. Whoever has the reply by then polls on until this is done.
    async fn read_tail(&self, mut parser: SseParser, mut response: Response) {
        if !self.hand_over_tail(&mut parser) {
            return;
        }
        let mut ready = response.chunk().now_or_never();
        if ready.is_none() {
            yield_now().await;
            ready = response.chunk().now_or_never();
        }
        let mut next = match ready {
            Some(Ok(None) | Err(_)) => return,
            Some(Ok(Some(chunk))) => chunk,
            None => Bytes::new(),
        };
        let exchange = self.clone();
        let tail = async move {
            let reading = async {
                loop {
                    parser.push(next);
                    if !exchange.hand_over_tail(&mut parser) {
                        return;
                    }
                    let Ok(Some(chunk)) = response.chunk().await else {
                        return;
                    };
                    next = chunk;
                }
            };
            let _out_of_time = timeout(DRAIN_TIMEOUT, reading).await;
        };
        let tails = Arc::clone(&self.connection.tails);
        self.connection.client.in_background(tails.follow(tail));
    }

    /// Whether the stream can be read further.
    fn hand_over_tail(&self, parser: &mut SseParser) -> bool {
        loop {
            match parser.next_event() {
                Ok(Some(event)) if event.is_message() => {
                    for message in split_batch(event.data).iter().flat_map(AsRef::as_ref) {
                        self.hand_over(message.clone());
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }
}
