//! The one ordered inbound path of a connection.
//!
//! Everything that a transport received comes through here in wire order, before anything else sees
//! it. Replies and progress go to their call's record; notices that change the server become
//! signals; a question for a person goes to the desk; the rest belongs to the conversation. Nothing
//! here waits, runs user code, or parses more than the envelope.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};

use super::mask_json;
use super::record::{CallTable, FIRST_ID, Outcome};
use crate::config::Redactor;
use crate::event::{EventKind, EventSink};
use crate::json::RawJson;
use crate::protocol::{ElicitationDesk, Envelope, leading_id, numeric, quick_reply_id};
use crate::transport::{Arrival, DropCause, Inbound, Origin, RequestId, TransportNote};

/// A log message's data that is longer is cut, in bytes: the history keeps many of them.
const MAX_LOG_DATA: usize = 8 * 1024;
/// Characters of a log message's level that are kept; those of the protocol are shorter.
const MAX_LOG_LEVEL: usize = 32;
/// Places of the conversation's queue that notifications leave free: losing one of them is nothing,
/// losing an answer is a handshake that fails.
pub(super) const RESERVED_FOR_ANSWERS: usize = 16;
/// Characters of a line that is no message which are kept to be quoted.
const NOISE_PREVIEW: usize = 120;

/// Where the parts of the inbound path lead.
pub(super) struct Router {
    pub(super) calls: Arc<CallTable>,
    /// What the conversation reads; full means that it is not reading.
    pub(super) conversation: mpsc::Sender<Bytes>,
    pub(super) signals: Arc<Signals>,
    pub(super) desk: Option<Arc<ElicitationDesk>>,
    pub(super) events: EventSink,
    pub(super) redactor: Redactor,
    pub(super) max_message_bytes: usize,
}

/// How much of the conversation's queue a message may take.
enum Share {
    /// All of it: somebody waits for this.
    Whole,
    /// What is not kept for those.
    Notices,
}

/// What the server's task learns from the inbound path. Each is a level, not an edge: many notices
/// before it looks are one.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    list_changed: AtomicBool,
    changed: Notify,
    dropping: AtomicBool,
    drop_cause: OnceLock<DropCause>,
    dropped: Notify,
    noise: Mutex<Noise>,
    unread: AtomicU64,
}

#[derive(Debug, Default)]
struct Noise {
    count: u64,
    preview: String,
}

impl Signals {
    /// Waits until the server said that its list changed, and forgets that it did.
    pub(crate) async fn list_changed(&self) {
        loop {
            let changed = self.changed.notified();
            if self.list_changed.swap(false, Ordering::AcqRel) {
                return;
            }
            changed.await;
        }
    }

    /// Whether the connection has ended. True before anybody was told why.
    pub(crate) fn is_dropping(&self) -> bool {
        self.dropping.load(Ordering::Acquire)
    }

    /// Waits until the connection has ended by itself.
    pub(crate) async fn drop_cause(&self) -> DropCause {
        loop {
            let dropped = self.dropped.notified();
            if let Some(cause) = self.drop_cause.get() {
                return cause.clone();
            }
            dropped.await;
        }
    }

    /// What came that is no message, for the error of a failed handshake; empty when nothing did.
    pub(crate) fn noise(&self) -> String {
        let noise = self.noise.lock().unwrap_or_else(PoisonError::into_inner);
        match noise.count {
            0 => String::new(),
            1 => format!("; it wrote a line that is no message: {}", noise.preview),
            count => format!(
                "; it wrote {count} lines that are no messages, first: {}",
                noise.preview
            ),
        }
    }

