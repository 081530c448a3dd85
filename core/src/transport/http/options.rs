//! What one streamable HTTP connection is made with.

use std::time::Duration;

use http::HeaderMap;
use reqwest::Url;

/// The address of a server, what every request to it carries, and the limits of one connection.
#[derive(Clone)]
pub(crate) struct HttpOptions {
    /// The MCP endpoint. User and password in it become a basic `Authorization` header.
    pub(crate) url: Url,
    /// Sent with every request. The headers of the protocol itself are not taken from here.
    pub(crate) headers: HeaderMap,
    /// One message, or one event of a stream, may be this long, in bytes.
    pub(crate) max_message_bytes: usize,
    /// An error quotes at most this much of a body, in bytes.
    pub(crate) error_preview_bytes: usize,
    /// Ending the session at close may take this long.
    pub(crate) delete_timeout: Duration,
    /// The first pause before the listening stream is opened again. It doubles from there.
    pub(crate) listen_backoff_base: Duration,
    /// The longest pause before the listening stream is opened again, unless the server asks for more.
    pub(crate) listen_backoff_cap: Duration,
    /// A reply stream that broke is tried to resume for this long.
    pub(crate) resume_window: Duration,
    /// At most this many redirects of one request are followed, all within the origin.
    pub(crate) redirect_hops: usize,
}

impl HttpOptions {
    /// The defaults for one address, without headers.
    pub(crate) fn new(url: Url) -> Self {
        Self {
            url,
            headers: HeaderMap::new(),
            max_message_bytes: 64 * 1024 * 1024,
            error_preview_bytes: 256,
            delete_timeout: Duration::from_secs(1),
            listen_backoff_base: Duration::from_secs(1),
            listen_backoff_cap: Duration::from_secs(30),
            resume_window: Duration::from_secs(5),
            redirect_hops: 5,
        }
    }
}
