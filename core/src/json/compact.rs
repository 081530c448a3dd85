//! Compact JSON as `JSON.stringify` would write it, except that numbers keep their text.

/// Removes white space between tokens and writes strings with the fewest escapes, so that a server
/// that escapes every non-ASCII letter costs a model no more tokens than another. Numbers are copied.
pub(crate) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(first) = rest.chars().next() {
        match first {
            ' ' | '\t' | '\n' | '\r' => rest = &rest[1..],
            '"' => {
                let end = string_end(rest);
                push_string(&mut out, &rest[..end]);
                rest = &rest[end..];
            }
            _ => {
                let end = rest
                    .find(['"', ' ', '\t', '\n', '\r'])
                    .unwrap_or(rest.len());
                out.push_str(&rest[..end]);
                rest = &rest[end..];
            }
        }
    }
    out
}

/// The length of the string literal that `text` begins with, quotes included.
fn string_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}

fn push_string(out: &mut String, literal: &str) {
    if !literal.contains('\\') {
        out.push_str(literal);
        return;
    }
    match serde_json::from_str::<String>(literal) {
        Ok(text) => out.push_str(&serde_json::Value::from(text).to_string()),
        // A lone surrogate has no Rust string; its escape is the only faithful form.
        Err(_) => out.push_str(literal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_goes_and_numbers_stay() {
        assert_eq!(
            compact("{ \"a\" : [ 1e2 , -0,\n18446744073709551616 ] , \"b c\" : \" d \" }"),
            r#"{"a":[1e2,-0,18446744073709551616],"b c":" d "}"#
        );
    }

    #[test]
    fn strings_get_the_fewest_escapes() {
        assert_eq!(
            compact(r#"["\u00e9\/\n\u0001\"\\"]"#),
            "[\"é/\\n\\u0001\\\"\\\\\"]"
        );
        assert_eq!(compact(r#"["\ud800"]"#), r#"["\ud800"]"#);
    }

    proptest::proptest! {
        #[test]
        fn the_value_is_unchanged(text in "[\\PC\\n\"\\\\]{0,40}", number in proptest::num::i64::ANY) {
            let value = serde_json::json!({ "k": [text, number, null, true] });
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            proptest::prop_assert_eq!(compact(&pretty), value.to_string());
        }
    }
}
