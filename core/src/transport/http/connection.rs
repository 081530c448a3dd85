//! What the parts of one connection share: where to send, with which headers, and where arrivals go.

use std::{borrow::Cow, mem, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header::AUTHORIZATION};
use reqwest::{Response, Url};
use tokio::time::sleep;

use super::{
    super::{
        envelope::{looks_like_message, split_batch},
        inbound::{Inbound, Origin, TransportNote},
        preview::Previewer,
    },
    client::{HttpClient, take_credentials},
    failure::RequestFailure,
    headers::{ConnectionHeaders, LAST_EVENT_ID},
    options::HttpOptions,
    refusal::{asks_for_patience, retry_after},
    tails::Tails,
};

/// A request that the server refused unrun with 429 or 503 is sent again at most this often.
const PATIENCE_TRIES: u32 = 3;
/// The pauses before these repetitions together are not longer than this.
const PATIENCE_TOTAL: Duration = Duration::from_secs(10);
/// The shortest such pause.
const PATIENCE_FLOOR: Duration = Duration::from_millis(100);
/// The pause when the server names none. Only `initialize` is repeated then, which cannot harm.
const PATIENCE_UNNAMED: Duration = Duration::from_millis(500);

pub(in crate::transport) struct Connection {
    pub(in crate::transport) client: HttpClient,
    pub(in crate::transport) options: HttpOptions,
    pub(in crate::transport) headers: ConnectionHeaders,
    pub(in crate::transport) previewer: Previewer,
    pub(super) tails: Arc<Tails>,
    pub(in crate::transport) inbound: Arc<dyn Inbound>,
}

/// A response to a message, whatever its status.
pub(in crate::transport) struct Posted {
    pub(in crate::transport) response: Response,
    /// Whether the message named a session.
    pub(in crate::transport) had_session: bool,
}

impl Connection {
    pub(in crate::transport) fn new(
        client: HttpClient,
        mut options: HttpOptions,
        inbound: Arc<dyn Inbound>,
    ) -> Self {
        let configured = options.url.clone();
        if let Some(authorization) = take_credentials(&mut options.url) {
            options
                .headers
                .entry(AUTHORIZATION)
                .or_insert(authorization);
        }
        let custom = mem::take(&mut options.headers);
        let previewer = Previewer::new(&custom, &configured, options.error_preview_bytes);
        Self {
            client,
            headers: ConnectionHeaders::new(custom),
            previewer,
            tails: Arc::default(),
            inbound,
            options,
        }
    }

    /// Posts one message. Waits and repeats it, within bounds, while the server says that it is too busy to run it.
    pub(in crate::transport) async fn post(
        &self,
        url: &Url,
        body: Bytes,
        extra: &HeaderMap,
        purpose: Purpose,
    ) -> Result<Posted, RequestFailure> {
        self.tails.connection_soon_free().await;
        let mut patience = Patience::new(purpose);
        loop {
            let current = self.headers.current();
            let headers = with_extra(&current.post, extra);
            let hops = self.options.redirect_hops;
            let response = self
                .client
                .send(Method::POST, url, &headers, Some(body.clone()), hops)
                .await?;
            let Some(pause) = patience.pause_after(&response) else {
                return Ok(Posted {
                    response,
                    had_session: current.session.is_some(),
                });
            };
            self.client.drain(response);
            sleep(pause).await;
        }
    }

    /// Asks for a stream of events, those behind `last_event_id` if there is one.
    pub(in crate::transport) async fn open_stream(
        &self,
        last_event_id: Option<&Bytes>,
    ) -> Result<Response, RequestFailure> {
        let mut headers = self.headers.current().bare.clone();
        if let Some(id) = last_event_id.and_then(|id| HeaderValue::from_bytes(id).ok()) {
            headers.insert(LAST_EVENT_ID, id);
        }
        self.client
            .send(
                Method::GET,
                &self.options.url,
                &headers,
                None,
                self.options.redirect_hops,
            )
            .await
    }

    /// Hands over what an event on a stream holds that no request waits on.
    pub(in crate::transport) fn hand_over_shared(&self, data: Bytes) {
        match split_batch(data.clone()) {
            Ok(messages) if looks_like_message(&data) => {
                for message in messages.as_ref() {
                    // Whether it is a reply matters only to a request that waits on its own stream.
                    let _arrival = self.inbound.message(message.clone(), Origin::Shared);
                }
            }
            _ => self.note_noise(&data),
        }
    }

    pub(in crate::transport) fn note_noise(&self, data: &[u8]) {
        let what = format!(
            "an event that is no JSON-RPC message: {:?}",
            self.previewer.of(data)
        );
        self.inbound.note(TransportNote::Skipped { what });
    }
}

fn with_extra<'h>(headers: &'h HeaderMap, extra: &HeaderMap) -> Cow<'h, HeaderMap> {
    let mut headers = Cow::Borrowed(headers);
    for (name, value) in extra {
        headers.to_mut().insert(name.clone(), value.clone());
    }
    headers
}

/// What a message is for, as far as sending it depends on that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::transport) enum Purpose {
    Initialize,
    Other,
}

struct Patience {
    purpose: Purpose,
    tries_left: u32,
    time_left: Duration,
}

impl Patience {
    fn new(purpose: Purpose) -> Self {
        Self {
            purpose,
            tries_left: PATIENCE_TRIES,
            time_left: PATIENCE_TOTAL,
        }
    }

    /// How long to wait before the next try; none when the response is to be taken as it is.
    fn pause_after(&mut self, response: &Response) -> Option<Duration> {
        if !asks_for_patience(response.status()) {
            return None;
        }
        let unnamed = (self.purpose == Purpose::Initialize).then_some(PATIENCE_UNNAMED);
        let pause = retry_after(response).or(unnamed)?.max(PATIENCE_FLOOR);
        self.tries_left = self.tries_left.checked_sub(1)?;
        self.time_left = self.time_left.checked_sub(pause)?;
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(purpose: Purpose, status: u16, retry_after: Option<&str>) -> Vec<u64> {
        let mut patience = Patience::new(purpose);
        std::iter::from_fn(|| {
            let mut response = http::Response::builder().status(status);
            if let Some(value) = retry_after {
                response = response.header("retry-after", value);
            }
            patience.pause_after(&response.body("").unwrap().into())
        })
        .map(|pause| u64::try_from(pause.as_millis()).unwrap())
        .collect()
    }

    #[test]
    fn patience_is_bounded_in_tries_and_in_time() {
        assert_eq!(pauses(Purpose::Other, 429, Some("2")), [2000, 2000, 2000]);
        assert_eq!(pauses(Purpose::Other, 503, Some("0")), [100, 100, 100]);
        assert_eq!(pauses(Purpose::Other, 503, Some("6")), [6000]);
        assert_eq!(pauses(Purpose::Other, 429, Some("11")), [0; 0]);
        assert_eq!(
            pauses(Purpose::Other, 503, Some("Thu, 01 Jan 1970 00:00:00 GMT")),
            [100, 100, 100]
        );
    }

    #[test]
    fn without_a_named_time_only_initialize_is_repeated() {
        assert_eq!(pauses(Purpose::Other, 503, None), [0; 0]);
        assert_eq!(pauses(Purpose::Other, 503, Some("soon")), [0; 0]);
        assert_eq!(pauses(Purpose::Initialize, 503, None), [500, 500, 500]);
        assert_eq!(pauses(Purpose::Initialize, 500, Some("1")), [0; 0]);
    }
}