    fn mark_list_changed(&self) {
        self.list_changed.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    fn mark_dropped(&self, cause: &DropCause) {
        let _ = self.drop_cause.set(cause.clone());
        self.dropping.store(true, Ordering::Release);
        self.dropped.notify_waiters();
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams<'a> {
    #[serde(borrow, default)]
    progress_token: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct LogParams<'a> {
    #[serde(default)]
    level: Option<String>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

impl Router {
    fn reply(&self, id: u64, message: Bytes) -> Arrival {
        // Late replies to a call that was given up are swallowed: no id of ours is the conversation's.
        // A transport that waits for a reply on its own stream must not take them for one.
        if self.calls.settle(id, Outcome::Reply(message)) {
            Arrival::Reply(RequestId::from(id))
        } else {
            Arrival::Other
        }
    }

    /// A reply that is not the lane's belongs to the conversation, unless it came in place of one.
    fn foreign_reply(&self, id: RequestId, message: Bytes, origin: &Origin) -> Arrival {
        self.converse(message, Share::Whole);
        match origin {
            Origin::Request(RequestId::Integer(asked)) if *asked >= FIRST_ID => Arrival::Other,
            _ => Arrival::Reply(id),
        }
    }

    fn read(&self, message: Bytes, origin: Origin) -> Arrival {
        if message.first() == Some(&b'[') {
            return self.batch(&message, origin);
        }
        let envelope = match Envelope::read(&message) {
            Ok(envelope) if envelope.is_message() => envelope,
            _ => return self.noise(&message),
        };
        let Some(method) = envelope.method.as_deref() else {
            return match envelope.numeric_id() {
                Some(id) if id >= FIRST_ID => self.reply(id, message.clone()),
                Some(id) => self.foreign_reply(RequestId::from(id), message.clone(), &origin),
                None => match envelope.id {
                    Some(id) if id.get() != "null" => {
                        let id = RequestId::from_json(id.get());
                        self.foreign_reply(id, message.clone(), &origin)
                    }
                    _ => Arrival::Other,
                },
            };
        };
        match (method, envelope.id) {
            ("notifications/progress", None) => self.progress(&message, envelope.params),
            ("notifications/tools/list_changed", None) => self.signals.mark_list_changed(),
            ("notifications/message", None) => self.server_log(envelope.params),
            ("elicitation/create", Some(id)) if self.desk.is_some() => {
                let call = match &origin {
                    Origin::Request(RequestId::Integer(call)) => Some(*call),
                    _ => None,
                };
                if let Some(desk) = &self.desk {
                    let params = envelope.params.map(RawJson::from_raw);
                    desk.ask(RawJson::from_raw(id), params, self.calls.stop_clocks(call));
                }
            }
            (_, Some(_)) => self.converse(message, Share::Whole),
            (_, None) => self.converse(message, Share::Notices),
        }
        Arrival::Other
    }

    /// A batch of an older revision: each of its messages by itself.
    fn batch(&self, batch: &Bytes, origin: Origin) -> Arrival {
        let Ok(messages) = serde_json::from_slice::<Vec<&RawValue>>(batch) else {
            return self.noise(batch);
        };
        let mut arrival = Arrival::Other;
        for message in messages {
            if !message.get().starts_with('{') {
                self.noise(message.get().as_bytes());
                continue;
            }
            let found = self.message(batch.slice_ref(message.get().as_bytes()), origin.clone());
            if matches!(found, Arrival::Reply(_)) {
                arrival = found;
            }
        }
        arrival
    }

    fn progress(&self, message: &Bytes, params: Option<&RawValue>) {
        let Some(params) = params else { return };
        let token = serde_json::from_str::<ProgressParams<'_>>(params.get())
            .ok()
            .and_then(|params| params.progress_token.and_then(numeric));
        // A token of no call is late or made up, and means nothing to anybody.
        if let Some(token) = token {
            self.calls
                .progress(token, message.slice_ref(params.get().as_bytes()));
        }
    }

    fn server_log(&self, params: Option<&RawValue>) {
        let Some(params) = params.and_then(|p| serde_json::from_str::<LogParams<'_>>(p.get()).ok())
        else {
            return;
        };
        // Masked before it is cut: half a secret is not found.
        let data = params.data.map_or_else(RawJson::null, |data| {
            mask_json(&self.redactor, RawJson::from_raw(data))
        });
        let data = if data.as_str().len() <= MAX_LOG_DATA {
            data
        } else {
            let text = data.as_str();
            let end = (0..=MAX_LOG_DATA)
                .rev()
                .find(|at| text.is_char_boundary(*at));
            let text = &text[..end.unwrap_or(0)];
            RawJson::from(serde_json::Value::from(format!("{text}…")))
        };
        let level = params.level.unwrap_or_default();
        let level = self
            .redactor
            .mask(&level)
            .chars()
            .take(MAX_LOG_LEVEL)
            .collect();
        self.events.push(EventKind::ServerLog { level, data });
    }

    fn converse(&self, message: Bytes, share: Share) {
        let full = match share {
            Share::Whole => matches!(
                self.conversation.try_send(message),
                // A closed end has ended its conversation and wants nothing more.
                Err(TrySendError::Full(_))
            ),
            Share::Notices if self.conversation.capacity() <= RESERVED_FOR_ANSWERS => true,
            Share::Notices => {
                let _ = self.conversation.try_send(message);
                false
            }
        };
        if full {
            // Reported at the powers of two, so that a flood cannot flood the history as well.
            let unread = self.signals.unread.fetch_add(1, Ordering::Relaxed) + 1;
            if unread.is_power_of_two() {
                self.events.note(format!(
                    "{unread} messages of the server were not read: too many at once"
                ));
            }
        }
    }

    fn noise(&self, message: &[u8]) -> Arrival {
        let begin = String::from_utf8_lossy(&message[..message.len().min(NOISE_PREVIEW * 8)]);
        let text = if begin.len() < message.len() {
            self.redactor
                .mask_cut_end(begin.trim_end_matches(char::REPLACEMENT_CHARACTER))
        } else {
            self.redactor.mask(&begin)
        };
        let preview: String = text
            .chars()
            .filter(|letter| !letter.is_control())
            .take(NOISE_PREVIEW)
            .collect();
        if preview
            .trim_matches(|letter: char| letter.is_whitespace() || letter == '\u{feff}')
            .is_empty()
        {
            return Arrival::Other;
        }
        let first = {
            let mut noise = self
                .signals
                .noise
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            noise.count += 1;
            if noise.count == 1 {
                noise.preview = preview.clone();
            }
            noise.count == 1
        };
        if first {
            self.events
                .note(format!("skipped what is no message: {preview}"));
        }
        Arrival::Other
    }
}

impl Inbound for Router {
    fn message(&self, message: Bytes, origin: Origin) -> Arrival {
        if let Some(id) = quick_reply_id(&message)
            && id >= FIRST_ID
        {
            return self.reply(id, message);
        }
        match message.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => self.read(message.slice_ref(rest), origin),
            None => self.read(message, origin),
        }
    }

    fn too_long(&self, head: &[u8]) -> bool {
        // An id below ours is the conversation's; its request has a deadline of its own.
        leading_id(head).is_some_and(|id| {
            self.calls
                .settle(id, Outcome::TooLarge(self.max_message_bytes))
                || id >= FIRST_ID
        })
    }

    fn listening(&self) {
        // Notices may have been missed while nobody listened.
        self.signals.mark_list_changed();
    }

    fn note(&self, note: TransportNote) {
        if let TransportNote::SessionUnknown { .. } = note {
            // Whoever lists again finds that out, and has the session replaced.
            self.signals.mark_list_changed();
        }
        self.events.note(self.redactor.mask(&note.to_string()));
    }

    fn dropped(&self, cause: &DropCause) {
        self.calls.refuse();
        self.signals.mark_dropped(cause);
    }
}
