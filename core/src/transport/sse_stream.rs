//! An incremental parser for `text/event-stream`.
//!
//! It turns chunks of bytes, cut anywhere, into events, and remembers the last event id and the `retry` value. It reads no
//! socket and knows nothing of JSON-RPC: which events matter is for its user to say. Every byte is looked at once, and an
//! unfinished event never holds more than the limit.

use std::{mem, time::Duration};

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr2;

/// A data field below this size is copied out, so that a kept reply does not pin the whole read buffer.
const COPY_BELOW_BYTES: usize = 16 * 1024;
/// An event id longer than this is not remembered: it would have to travel back in a header.
const MAX_EVENT_ID_BYTES: usize = 4 * 1024;
/// A longer `retry` is cut to this.
const MAX_RETRY: Duration = Duration::from_secs(300);
/// Stands for the default event name in [`Event::name`].
const DEFAULT_NAME: &[u8] = b"message";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One dispatched event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// The event name; `message` when the stream named none.
    pub(super) name: Bytes,
    /// The data lines, joined by line feeds. May be empty: such an event only carries an id.
    pub(super) data: Bytes,
}

impl Event {
    /// Whether this event carries a message, as opposed to an id alone or something of another name.
    pub(super) fn is_message(&self) -> bool {
        self.name == DEFAULT_NAME && !self.data.is_empty()
    }
}

/// An event grew beyond the limit. The stream cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventTooLarge {
    /// The limit in bytes.
    pub(super) limit: usize,
}

/// The state between two chunks.
#[derive(Debug)]
pub(super) struct SseParser {
    limit: usize,
    /// What of the newest chunk was not looked at yet.
    chunk: Bytes,
    /// The beginning of a line whose end is still to come.
    partial_line: BytesMut,
    /// The last line ended with CR at the end of what was there: a LF that follows belongs to it.
    after_carriage_return: bool,
    at_start: bool,
    name: Bytes,
    data: Data,
    /// The id field of the event being read; it counts once the event is complete.
    pending_id: Bytes,
    last_event_id: Bytes,
    retry: Option<Duration>,
}

