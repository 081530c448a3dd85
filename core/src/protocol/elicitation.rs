//! Questions of a server to a person, through the host's `wait_for`.
//!
//! The call that caused a question goes on when it is answered; it is not sent again. While a person
//! is asked the clock of that call stands still; a server that does not say which call it asks for
//! (all of them over stdio) stops the clocks of all calls that run.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use futures_util::FutureExt;
use serde::{Deserialize, Serialize};

use crate::event::EventSink;
use crate::json::RawJson;
use crate::transport::Link;

/// What a server asks a person. The member names of its JSON form are the same in every language:
/// `id`, `kind`, `prompt`, `url`, `data`, `expiresAt`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Names this question; the answer carries the same.
    pub id: String,
    /// What is asked for.
    pub kind: RequestKind,
    /// The server's own words.
    pub prompt: String,
    /// Where the person is to go, for [`RequestKind::Authorization`]. Show it whole, and open it
    /// only when the person agrees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// For [`RequestKind::Input`], an object whose `schema` says which answer fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
    /// When the question ends without an answer, in milliseconds since 1970.
    pub expires_at: u64,
}

/// What kind of answer a question wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// Values for a form.
    Input,
    /// Something to be done at a web page.
    Authorization,
}

impl RequestKind {
    /// `input` or `authorization`.
    pub fn as_str(self) -> &'static str {
        match self {
            RequestKind::Input => "input",
            RequestKind::Authorization => "authorization",
        }
    }
}

/// A person's answer. The member names of its JSON form are `id`, `ok`, `data`, `reason`.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The id of the question.
    pub id: String,
    /// Whether the person agreed.
    pub ok: bool,
    /// The values for a form, when `ok`.
    pub data: Option<RawJson>,
    /// Why not, when not `ok`.
    pub reason: Option<Reason>,
}

impl Answer {
    /// The person agreed. `data` are the values for a form.
    pub fn accept(id: impl Into<String>, data: Option<RawJson>) -> Self {
        Self {
            id: id.into(),
            ok: true,
            data,
            reason: None,
        }
    }

    /// The person did not agree.
    pub fn refuse(id: impl Into<String>, reason: Reason) -> Self {
        Self {
            id: id.into(),
            ok: false,
            data: None,
            reason: Some(reason),
        }
    }
}

/// Why a person did not agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// They said no.
    Declined,
    /// They closed the question.
    Cancelled,
    /// They did not answer in time.
    Expired,
}

impl Reason {
    /// `declined`, `cancelled` or `expired`.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Declined => "declined",
            Reason::Cancelled => "cancelled",
            Reason::Expired => "expired",
        }
    }
}

/// Asks a person on behalf of a server. May take as long as the person does.
///
/// Implemented for every function that takes a [`Request`] and returns a future of an [`Answer`].
#[async_trait]
pub trait WaitFor: Send + Sync + 'static {
    /// Asks, and returns the answer. A panic counts as [`Reason::Cancelled`].
    async fn wait_for(&self, request: Request) -> Answer;
}

#[async_trait]
impl<F, A> WaitFor for F
where
    F: Fn(Request) -> A + Send + Sync + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    async fn wait_for(&self, request: Request) -> Answer {
        self(request).await
    }
}

/// Limits on asking.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AskLimits {
    /// A person may take so long.
    pub(crate) answer: Duration,
    /// So many questions of one server may be open at once.
    pub(crate) open: usize,
}

/// Takes the questions of one connection to the host.
pub(crate) struct ElicitationDesk {
    host: Arc<dyn WaitFor>,
    limits: AskLimits,
    events: EventSink,
    link: OnceLock<Weak<Link>>,
    open: AtomicUsize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question {
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    requested_schema: Option<RawJson>,
    #[serde(default)]
    url: Option<String>,
}

/// What the server is told.
enum Verdict {
    Accept(Option<RawJson>),
    Decline,
    Cancel,
    Invalid(String),
}

impl ElicitationDesk {
    pub(crate) fn new(host: Arc<dyn WaitFor>, limits: AskLimits, events: EventSink) -> Self {
        Self {
            host,
            limits,
            events,
            link: OnceLock::new(),
            open: AtomicUsize::new(0),
        }
    }

    /// Says on which link answers go out. Questions before that cannot be answered, and none come.
    pub(crate) fn attach(&self, link: &Arc<Link>) {
        let _ = self.link.set(Arc::downgrade(link));
    }

    /// Takes a question in, without waiting. `id` is the server's request id; `clocks` are the calls'
    /// clocks that stand still until it is dropped.
    pub(crate) fn ask(
        self: &Arc<Self>,
        id: RawJson,
        params: Option<RawJson>,
        clocks: impl Send + 'static,
    ) {
        let Some(link) = self.link.get().and_then(Weak::upgrade) else {
            return;
        };
        if self.open.fetch_add(1, Ordering::AcqRel) >= self.limits.open {
            self.open.fetch_sub(1, Ordering::AcqRel);
            self.events
                .note("a question to a person was cancelled: too many are open");
            return link.notify_soon(reply(&id, Verdict::Cancel));
        }
        let desk = Arc::clone(self);
        let answers = Arc::clone(&link);
        link.in_background(async move {
            let verdict = desk.decide(params).await;
            desk.open.fetch_sub(1, Ordering::AcqRel);
            drop(clocks);
            answers.notify_soon(reply(&id, verdict));
        });
    }

