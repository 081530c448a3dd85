//! The headers of a connection, built once and again only when session or version changes.

use std::sync::{Arc, PoisonError, RwLock};

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING, USER_AGENT},
};

pub(in crate::transport) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(in crate::transport) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

const CLIENT_NAME: &str = concat!("mcp-resident/", env!("CARGO_PKG_VERSION"));

/// What belongs to the protocol or to the framing of HTTP, and so is never taken from the host.
const RESERVED: [HeaderName; 8] = [
    ACCEPT,
    CONTENT_TYPE,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    CONNECTION,
    SESSION_ID,
    PROTOCOL_VERSION,
    LAST_EVENT_ID,
];

/// The headers of every request of one connection.
pub(in crate::transport) struct ConnectionHeaders {
    current: RwLock<Arc<Current>>,
}

/// One state of the headers; a request uses the same from its beginning to its end.
#[derive(Clone)]
pub(in crate::transport) struct Current {
    /// For messages to the server.
    pub(in crate::transport) post: HeaderMap,
    /// For streams from the server, and to end the session.
    pub(in crate::transport) bare: HeaderMap,
    /// The session that both name.
    pub(in crate::transport) session: Option<HeaderValue>,
}

impl ConnectionHeaders {
    /// Starts without session and version. `custom` comes from the host.
    pub(in crate::transport) fn new(mut custom: HeaderMap) -> Self {
        for name in RESERVED {
            custom.remove(name);
        }
        for value in custom.values_mut() {
            value.set_sensitive(true);
        }
        custom
            .entry(USER_AGENT)
            .or_insert(HeaderValue::from_static(CLIENT_NAME));
        let mut post = custom.clone();
        post.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        post.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut bare = custom;
        bare.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        Self {
            current: RwLock::new(Arc::new(Current {
                post,
                bare,
                session: None,
            })),
        }
    }

    pub(in crate::transport) fn current(&self) -> Arc<Current> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Takes the session that a response to `initialize` names, if it names one.
    pub(super) fn adopt_session(&self, response: &HeaderMap) {
        let Some(session) = response.get(SESSION_ID) else {
            return;
        };
        // Copied, because the value of a response is a slice of the whole read buffer.
        let Ok(mut session) = HeaderValue::from_bytes(session.as_bytes()) else {
            return;
        };
        session.set_sensitive(true);
        self.update(|current| {
            current.post.insert(SESSION_ID, session.clone());
            current.bare.insert(SESSION_ID, session.clone());
            current.session = Some(session);
        });
    }

    pub(super) fn set_protocol_version(&self, version: HeaderValue) {
        self.update(|current| {
            current.post.insert(PROTOCOL_VERSION, version.clone());
            current.bare.insert(PROTOCOL_VERSION, version);
        });
    }

    fn update(&self, change: impl FnOnce(&mut Current)) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut current));
    }
}