impl SseParser {
    /// A parser for one stream. `limit` bounds one event, and so what is held at any time, in bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            chunk: Bytes::new(),
            partial_line: BytesMut::new(),
            after_carriage_return: false,
            at_start: true,
            name: Bytes::new(),
            data: Data::None,
            pending_id: Bytes::new(),
            last_event_id: Bytes::new(),
            retry: None,
        }
    }

    /// Forgets an unfinished event, for a new stream that continues the old one: id and `retry` stay.
    pub(super) fn restart(&mut self) {
        let (last_event_id, retry) = (mem::take(&mut self.last_event_id), self.retry);
        *self = Self {
            pending_id: last_event_id.clone(),
            last_event_id,
            retry,
            ..Self::new(self.limit)
        };
    }

    /// Takes the next chunk. Call it only after [`Self::next_event`] has returned `None`.
    pub(super) fn push(&mut self, chunk: Bytes) {
        debug_assert!(
            self.chunk.is_empty(),
            "events of the chunk before were not taken"
        );
        self.chunk = chunk;
    }

    /// The next complete event of what was pushed so far.
    pub(super) fn next_event(&mut self) -> Result<Option<Event>, EventTooLarge> {
        while let Some(line) = self.next_line()? {
            if !line.is_empty() {
                self.field(line);
            } else if let Some(event) = self.dispatch() {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// The id to resume behind, if the stream named one.
    pub(super) fn last_event_id(&self) -> Option<&Bytes> {
        Some(&self.last_event_id).filter(|id| !id.is_empty())
    }

    /// How long the server wants to be left alone before a reconnect.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn next_line(&mut self) -> Result<Option<Bytes>, EventTooLarge> {
        if self.after_carriage_return && !self.chunk.is_empty() {
            self.after_carriage_return = false;
            if self.chunk[0] == b'\n' {
                self.chunk.advance(1);
            }
        }
        let end = memchr2(b'\n', b'\r', &self.chunk);
        let held = self.partial_line.len() + self.data.len();
        if held + end.unwrap_or(self.chunk.len()) > self.limit {
            return Err(EventTooLarge { limit: self.limit });
        }
        let Some(end) = end else {
            self.partial_line
                .extend_from_slice(&mem::take(&mut self.chunk));
            return Ok(None);
        };
        let mut line = self.chunk.split_to(end);
        self.after_carriage_return = self.chunk[0] == b'\r';
        self.chunk.advance(1);
        if !self.partial_line.is_empty() {
            self.partial_line.extend_from_slice(&line);
            line = self.partial_line.split().freeze();
        }
        if mem::take(&mut self.at_start) && line.starts_with(BYTE_ORDER_MARK) {
            line.advance(BYTE_ORDER_MARK.len());
        }
        Ok(Some(line))
    }

    fn field(&mut self, line: Bytes) {
        let colon = memchr::memchr(b':', &line);
        let name = &line[..colon.unwrap_or(line.len())];
        let value_start = match colon {
            Some(colon) if line.get(colon + 1) == Some(&b' ') => colon + 2,
            Some(colon) => colon + 1,
            None => line.len(),
        };
        match name {
            b"data" => self.data.append(line.slice(value_start..)),
            b"event" => self.name = Bytes::copy_from_slice(&line[value_start..]),
            b"id" => {
                let id = &line[value_start..];
                if !id.contains(&0) && id.len() <= MAX_EVENT_ID_BYTES {
                    self.pending_id = Bytes::copy_from_slice(id);
                }
            }
            b"retry" => self.retry = milliseconds(&line[value_start..]).or(self.retry),
            // Comments have an empty name; fields that nobody defined are to be ignored.
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<Event> {
        self.last_event_id = self.pending_id.clone();
        let name = mem::take(&mut self.name);
        let data = mem::replace(&mut self.data, Data::None).finish()?;
        let name = if name.is_empty() {
            Bytes::from_static(DEFAULT_NAME)
        } else {
            name
        };
        Some(Event { name, data })
    }
}

fn milliseconds(digits: &[u8]) -> Option<Duration> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = std::str::from_utf8(digits)
        .ok()?
        .parse()
        .unwrap_or(u64::MAX);
    Some(Duration::from_millis(number).min(MAX_RETRY))
}

/// The data lines of one event. Nearly every event has one, which needs no joining.
#[derive(Debug)]
enum Data {
    None,
    One(Bytes),
    Many(BytesMut),
}

impl Data {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(line) => line.len(),
            // A line feed for each further line is part of it, so that empty lines count as well.
            Self::Many(lines) => lines.len(),
        }
    }

    fn append(&mut self, line: Bytes) {
        let mut lines = match mem::replace(self, Self::None) {
            Self::None => {
                *self = Self::One(line);
                return;
            }
            Self::One(first) => BytesMut::from(&first[..]),
            Self::Many(lines) => lines,
        };
        lines.extend_from_slice(b"\n");
        lines.extend_from_slice(&line);
        *self = Self::Many(lines);
    }

    fn finish(self) -> Option<Bytes> {
        match self {
            Self::None => None,
            Self::One(line) if line.len() < COPY_BELOW_BYTES => Some(Bytes::copy_from_slice(&line)),
            Self::One(line) => Some(line),
            Self::Many(lines) => Some(lines.freeze()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All ways in which the shared case (B-04) makes a stream hard to read, but for the line endings.
    const STREAM: &str = "\u{feff}: hello\n\nid: 1\ndata: \nretry: 1500\n\n: keep-alive\n\n\
        data: {\"a\":1,\ndata: \"b\":\"zwei Zeilen ü\"}\nid: 2\n\nevent: ping\ndata: x\n\n\
        event: message\nid: 3\ndata:{\"id\":1,\"text\":\"✓ eins\"}\n\nunknown: x\ndata: {\"id\":2}\n\n\
        id: 4\ndata: never finished";

    fn parse<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<(String, String)>, SseParser) {
        let mut parser = SseParser::new(1024);
        let mut events = Vec::new();
        for chunk in chunks {
            parser.push(Bytes::copy_from_slice(chunk));
            while let Some(event) = parser.next_event().unwrap() {
                let text = |bytes: Bytes| String::from_utf8(bytes.into()).unwrap();
                events.push((text(event.name), text(event.data)));
            }
        }
        (events, parser)
    }

    fn expected() -> Vec<(String, String)> {
        [
            ("message", ""),
            ("message", "{\"a\":1,\n\"b\":\"zwei Zeilen ü\"}"),
            ("ping", "x"),
            ("message", "{\"id\":1,\"text\":\"✓ eins\"}"),
            ("message", "{\"id\":2}"),
        ]
        .map(|(name, data)| (name.to_owned(), data.to_owned()))
        .into()
    }

    #[test]
    fn every_line_ending_and_chunk_size_gives_the_same_events() {
        for ending in ["\n", "\r\n", "\r"] {
            let stream = STREAM.replace('\n', ending);
            for size in [1, 2, 3, 7, 64, stream.len()] {
                let (events, parser) = parse(stream.as_bytes().chunks(size));
                assert_eq!(events, expected(), "ending {ending:?}, chunks of {size}");
                assert_eq!(parser.last_event_id().unwrap(), "3");
                assert_eq!(parser.retry(), Some(Duration::from_millis(1500)));
            }
        }
    }

    #[test]
    fn an_event_is_there_as_soon_as_its_blank_line_is() {
        let (events, _) = parse([&b"data: x\r\n\r"[..]]);
        assert_eq!(
            events.len(),
            1,
            "the LF of the last CRLF must not be waited for"
        );
    }

    #[test]
    fn fields_follow_the_standard() {
        let cases: [(&str, &[(&str, &str)]); 7] = [
            ("data\n\n", &[("message", "")]),
            ("data:  two spaces\n\n", &[("message", " two spaces")]),
            ("data: a\ndata\ndata: b\n\n", &[("message", "a\n\nb")]),
            ("event: a\nevent: b\ndata: x\n\n", &[("b", "x")]),
            ("event: a\n\ndata: x\n\n", &[("message", "x")]),
            ("DATA: x\n data: x\n\n", &[]),
            ("data: x", &[]),
        ];
        for (stream, expected) in cases {
            let (events, _) = parse([stream.as_bytes()]);
            let events: Vec<_> = events
                .iter()
                .map(|(name, data)| (&name[..], &data[..]))
                .collect();
            assert_eq!(events, expected, "{stream:?}");
        }
    }

    #[test]
    fn ids_and_retry_values_that_cannot_be_used_are_ignored() {
        let (_, parser) =
            parse([&b"id: 1\nretry: 20\n\nid: 2\0\nretry: soon\nretry: -1\nretry:\n\n"[..]]);
        assert_eq!(parser.last_event_id().unwrap(), "1");
        assert_eq!(parser.retry(), Some(Duration::from_millis(20)));
        let (_, parser) = parse([&b"id: 1\nid\nretry: 99999999999999999999999\n\n"[..]]);
        assert_eq!(parser.last_event_id(), None, "an empty id resets");
        assert_eq!(parser.retry(), Some(MAX_RETRY));
    }

    #[test]
    fn an_event_beyond_the_limit_is_refused_before_it_is_held() {
        for stream in [
            "data: ".to_owned() + &"x".repeat(95),
            "data: 12345\n".repeat(20),
            "data\n".repeat(200),
        ] {
            let mut parser = SseParser::new(100);
            let outcome = stream.as_bytes().chunks(9).try_for_each(|chunk| {
                parser.push(Bytes::copy_from_slice(chunk));
                parser.next_event().map(drop)
            });
            assert_eq!(outcome, Err(EventTooLarge { limit: 100 }), "{stream:?}");
        }
    }

    #[test]
    fn a_large_event_is_not_copied_and_a_small_one_is() {
        for (size, shared) in [(COPY_BELOW_BYTES, true), (COPY_BELOW_BYTES - 1, false)] {
            let chunk = Bytes::from(format!("data: {}\n\n", "x".repeat(size)));
            let range = chunk.as_ptr_range();
            let mut parser = SseParser::new(1 << 20);
            parser.push(chunk);
            let data = parser.next_event().unwrap().unwrap().data;
            assert_eq!((data.len(), range.contains(&data.as_ptr())), (size, shared));
        }
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_events_of_the_whole(
            lines in prop::collection::vec(
                prop::sample::select(vec!["data: ü✓", "data:", "data", "id: 7", "id", "event: e", ": c", "retry: 3", "", "", "", "\u{feff}"]),
                0..40,
            ),
            endings in prop::collection::vec(prop::sample::select(vec!["\n", "\r\n", "\r"]), 40),
            cuts in prop::collection::vec(0usize..400, 0..30),
        ) {
            let stream: String = lines.iter().zip(&endings).flat_map(|(line, ending)| [*line, *ending]).collect();
            let (whole, whole_parser) = parse([stream.as_bytes()]);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let chunks = cuts.windows(2).map(|cut| &stream.as_bytes()[cut[0]..cut[1]]);
            let (parts, parts_parser) = parse(chunks);
            prop_assert_eq!(whole, parts);
            prop_assert_eq!(whole_parser.last_event_id(), parts_parser.last_event_id());
            prop_assert_eq!(whole_parser.retry(), parts_parser.retry());
        }
    }
}
