//! Ways to a server: through a proxy, over TLS, and both.

use std::convert::Infallible;

use crate::config::FixedEnvironment;
use hyper::service::service_fn;
use hyper_util::{rt::TokioIo, server::conn::auto};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::*;

/// TLS that trusts one certificate, or nobody.
fn trusting(certificate: Option<CertificateDer<'static>>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    if let Some(certificate) = certificate {
        roots.add(certificate).unwrap();
    }
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// Answers one connection over TLS by the version of HTTP that was agreed on. A tunnel is opened first if one is
/// asked for.
async fn serve_tls(listener: TcpListener, tls: TlsAcceptor, tunnelled: bool) {
    let (mut socket, _) = listener.accept().await.unwrap();
    if tunnelled {
        let mut heard = Vec::new();
        while !heard.ends_with(b"\r\n\r\n") {
            heard.push(socket.read_u8().await.unwrap());
        }
        socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    }
    let Ok(stream) = tls.accept(socket).await else {
        return;
    };
    let answer = |request: http::Request<Incoming>| async move {
        let version = format!("{:?}", request.version());
        Ok::<_, Infallible>(http::Response::new(Full::new(Bytes::from(version))))
    };
    let server = auto::Builder::new(TokioExecutor::new());
    let _ = server
        .serve_connection(TokioIo::new(stream), service_fn(answer))
        .await;
}

/// The version of HTTP that a server over TLS was spoken to in, and how the connection failed if it did.
async fn over_tls(
    protocols: &[&str],
    tunnelled: bool,
    trusted: bool,
) -> Result<String, RequestFailure> {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = own.cert.der().clone();
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let proxies = if tunnelled {
        Matcher::builder().all(format!("http://{address}")).build()
    } else {
        Matcher::builder().build()
    };
    let tls = trusting(trusted.then_some(certificate));
    let client = HttpClient::through(tls, proxies, Duration::from_secs(5));
    let url = Url::parse(&format!("https://localhost:{}/mcp", address.port())).unwrap();
    let serving = tokio::spawn(serve_tls(
        listener,
        TlsAcceptor::from(Arc::new(config)),
        tunnelled,
    ));
    let headers = HeaderMap::new();
    let asking = async {
        let response = client.send(Method::GET, &url, &headers, None, 0).await?;
        Ok(response.text().await.unwrap())
    };
    let answered = timeout(Duration::from_secs(10), asking).await.unwrap();
    serving.abort();
    answered
}

#[tokio::test]
async fn tls_speaks_the_version_that_the_server_chose() {
    for tunnelled in [false, true] {
        for (protocols, version) in [(&["h2", "http/1.1"][..], "HTTP/2.0"), (&[], "HTTP/1.1")] {
            let spoken = over_tls(protocols, tunnelled, true).await;
            assert_eq!(spoken.as_deref(), Ok(version), "tunnelled: {tunnelled}");
        }
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_trusts_ends_the_request_unsent() {
    let refused = over_tls(&["h2"], false, false).await;
    assert!(
        matches!(refused, Err(RequestFailure::NotSent { .. })),
        "{refused:?}"
    );
}

/// What a proxy is told for a request to `target`, and what comes of its `answer`.
async fn through_proxy(target: &str, answer: &str) -> (String, Result<StatusCode, RequestFailure>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://me:word@{}", listener.local_addr().unwrap());
    let proxies = Matcher::builder().all(proxy).build();
    let client = HttpClient::through(trusting(None), proxies, Duration::from_secs(5));
    let serving = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut heard = Vec::new();
        while !heard.ends_with(b"\r\n\r\n") {
            heard.push(socket.read_u8().await.unwrap());
        }
        socket.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(heard).unwrap().to_ascii_lowercase()
    };
    let url = Url::parse(target).unwrap();
    let headers = HeaderMap::new();
    let sending = client.send(Method::GET, &url, &headers, None, 0);
    let both = async { tokio::join!(serving, sending) };
    let (heard, response) = timeout(Duration::from_secs(10), both).await.unwrap();
    (heard, response.map(|response| response.status()))
}

#[tokio::test]
async fn a_proxy_gets_the_whole_address_and_its_own_credentials() {
    let answer = "HTTP/1.1 204 No Content\r\n\r\n";
    let (heard, status) = through_proxy("http://server.invalid/mcp?a=1", answer).await;
    assert!(
        heard.starts_with("get http://server.invalid/mcp?a=1 http/1.1\r\n"),
        "{heard}"
    );
    assert!(
        heard.contains("proxy-authorization: basic bwu6d29yza==\r\n"),
        "{heard}"
    );
    assert_eq!(status, Ok(StatusCode::NO_CONTENT));
}

#[tokio::test]
async fn tls_goes_through_a_tunnel_and_its_refusal_says_that_nothing_was_sent() {
    let answer = "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
    let (heard, status) = through_proxy("https://server.invalid/mcp", answer).await;
    assert!(
        heard.starts_with("connect server.invalid:443 http/1.1\r\n"),
        "{heard}"
    );
    assert!(
        heard.contains("proxy-authorization: basic bwu6d29yza==\r\n"),
        "{heard}"
    );
    assert!(
        matches!(status, Err(RequestFailure::NotSent { .. })),
        "{status:?}"
    );
}

#[test]
fn credentials_in_a_url_become_the_header_that_they_stand_for() {
    let mut url = Url::parse("https://m%65:w%3Ard@host/mcp").unwrap();
    let header = take_credentials(&mut url).unwrap();
    assert_eq!(
        (header.to_str().unwrap(), url.as_str()),
        ("Basic bWU6dzpyZA==", "https://host/mcp")
    );
    assert_eq!(take_credentials(&mut url), None);
}

#[tokio::test]
async fn proxies_come_from_the_environment_of_the_host() {
    let host = |variables: &[(&str, &str)]| {
        let fixed: FixedEnvironment = variables.iter().copied().collect();
        proxies(&Environment::read(&fixed))
    };
    let target = Uri::from_static("http://server.invalid/mcp");
    let named = |matcher: &Matcher| {
        matcher
            .intercept(&target)
            .map(|proxy| proxy.uri().to_string())
    };
    let lower = host(&[("http_proxy", "http://one:1")]);
    assert_eq!(named(&lower).as_deref(), Some("http://one:1/"));
    let excepted = host(&[
        ("ALL_PROXY", "http://one:1"),
        ("NO_PROXY", "server.invalid"),
    ]);
    assert_eq!(named(&excepted), None);
    let served = host(&[("HTTP_PROXY", "http://one:1"), ("REQUEST_METHOD", "GET")]);
    assert_eq!(named(&served), None);
    assert_eq!(named(&host(&[])), None);
}

#[tokio::test]
async fn a_proxy_of_a_kind_that_is_not_spoken_is_named() {
    let proxies = Matcher::builder().all("socks5://127.0.0.1:9").build();
    let client = HttpClient::through(trusting(None), proxies, Duration::from_secs(5));
    let url = Url::parse("http://server.invalid/mcp").unwrap();
    let refused = client
        .send(Method::GET, &url, &HeaderMap::new(), None, 0)
        .await;
    match refused {
        Err(RequestFailure::NotSent { reason }) => assert!(reason.contains("socks5"), "{reason}"),
        other => panic!("{other:?}"),
    }
}
