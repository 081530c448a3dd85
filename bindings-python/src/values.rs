//! JSON text to Python values, without Python's own parser in between.
//!
//! The text has been validated, so this only has to find its way through it. Integers are exact at any size, the last of
//! duplicate members counts, and strings may hold what UTF-8 cannot, as they may in Python. Parsers that exist read
//! numbers into 64 bits, or refuse such strings.

use mcp_resident_facade::mcp_resident::RawJson;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};
use serde::Serialize;

/// What is nested deeper stays text (SPEC 6.9): a parser that calls itself must not exhaust the stack, and what a server
/// sends must not make reading it fail.
const MAX_DEPTH: usize = 500;

/// The value of a JSON text.
pub(crate) fn from_json<'py>(py: Python<'py>, json: &RawJson) -> PyResult<Bound<'py, PyAny>> {
    from_text(py, json.as_str())
}

/// What the library gives in its JSON form.
pub(crate) fn from_form<'py>(
    py: Python<'py>,
    form: &impl Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    let text =
        serde_json::to_string(form).map_err(|error| PyValueError::new_err(error.to_string()))?;
    from_text(py, &text)
}

fn from_text<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    Reader {
        py,
        text,
        place: 0,
        depth: 0,
    }
    .value()
}

struct Reader<'py, 't> {
    py: Python<'py>,
    text: &'t str,
    place: usize,
    depth: usize,
}

impl<'py> Reader<'py, '_> {
    fn value(&mut self) -> PyResult<Bound<'py, PyAny>> {
        match self.next_token() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => Ok(self.string()?.into_any()),
            Some(b't') => self.word("true", true),
            Some(b'f') => self.word("false", false),
            Some(b'n') => {
                self.place += "null".len();
                Ok(self.py.None().into_bound(self.py))
            }
            Some(_) => self.number(),
            None => Err(self.broken()),
        }
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self.depth == MAX_DEPTH {
            let text = &self.text[self.place..self.end_of_nested()];
            self.place += text.len();
            return Ok(PyString::new(self.py, text).into_any());
        }
        self.depth += 1;
        self.place += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// Where the object or list ends that begins here.
    fn end_of_nested(&self) -> usize {
        let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
        for (place, byte) in self.text.bytes().enumerate().skip(self.place) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = !in_string,
                b'{' | b'[' if !in_string => depth += 1,
                b'}' | b']' if !in_string => {
                    depth -= 1;
                    if depth == 0 {
                        return place + 1;
                    }
                }
                _ => {}
            }
        }
        self.text.len()
    }

    fn object(&mut self) -> PyResult<Bound<'py, PyAny>> {
        let object = PyDict::new(self.py);
        while self.goes_on(b'}') {
            let name = self.string()?;
            self.next_token();
            // The colon.
            self.place += 1;
            object.set_item(name, self.value()?)?;
        }
        Ok(object.into_any())
    }

    fn array(&mut self) -> PyResult<Bound<'py, PyAny>> {
        let array = PyList::empty(self.py);
        while self.goes_on(b']') {
            array.append(self.value()?)?;
        }
        Ok(array.into_any())
    }

    /// Goes past a comma or the end, and says whether there is another member.
    fn goes_on(&mut self, end: u8) -> bool {
        match self.next_token() {
            Some(token) if token == end => {
                self.place += 1;
                false
            }
            Some(b',') => {
                self.place += 1;
                self.next_token();
                true
            }
            Some(_) => true,
            None => false,
        }
    }

    fn word(&mut self, word: &str, value: bool) -> PyResult<Bound<'py, PyAny>> {
        self.place += word.len();
        Ok(value.into_pyobject(self.py)?.to_owned().into_any())
    }

    fn number(&mut self) -> PyResult<Bound<'py, PyAny>> {
        let rest = &self.text[self.place..];
        let end = rest
            .find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'))
            .unwrap_or(rest.len());
        let digits = &rest[..end];
        self.place += end;
        if digits.is_empty() {
            return Err(self.broken());
        }
        if let Ok(number) = digits.parse::<i64>() {
            // `-0` is an integer in JSON's grammar, and Python reads it as 0.
            return Ok(number.into_pyobject(self.py)?.into_any());
        }
        if digits.bytes().all(|b| b.is_ascii_digit() || b == b'-')
            && let Ok(number) = self.py.get_type::<PyInt>().call1((digits,))
        {
            return Ok(number);
        }
        // What Python refuses to read as an integer has thousands of digits.
        let number: f64 = digits.parse().map_err(|_| self.broken())?;
        Ok(PyFloat::new(self.py, number).into_any())
    }

    fn string(&mut self) -> PyResult<Bound<'py, PyString>> {
        let rest = &self.text[self.place + 1..];
        let plain = rest.bytes().position(|b| b == b'"' || b == b'\\');
        let plain = plain.ok_or_else(|| self.broken())?;
        if rest.as_bytes()[plain] == b'"' {
            self.place += plain + 2;
            return Ok(PyString::new(self.py, &rest[..plain]));
        }
        let (bytes, length) = unescaped(rest.as_bytes()).ok_or_else(|| self.broken())?;
        self.place += length + 2;
        match std::str::from_utf8(&bytes) {
            Ok(text) => Ok(PyString::new(self.py, text)),
            Err(_) => {
                let decoded = PyBytes::new(self.py, &bytes)
                    .call_method1("decode", ("utf-8", "surrogatepass"))?;
                Ok(decoded.cast_into::<PyString>()?)
            }
        }
    }

    /// The first byte that is no white space; the place moves to it.
    fn next_token(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.place..];
        let skipped = rest.iter().position(|b| !b.is_ascii_whitespace())?;
        self.place += skipped;
        Some(rest[skipped])
    }

    fn broken(&self) -> PyErr {
        PyValueError::new_err(format!("not valid JSON at byte {}", self.place))
    }
}