    async fn decide(&self, params: Option<RawJson>) -> Verdict {
        let question = match params.as_ref().map(RawJson::parse_as::<Question>) {
            Some(Ok(question)) => question,
            Some(Err(error)) => return Verdict::Invalid(error.to_string()),
            None => return Verdict::Invalid("params are missing".to_owned()),
        };
        let expires = SystemTime::now() + self.limits.answer;
        let mut request = Request {
            id: next_question_id(),
            kind: RequestKind::Input,
            prompt: question.message.unwrap_or_default(),
            url: None,
            data: None,
            expires_at: expires.duration_since(UNIX_EPOCH).map_or(0, |time| {
                u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
            }),
        };
        match question.mode.as_deref() {
            None | Some("form") => {
                let schema = question
                    .requested_schema
                    .unwrap_or_else(RawJson::empty_object);
                if asks_for_a_secret(&schema) {
                    self.events.note("declined a form that asks for a secret: a server must use a web page for that");
                    return Verdict::Decline;
                }
                request.data = Some(RawJson::trusted(format!(r#"{{"schema":{schema}}}"#)));
            }
            Some("url") => {
                let Some(url) = question.url else {
                    return Verdict::Invalid("url is missing".to_owned());
                };
                request.kind = RequestKind::Authorization;
                request.url = Some(url);
            }
            Some(other) => return Verdict::Invalid(format!("mode `{other}` is not supported")),
        }
        let kind = request.kind;
        let asking = AssertUnwindSafe(self.host.wait_for(request)).catch_unwind();
        match tokio::time::timeout(self.limits.answer, asking).await {
            Ok(Ok(answer)) if answer.ok => Verdict::Accept(match kind {
                RequestKind::Input => Some(answer.data.unwrap_or_else(RawJson::empty_object)),
                RequestKind::Authorization => None,
            }),
            Ok(Ok(answer)) if answer.reason == Some(Reason::Declined) => Verdict::Decline,
            Ok(Ok(_)) => Verdict::Cancel,
            Ok(Err(_)) => {
                self.events
                    .note("a question to a person was cancelled: the host's handler failed");
                Verdict::Cancel
            }
            Err(_) => Verdict::Cancel,
        }
    }
}

fn next_question_id() -> String {
    static ASKED: AtomicUsize = AtomicUsize::new(1);
    format!("question-{}", ASKED.fetch_add(1, Ordering::Relaxed))
}

/// Whether a form has a field that is marked as a secret. Forms pass through logs and models, so a
/// secret must never be typed into one.
fn asks_for_a_secret(schema: &RawJson) -> bool {
    let schema = match schema.parse_as::<serde_json::Value>() {
        Ok(schema) => schema,
        // What is nested too deep to be read may hold anything.
        Err(_) => return true,
    };
    let Some(fields) = schema
        .get("properties")
        .and_then(serde_json::Value::as_object)
    else {
        return false;
    };
    fields.values().any(|field| {
        field.get("format").and_then(serde_json::Value::as_str) == Some("password")
            || field.get("writeOnly") == Some(&serde_json::Value::Bool(true))
    })
}

fn reply(id: &RawJson, verdict: Verdict) -> String {
    let body = match verdict {
        Verdict::Accept(Some(content)) => {
            format!(r#""result":{{"action":"accept","content":{content}}}"#)
        }
        Verdict::Accept(None) => r#""result":{"action":"accept"}"#.to_owned(),
        Verdict::Decline => r#""result":{"action":"decline"}"#.to_owned(),
        Verdict::Cancel => r#""result":{"action":"cancel"}"#.to_owned(),
        Verdict::Invalid(reason) => {
            let message = serde_json::Value::from(reason);
            format!(r#""error":{{"code":-32602,"message":{message}}}"#)
        }
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},{body}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        text.parse().unwrap()
    }

    #[test]
    fn a_form_with_a_password_is_seen() {
        assert!(asks_for_a_secret(&json(
            r#"{"properties":{"p":{"type":"string","format":"password"}}}"#
        )));
        assert!(asks_for_a_secret(&json(
            r#"{"properties":{"p":{"writeOnly":true}}}"#
        )));
        assert!(!asks_for_a_secret(&json(
            r#"{"properties":{"password":{"type":"string"}}}"#
        )));
        assert!(!asks_for_a_secret(&json("true")));
    }

    #[test]
    fn replies_carry_the_servers_own_id_and_the_values_as_given() {
        let accepted = reply(
            &json(r#""a-1""#),
            Verdict::Accept(Some(json(r#"{"n":1e2}"#))),
        );
        assert_eq!(
            accepted,
            r#"{"jsonrpc":"2.0","id":"a-1","result":{"action":"accept","content":{"n":1e2}}}"#
        );
        let invalid = reply(&json("7"), Verdict::Invalid("no \"x\"".to_owned()));
        assert_eq!(
            invalid,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no \"x\""}}"#
        );
    }
}
