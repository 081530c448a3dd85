//! The pooled HTTP client that the connections to one server share, and its redirect rules.

use std::{error::Error, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{AUTHORIZATION, LOCATION},
};
use reqwest::{Body, Request, Response, Url, redirect::Policy};
use rustls::crypto::{CryptoProvider, ring};
use thiserror::Error;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{
    body::{DRAIN_LIMIT_BYTES, DRAIN_TIMEOUT},
    failure::RequestFailure,
};

/// Many servers close an idle connection after 5 s. To give it up first avoids sending into one that is being closed.
const POOL_IDLE: Duration = Duration::from_secs(4);
/// A peer that vanished without a word is noticed after this and three unanswered probes.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
const KEEP_ALIVE_PROBE: Duration = Duration::from_secs(10);
const KEEP_ALIVE_PROBES: u32 = 3;
const USER_AGENT: &str = concat!("mcp-resident/", env!("CARGO_PKG_VERSION"));

/// A pool of connections. Cheap to clone; the generations of one server use the same.
#[derive(Debug, Clone)]
pub(crate) struct HttpClient {
    client: reqwest::Client,
    /// Ends what reads in the background.
    ended: CancellationToken,
}

/// The client cannot be built, for instance because the system has no usable certificates.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("cannot set up the HTTP client: {reason}")]
pub(crate) struct HttpClientUnavailable {
    reason: String,
}

impl HttpClient {
    /// A new, empty pool. `connect_timeout` covers name lookup, TCP and TLS.
    pub(crate) fn new(connect_timeout: Duration) -> Result<Self, HttpClientUnavailable> {
        // The host may have installed another one, which is as good.
        let _already_installed = CryptoProvider::install_default(ring::default_provider());
        let client = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .redirect(Policy::none())
            // What is sent again is decided here and nowhere below; and each request that may be is copied.
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(connect_timeout)
            .pool_idle_timeout(POOL_IDLE)
            .tcp_keepalive(KEEP_ALIVE)
            .tcp_keepalive_interval(KEEP_ALIVE_PROBE)
            .tcp_keepalive_retries(KEEP_ALIVE_PROBES)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .http2_keep_alive_timeout(KEEP_ALIVE_PROBE)
            .build()
            .map_err(|error| HttpClientUnavailable {
                reason: root_cause(&error),
            })?;
        let ended = CancellationToken::new();
        Ok(Self { client, ended })
    }

    /// Ends what reads in the background. The sockets go with the last clone.
    pub(crate) fn end(&self) {
        self.ended.cancel();
    }

    /// Runs a task that ends with the client at the latest.
    pub(super) fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let ended = self.ended.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = ended.cancelled() => {}
                () = work => {}
            }
        });
    }

    /// Reads a body that nobody needs to its end, so that the connection can be used again. Waits for nothing.
    pub(in crate::transport) fn drain(&self, mut response: Response) {
        if let Some(Ok(None) | Err(_)) = response.chunk().now_or_never() {
            return;
        }
        self.in_background(async move {
            let draining = async {
                let mut drained = 0;
                while let Ok(Some(chunk)) = response.chunk().await {
                    drained += chunk.len();
                    if drained > DRAIN_LIMIT_BYTES {
                        break;
                    }
                }
            };
            let _out_of_time = timeout(DRAIN_TIMEOUT, draining).await;
        });
    }

    /// Takes user and password out of a URL, as the header that they stand for.
    pub(in crate::transport) fn take_credentials(&self, url: &mut Url) -> Option<HeaderValue> {
        let mut request = self.client.get(url.clone()).build().ok()?;
        *url = request.url().clone();
        request.headers_mut().remove(AUTHORIZATION)
    }

    /// Sends one request, following redirects within the origin that keep method and body.
    pub(in crate::transport) async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: &HeaderMap,
        body: Option<Bytes>,
        redirect_hops: usize,
    ) -> Result<Response, RequestFailure> {
        let response = self
            .execute(method.clone(), url.clone(), headers.clone(), body.clone())
            .await?;
        if !response.status().is_redirection() {
            return Ok(response);
        }
        self.redirect(response, method, url, headers, body, redirect_hops)
            .await
    }

    #[cold]
    async fn redirect(
        &self,
        mut response: Response,
        method: Method,
        origin: &Url,
        headers: &HeaderMap,
        body: Option<Bytes>,
        redirect_hops: usize,
    ) -> Result<Response, RequestFailure> {
        let mut from = origin.clone();
        for _ in 0..redirect_hops {
            let Some(target) = location(&from, &response) else {
                return Ok(response);
            };
            let status = response.status();
            if let Some(reason) = refusal(origin, &target, status) {
                return Err(redirected(status, &target, reason));
            }
            self.drain(response);
            response = self
                .execute(
                    method.clone(),
                    target.clone(),
                    headers.clone(),
                    body.clone(),
                )
                .await?;
            if !response.status().is_redirection() {
                return Ok(response);
            }
            from = target;
        }
        let target = location(&from, &response).unwrap_or(from);
        Err(redirected(response.status(), &target, "too many redirects"))
    }

    async fn execute(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, RequestFailure> {
        let mut request = Request::new(method, url);
        *request.headers_mut() = headers;
        *request.body_mut() = body.map(Body::from);
        self.client.execute(request).await.map_err(|error| {
            let reason = root_cause(&error);
            if error.is_connect() || error.is_builder() {
                RequestFailure::NotSent { reason }
            } else {
                RequestFailure::Interrupted { reason }
            }
        })
    }
}

/// What went wrong underneath, without the layers that only repeat it, and without the URL.
pub(in crate::transport) fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: Option<&dyn Error> = error.source();
    let mut text = None;
    while let Some(inner) = cause {
        text = Some(inner.to_string());
        cause = inner.source();
    }
    text.unwrap_or_else(|| "request not possible".to_owned())
}

fn location(from: &Url, response: &Response) -> Option<Url> {
    from.join(response.headers().get(LOCATION)?.to_str().ok()?)
        .ok()
}

fn refusal(origin: &Url, target: &Url, status: StatusCode) -> Option<&'static str> {
    if origin.origin() != target.origin() {
        Some("it leaves the origin of the configured URL")
    } else if !matches!(
        status,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    ) {
        Some("only 307 and 308 keep the request as it is")
    } else {
        None
    }
}

fn redirected(status: StatusCode, target: &Url, reason: &'static str) -> RequestFailure {
    RequestFailure::Redirected {
        status,
        target: target.origin().ascii_serialization(),
        reason,
    }
}
