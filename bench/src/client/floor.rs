//! The same bytes with nobody reading their meaning: prepared requests, blocking reads and writes, and
//! replies that are searched for their end only. With several calls at once this is a bound and no
//! client: over stdio all requests are one write.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use memchr::memmem;
use serde_json::{Value, json};

use super::Launch;
use crate::Failure;

const READ_BYTES: usize = 64 * 1024;
/// The end of a chunked body, where its last chunk ended.
const END_OF_BODY: &[u8] = b"\r\n0\r\n\r\n";

/// Bytes to a server and back.
pub(crate) trait Floor: Sized {
    /// Connects for so many calls at once.
    fn connect(launch: &Launch, in_flight: usize) -> Result<Self, Failure>;

    /// Sends the request as often as there are calls in flight, and waits for all replies. The last
    /// one is left in `reply`.
    fn exchange(&mut self, request: &[u8], reply: &mut Vec<u8>) -> Result<(), Failure>;

    /// The request as it goes over the wire.
    fn frame(&self, message: &Value) -> Vec<u8>;
}

/// A child process and its pipes.
pub(crate) struct Pipes {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    in_flight: usize,
}

impl Floor for Pipes {
    fn connect(launch: &Launch, in_flight: usize) -> Result<Self, Failure> {
        let Launch::Stdio { program, arguments } = launch else {
            return Err("this is no server over stdio".into());
        };
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = process.stdout.take().ok_or("the server has no output")?;
        Ok(Self {
            stdin: process.stdin.take(),
            stdout: BufReader::with_capacity(READ_BYTES, stdout),
            process,
            in_flight,
        })
    }

    fn exchange(&mut self, request: &[u8], reply: &mut Vec<u8>) -> Result<(), Failure> {
        let stdin = self.stdin.as_mut().ok_or("the server has no input")?;
        stdin.write_all(request)?;
        for _ in 0..self.in_flight {
            reply.clear();
            if self.stdout.read_until(b'\n', reply)? == 0 {
                return Err("the server ended".into());
            }
        }
        Ok(())
    }

    fn frame(&self, message: &Value) -> Vec<u8> {
        format!("{message}\n").repeat(self.in_flight).into_bytes()
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        self.stdin = None;
        // It ends at the end of its input.
        let _ = self.process.wait();
    }
}

/// One connection for each call in flight.
pub(crate) struct Sockets {
    streams: Vec<TcpStream>,
    authority: String,
    chunk: Vec<u8>,
}

impl Floor for Sockets {
    fn connect(launch: &Launch, in_flight: usize) -> Result<Self, Failure> {
        let Launch::Http { url } = launch else {
            return Err("this is no server over HTTP".into());
        };
        let rest = url.strip_prefix("http://").unwrap_or(url);
        let authority = rest.split('/').next().unwrap_or(rest).to_owned();
        let streams: Result<_, Failure> = (0..in_flight)
            .map(|_| {
                let stream = TcpStream::connect(&authority)?;
                stream.set_nodelay(true)?;
                Ok(stream)
            })
            .collect();
        Ok(Self {
            streams: streams?,
            authority,
            chunk: vec![0; READ_BYTES],
        })
    }

    fn exchange(&mut self, request: &[u8], reply: &mut Vec<u8>) -> Result<(), Failure> {
        for stream in &mut self.streams {
            stream.write_all(request)?;
        }
        for stream in &mut self.streams {
            reply.clear();
            while !reply.ends_with(END_OF_BODY) {
                let count = stream.read(&mut self.chunk)?;
                if count == 0 {
                    return Err("the server closed the connection".into());
                }
                reply.extend_from_slice(&self.chunk[..count]);
            }
        }
        Ok(())
    }

    fn frame(&self, message: &Value) -> Vec<u8> {
        let body = message.to_string();
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
            self.authority,
            body.len()
        )
        .into_bytes()
    }
}

/// A prepared call.
pub(crate) fn call(tool: &str, arguments: &Value) -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    })
}

/// How long the text in a reply is, for the comparison of the work.
pub(crate) fn text_bytes(reply: &[u8]) -> Result<usize, Failure> {
    let start = memmem::find(reply, b"{\"jsonrpc\"").ok_or("the reply is no message")?;
    let mut values = serde_json::Deserializer::from_slice(&reply[start..]).into_iter::<Value>();
    let reply = values.next().ok_or("the reply is no message")??;
    let text = reply["result"]["content"][0]["text"].as_str();
    Ok(text.ok_or("the result is no text")?.len())
}
