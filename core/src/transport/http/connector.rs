//! How a connection comes about: directly or through a proxy, with TLS where the URL asks for
//! it.
//!
//! Pooling and requests are not its concern; a proxy's credentials for plain HTTP travel in the request, so they are told.

use std::{
    ffi::OsStr,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use http::{HeaderValue, Uri, uri::Scheme};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::HttpsConnector;
use hyper_util::client::{
    legacy::connect::{Connected, Connection, HttpConnector, proxy::Tunnel},
    proxy::matcher::{Intercept, Matcher},
};
use rustls::{ClientConfig, crypto::CryptoProvider};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::time::timeout;
use tower_service::Service;

use crate::config::Environment;

/// A peer that vanished without a word is noticed after this and three unanswered probes.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(30);
pub(super) const KEEP_ALIVE_PROBE: Duration = Duration::from_secs(10);
const KEEP_ALIVE_PROBES: u32 = 3;

type ConnectError = Box<dyn std::error::Error + Send + Sync>;

/// Opens connections. Cheap to clone, which happens for each request.
#[derive(Clone)]
pub(super) struct Connector(Arc<Ways>);

/// The proxies that the usual variables name: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in either case.
///
/// Where a web server has set `REQUEST_METHOD`, `HTTP_PROXY` is a header of its client, and is not believed.
pub(super) fn proxies(environment: &Environment) -> Matcher {
    let value = |upper: &str, lower: &str| {
        let found = environment
            .value(upper)
            .or_else(|| environment.value(lower));
        found.and_then(OsStr::to_str).unwrap_or_default().to_owned()
    };
    let mut proxies = Matcher::builder()
        .all(value("ALL_PROXY", "all_proxy"))
        .https(value("HTTPS_PROXY", "https_proxy"))
        .no(value("NO_PROXY", "no_proxy"));
    if environment.value("REQUEST_METHOD").is_none() {
        proxies = proxies.http(value("HTTP_PROXY", "http_proxy"));
    }
    proxies.build()
}

/// TLS that trusts whom the operating system trusts.
pub(super) fn platform_tls(provider: Arc<CryptoProvider>) -> Result<ClientConfig, rustls::Error> {
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth())
}

/// All that a way to a server can need.
struct Ways {
    direct: HttpsConnector<HttpConnector>,
    /// To a proxy, which is spoken to in HTTP/1 whatever its TLS would offer.
    to_proxy: HttpsConnector<HttpConnector>,
    tls: Arc<ClientConfig>,
    proxies: Matcher,
    timeout: Duration,
}

impl Connector {
    /// `timeout` covers name lookup, TCP, the proxy and TLS.
    pub(super) fn new(plain_tls: ClientConfig, proxies: Matcher, timeout: Duration) -> Self {
        let mut tls = plain_tls.clone();
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let tls = Arc::new(tls);
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(timeout));
        tcp.set_keepalive(Some(KEEP_ALIVE));
        tcp.set_keepalive_interval(Some(KEEP_ALIVE_PROBE));
        tcp.set_keepalive_retries(Some(KEEP_ALIVE_PROBES));
        Self(Arc::new(Ways {
            direct: HttpsConnector::from((tcp.clone(), Arc::clone(&tls))),
            to_proxy: HttpsConnector::from((tcp, plain_tls)),
            tls,
            proxies,
            timeout,
        }))
    }

    /// What a request to this address must carry as `Proxy-Authorization`. A tunnel has it in its own request.
    pub(super) fn proxy_authorization(&self, target: &Uri) -> Option<HeaderValue> {
        if target.scheme() != Some(&Scheme::HTTP) {
            return None;
        }
        self.0.proxies.intercept(target)?.basic_auth().cloned()
    }
}

impl Ways {
    async fn connect(&self, target: Uri) -> Result<Stream, ConnectError> {
        let Some(proxy) = self.proxies.intercept(&target) else {
            return Ok(Stream::new(self.direct.clone().call(target).await?, false));
        };
        if let Some(scheme @ ("socks4" | "socks4a" | "socks5" | "socks5h")) =
            proxy.uri().scheme_str()
        {
            let reason = format!(
                "the environment names a {scheme} proxy, which is not supported: use an HTTP proxy, or name the host in NO_PROXY"
            );
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason).into());
        }
        if target.scheme() == Some(&Scheme::HTTPS) {
            let mut through = HttpsConnector::from((self.tunnel(&proxy), Arc::clone(&self.tls)));
            return Ok(Stream::new(through.call(target).await?, false));
        }
        Ok(Stream::new(
            self.to_proxy.clone().call(proxy.uri().clone()).await?,
            true,
        ))
    }

    fn tunnel(&self, proxy: &Intercept) -> Tunnel<HttpsConnector<HttpConnector>> {
        let tunnel = Tunnel::new(proxy.uri().clone(), self.to_proxy.clone());
        match proxy.basic_auth() {
            Some(authorization) => tunnel.with_auth(authorization.clone()),
            None => tunnel,
        }
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<Stream, ConnectError>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let ways = Arc::clone(&self.0);
        Box::pin(async move {
            timeout(ways.timeout, ways.connect(target))
                .await
                .unwrap_or_else(|_| {
                    Err(io::Error::new(io::ErrorKind::TimedOut, "operation timed out").into())
                })
        })
    }
}

trait Socket: Read + Write + Send + Unpin {}

impl<S: Read + Write + Send + Unpin> Socket for S {}

/// A connection of any kind.
pub(super) struct Stream {
    socket: Box<dyn Socket>,
    /// Requests on it name their whole address.
    proxied: bool,
    http2: bool,
}

impl Stream {
    fn new(socket: impl Socket + Connection + 'static, proxied: bool) -> Self {
        Self {
            proxied,
            http2: socket.connected().is_negotiated_h2(),
            socket: Box::new(socket),
        }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().proxy(self.proxied);
        if self.http2 {
            connected.negotiated_h2()
        } else {
            connected
        }
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(context, slices)
    }
}
