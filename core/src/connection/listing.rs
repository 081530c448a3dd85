//! `tools/list`, all pages of it.

use std::collections::HashSet;
use std::ops::Range;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lane::{Deadlines, RequestError, RequestOptions};
use super::reply::{ReplyError, read_result};
use super::{Connection, ListLimits};
use crate::json::RawJson;

/// The JSON-RPC code of a method that the server does not have.
const METHOD_NOT_FOUND: i64 = -32601;

/// Why a listing failed.
#[derive(Debug, Clone)]
pub(crate) enum ListError {
    /// A page could not be fetched.
    Request(RequestError),
    /// A page was answered with an error, or with something that is no page.
    Reply(ReplyError),
    /// The server gave the same cursor twice: following it would never end.
    RepeatedCursor,
    /// More pages than the limit.
    TooManyPages(usize),
    /// More tools than the limit.
    TooManyTools(usize),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    #[serde(borrow, default)]
    tools: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    next_cursor: Option<&'a RawValue>,
}

impl Connection {
    /// The server's tools as it sent them, each entry by itself, within one time for all pages.
    ///
    /// Cursors are echoed unchanged; an empty string is one.
    pub(crate) async fn list_tools(
        &self,
        limits: ListLimits,
        budget: Duration,
        cancel: Option<&CancellationToken>,
    ) -> Result<Vec<RawJson>, ListError> {
        let until = Instant::now() + budget;
        let mut tools = Vec::new();
        let mut seen = HashSet::new();
        let mut cursor: Option<RawJson> = None;
        for page_number in 0..limits.pages {
            let left = until.saturating_duration_since(Instant::now());
            let options = RequestOptions {
                deadlines: Deadlines {
                    idle: left,
                    total: left,
                    asking: left,
                },
                cancel,
                ended: None,
                progress: None,
            };
            let bytes = self
                .lane
                .request(
                    "tools/list",
                    |_, params| match &cursor {
                        Some(cursor) => {
                            params.push_str(r#"{"cursor":"#);
                            params.push_str(cursor.as_str());
                            params.push('}');
                        }
                        None => params.push_str("{}"),
                    },
                    options,
                )
                .await
                .map_err(|error| ListError::Request(self.explain(error)))?;
            let next = match read_result(bytes, PageIndex::read) {
                Ok((page, text)) => {
                    let entries = page
                        .tools
                        .into_iter()
                        .map(|range| RawJson::validated(text.slice_ref(&text[range])));
                    tools.extend(entries);
                    page.next_cursor
                }
                // A server that never said that it has tools may not know the method either.
                Err(ReplyError::Error {
                    code: METHOD_NOT_FOUND,
                    ..
                }) if page_number == 0 && !self.server.offers_tools => {
                    return Ok(Vec::new());
                }
                Err(error) => return Err(ListError::Reply(error)),
            };
            if tools.len() > limits.tools {
                return Err(ListError::TooManyTools(limits.tools));
            }
            match next {
                None => return Ok(tools),
                Some(next) if !seen.insert(next.as_str().to_owned()) => {
                    return Err(ListError::RepeatedCursor);
                }
                next => cursor = next,
            }
        }
        Err(ListError::TooManyPages(limits.pages))
    }
}

/// Where the parts of a page stand in its text.
struct PageIndex {
    tools: Vec<Range<usize>>,
    next_cursor: Option<RawJson>,
}

impl PageIndex {
    fn read(text: &str) -> Result<Self, String> {
        if !text.starts_with('{') {
            return Err("the page of tools is none: it is not an object".to_owned());
        }
        let page: Page<'_> = serde_json::from_str(text)
            .map_err(|error| format!("the page of tools is none: {error}"))?;
        let place = |part: &RawValue| {
            let from = part.get().as_ptr().addr() - text.as_ptr().addr();
            from..from + part.get().len()
        };
        Ok(Self {
            tools: page
                .tools
                .unwrap_or_default()
                .into_iter()
                .map(place)
                .collect(),
            next_cursor: page.next_cursor.map(RawJson::from_raw),
        })
    }
}
