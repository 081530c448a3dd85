//! The pooled HTTP client that the connections to one server share, and its redirect rules.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures_util::FutureExt;
use http::{
    HeaderMap, HeaderValue, Method, StatusCode, Uri,
    header::{LOCATION, PROXY_AUTHORIZATION},
};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    client::{legacy::Client, proxy::matcher::Matcher},
    rt::{TokioExecutor, TokioTimer},
};
use percent_encoding::percent_decode_str;
use reqwest::{Body, Response, ResponseBuilderExt, Url};
use rustls::{
    ClientConfig,
    crypto::{CryptoProvider, ring},
};
use thiserror::Error;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::config::Environment;

use super::{
    body::{DRAIN_LIMIT_BYTES, DRAIN_TIMEOUT},
    connector::{Connector, KEEP_ALIVE, KEEP_ALIVE_PROBE, platform_tls, proxies},
    failure::RequestFailure,
};

/// Many servers close an idle connection after 5 s. To give it up first avoids sending into one that is being closed.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// A pool of connections. Cheap to clone; the generations of one server use the same.
#[derive(Clone)]
pub(crate) struct HttpClient {
    client: Arc<Client<Connector, Full<Bytes>>>,
    connector: Connector,
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
    /// A new, empty pool, with the proxies that the environment names. `connect_timeout` covers name lookup, TCP and TLS.
    pub(crate) fn new(
        environment: &Environment,
        connect_timeout: Duration,
    ) -> Result<Self, HttpClientUnavailable> {
        // The host may have installed another one, which is as good.
        let _already_installed = CryptoProvider::install_default(ring::default_provider());
        let provider = CryptoProvider::get_default()
            .cloned()
            .unwrap_or_else(|| Arc::new(ring::default_provider()));
        let tls = platform_tls(provider).map_err(|error| HttpClientUnavailable {
            reason: error.to_string(),
        })?;
        Ok(Self::through(tls, proxies(environment), connect_timeout))
    }

    fn through(tls: ClientConfig, proxies: Matcher, connect_timeout: Duration) -> Self {
        let connector = Connector::new(tls, proxies, connect_timeout);
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(POOL_IDLE)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .http2_keep_alive_timeout(KEEP_ALIVE_PROBE)
            .build(connector.clone());
        let ended = CancellationToken::new();
        Self {
            client: Arc::new(client),
            connector,
            ended,
        }
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
            .execute(method.clone(), url, headers, body.clone())
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
                .execute(method.clone(), &target, headers, body.clone())
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
        url: &Url,
        headers: &HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, RequestFailure> {
        let uri = Uri::try_from(url.as_str()).map_err(|error| RequestFailure::NotSent {
            reason: error.to_string(),
        })?;
        let proxy_authorization = self.connector.proxy_authorization(&uri);
        let mut request = http::Request::new(Full::new(body.unwrap_or_default()));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers.clone();
        if let Some(authorization) = proxy_authorization {
            request
                .headers_mut()
                .entry(PROXY_AUTHORIZATION)
                .or_insert(authorization);
        }
        let response = self.client.request(request).await.map_err(|error| {
            let reason = root_cause(&error);
            if error.is_connect() {
                RequestFailure::NotSent { reason }
            } else {
                RequestFailure::Interrupted { reason }
            }
        })?;
        under_url(response, url)
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("HttpClient")
    }
}

/// Takes user and password out of a URL, as the header that they stand for.
pub(in crate::transport) fn take_credentials(url: &mut Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut plain: Vec<u8> = percent_decode_str(url.username()).collect();
    plain.push(b':');
    plain.extend(percent_decode_str(url.password().unwrap_or_default()));
    // A URL that has credentials has a host, so both can be taken out.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let mut value =
        HeaderValue::try_from(format!("Basic {}", BASE64_STANDARD.encode(plain))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The response under the address that it came from, where relative addresses in it start.
fn under_url(response: http::Response<Incoming>, url: &Url) -> Result<Response, RequestFailure> {
    let (head, body) = response.into_parts();
    let mut named = http::Response::builder()
        .status(head.status)
        .version(head.version)
        .url(url.clone());
    if let Some(headers) = named.headers_mut() {
        *headers = head.headers;
    }
    let named = named.body(Body::wrap(body));
    named
        .map(Response::from)
        .map_err(|error| RequestFailure::Interrupted {
            reason: error.to_string(),
        })
}

/// What went wrong underneath, without the layers that only repeat it, and without the URL.
pub(in crate::transport) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error.source();
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

#[cfg(test)]
mod tests;
