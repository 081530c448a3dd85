//! Lines of a byte stream: one message each.
//!
//! Pure: bytes go in, lines come out, whatever the chunks were. Time is linear in the bytes and
//! memory is bounded by the message limit.

use bytes::{Buf, Bytes, BytesMut};

/// Room that is asked for before each read, in bytes.
const READ_SIZE: usize = 64 * 1024;
/// A shorter line is copied, in bytes: kept as a slice it would pin a whole read buffer.
const COPY_BELOW: usize = 16 * 1024;
/// How much of an overlong line is kept to find out whose it is, in bytes.
const HEAD_SIZE: usize = 256;

/// What the stream held.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A whole line without its ending. Never empty.
    Message(Bytes),
    /// The beginning of a line longer than the limit. Its rest is skipped.
    TooLong {
        /// At most [`HEAD_SIZE`] bytes.
        head: Bytes,
    },
}

/// Collects bytes and cuts them into lines.
#[derive(Debug)]
pub(crate) struct LineBuffer {
    bytes: BytesMut,
    /// How much of `bytes` is known to hold no line feed.
    scanned: usize,
    /// Whether the rest of an overlong line is being thrown away.
    skipping: bool,
    limit: usize,
}

impl LineBuffer {
    /// Lines of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            bytes: BytesMut::with_capacity(READ_SIZE),
            scanned: 0,
            skipping: false,
            limit,
        }
    }

    /// Where the next read goes. Call [`next`](Self::next) until it is empty after each read.
    pub(crate) fn space(&mut self) -> &mut BytesMut {
        if self.bytes.capacity() - self.bytes.len() < READ_SIZE / 4 {
            self.bytes.reserve(READ_SIZE.max(self.bytes.len()));
        }
        &mut self.bytes
    }

    /// The next line that is complete.
    pub(crate) fn next(&mut self) -> Option<Line> {
        loop {
            match memchr::memchr(b'\n', &self.bytes[self.scanned..]) {
                Some(found) => {
                    let end = self.scanned + found;
                    self.scanned = 0;
                    if std::mem::take(&mut self.skipping) {
                        self.bytes.advance(end + 1);
                        continue;
                    }
                    if let Some(line) = self.take(end) {
                        return Some(line);
                    }
                }
                None if self.skipping => {
                    self.bytes.clear();
                    self.scanned = 0;
                    return None;
                }
                None if self.unended_length() > self.limit => {
                    let head =
                        Bytes::copy_from_slice(&self.bytes[..HEAD_SIZE.min(self.bytes.len())]);
                    // A new buffer, so that the memory of the overlong line goes back at once.
                    self.bytes = BytesMut::with_capacity(READ_SIZE);
                    self.scanned = 0;
                    self.skipping = true;
                    return Some(Line::TooLong { head });
                }
                None => {
                    self.scanned = self.bytes.len();
                    return None;
                }
            }
        }
    }

    /// The length of the line that has no line feed yet, without what may be a part of its ending.
    fn unended_length(&self) -> usize {
        self.bytes.len() - usize::from(self.bytes.last() == Some(&b'\r'))
    }

    /// What is left when the stream has ended: a final line without a line feed.
    pub(crate) fn finish(mut self) -> Option<Line> {
        if self.skipping || self.bytes.is_empty() {
            return None;
        }
        self.bytes.extend_from_slice(b"\n");
        self.take(self.bytes.len() - 1)
    }

    /// Takes the line that ends before the line feed at `end`; blank lines are nothing.
    fn take(&mut self, end: usize) -> Option<Line> {
        let length = end - usize::from(end > 0 && self.bytes[end - 1] == b'\r');
        if length > self.limit {
            let head = Bytes::copy_from_slice(&self.bytes[..HEAD_SIZE.min(length)]);
            self.bytes.advance(end + 1);
            return Some(Line::TooLong { head });
        }
        let line = if end < COPY_BELOW {
            let line = Bytes::copy_from_slice(&self.bytes[..length]);
            self.bytes.advance(end + 1);
            line
        } else {
            let mut line = self.bytes.split_to(end + 1);
            line.truncate(length);
            line.freeze()
        };
        let blank = line.iter().all(u8::is_ascii_whitespace);
        (!blank).then_some(Line::Message(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]], limit: usize) -> Vec<Line> {
        let mut buffer = LineBuffer::new(limit);
        let mut found = Vec::new();
        for chunk in chunks {
            buffer.space().extend_from_slice(chunk);
            found.extend(std::iter::from_fn(|| buffer.next()));
        }
        found.extend(buffer.finish());
        found
    }

    fn message(text: &str) -> Line {
        Line::Message(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn endings_blank_lines_and_a_final_line_without_a_break() {
        let found = lines(&[b"a\r\nb\n\r\n \n\nc"], 100);
        assert_eq!(found, [message("a"), message("b"), message("c")]);
    }

    #[test]
    fn an_overlong_line_is_reported_once_and_the_next_one_is_whole() {
        let long = [b'x'; 400];
        let found = lines(&[&long, b"yy", b"zz\nnext\n"], 300);
        let head = Bytes::copy_from_slice(&long[..HEAD_SIZE]);
        assert_eq!(found, [Line::TooLong { head }, message("next")]);
    }

    #[test]
    fn an_overlong_line_in_one_chunk_is_reported_too() {
        let found = lines(&[b"123456789\nok\n"], 8);
        assert_eq!(
            found,
            [
                Line::TooLong {
                    head: Bytes::from_static(b"123456789")
                },
                message("ok")
            ]
        );
        assert_eq!(lines(&[b"12345678\n"], 8), [message("12345678")]);
    }

    proptest::proptest! {
        #[test]
        fn chunks_make_no_difference(
            text in "[a-c\r\n{}\u{e9}]{0,60}",
            size in 1usize..9,
            limit in 1usize..20,
        ) {
            let whole = lines(&[text.as_bytes()], limit);
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let messages = |lines: Vec<Line>| -> Vec<Line> {
                lines.into_iter().filter(|line| matches!(line, Line::Message(_))).collect()
            };
            proptest::prop_assert_eq!(messages(lines(&chunks, limit)), messages(whole));
        }
    }
}