/// The bytes that a string stands for, up to its closing quote, and how many bytes of the text that is. Half of a
/// surrogate pair becomes the three bytes that UTF-8 would have for it.
fn unescaped(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut bytes = Vec::with_capacity(text.len().min(256));
    let mut place = 0;
    loop {
        match *text.get(place)? {
            b'"' => return Some((bytes, place)),
            b'\\' => {
                let escape = *text.get(place + 1)?;
                place += 2;
                match escape {
                    b'b' => bytes.push(8),
                    b'f' => bytes.push(12),
                    b'n' => bytes.push(b'\n'),
                    b'r' => bytes.push(b'\r'),
                    b't' => bytes.push(b'\t'),
                    b'u' => {
                        let mut code = hex(text, place)?;
                        place += 4;
                        let pair = text.get(place..place + 2) == Some(b"\\u");
                        if (0xD800..0xDC00).contains(&code)
                            && pair
                            && let Some(low @ 0xDC00..0xE000) = hex(text, place + 2)
                        {
                            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                            place += 6;
                        }
                        push_code(&mut bytes, code);
                    }
                    other => bytes.push(other),
                }
            }
            byte => {
                bytes.push(byte);
                place += 1;
            }
        }
    }
}

fn hex(text: &[u8], place: usize) -> Option<u32> {
    let digits = std::str::from_utf8(text.get(place..place + 4)?).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

fn push_code(bytes: &mut Vec<u8>, code: u32) {
    match char::from_u32(code) {
        Some(character) => {
            let mut buffer = [0; 4];
            bytes.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        }
        None => {
            let low = |shift: u32| 0x80 | u8::try_from(code >> shift & 0x3F).unwrap_or_default();
            let first = 0xE0 | u8::try_from(code >> 12).unwrap_or_default();
            bytes.extend_from_slice(&[first, low(6), low(0)]);
        }
    }
}
