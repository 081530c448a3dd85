//! `tools/list`, all pages of it.

use std::collections::HashSet;
use std::time::Duration;

use bytestring::ByteString;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lane::{Deadlines, RequestError, RequestOptions};
use super::reply::{Reply, ReplyError};
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
            let result = match Reply::read(bytes).and_then(Reply::into_result) {
                Ok(result) => result,
                // A server that never said that it has tools may not know the method either.
                Err(ReplyError::Error {
                    code: METHOD_NOT_FOUND,
                    ..
                }) if page_number == 0 && !self.server.offers_tools => {
                    return Ok(Vec::new());
                }
                Err(error) => return Err(ListError::Reply(error)),
            };
            let next = append_page(&result, &mut tools)?;
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

/// Adds a page's tools and returns its cursor.
fn append_page(
    result: &ByteString,
    tools: &mut Vec<RawJson>,
) -> Result<Option<RawJson>, ListError> {
    let page: Page<'_> = serde_json::from_str(result).map_err(|error| {
        ListError::Reply(ReplyError::Malformed(format!(
            "the page of tools is none: {error}"
        )))
    })?;
    // A small page keeps little alive, a large one is copied entry by entry when it is used.
    tools.extend(
        page.tools
            .unwrap_or_default()
            .into_iter()
            .map(|tool| RawJson::within(result, tool)),
    );
    Ok(page
        .next_cursor
        .filter(|cursor| cursor.get() != "null")
        .map(RawJson::from_raw))
}
