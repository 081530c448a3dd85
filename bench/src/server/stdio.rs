//! One message a line. Everything that was read in one go is answered in one write.

use std::io::{self, Read as _, Write as _};

use super::answer::{Answered, Answers};
use crate::Failure;

const READ_BYTES: usize = 64 * 1024;

pub(super) fn serve(mut answers: Answers) -> Result<(), Failure> {
    let (mut stdin, mut stdout) = (io::stdin().lock(), io::stdout().lock());
    let mut chunk = vec![0; READ_BYTES];
    let mut unread = Vec::new();
    let mut replies = Vec::new();
    loop {
        let count = stdin.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        unread.extend_from_slice(&chunk[..count]);
        let whole = memchr::memrchr(b'\n', &unread).map_or(0, |end| end + 1);
        for line in unread[..whole].split(|byte| *byte == b'\n') {
            if !line.is_empty() && answers.answer(line, &mut replies) != Answered::Notification {
                replies.push(b'\n');
            }
        }
        unread.drain(..whole);
        if !replies.is_empty() {
            stdout.write_all(&replies)?;
            stdout.flush()?;
            replies.clear();
        }
    }
}
