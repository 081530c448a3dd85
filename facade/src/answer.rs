//! A person's answer in its JSON form.

use mcp_resident::{Answer, RawJson, Reason};

/// Reads an answer to the question `id` of a server: `{"ok": true, "data": ...}` or `{"ok": false, "reason": "declined"}`.
///
/// Whatever is no such answer is a refusal with the reason `cancelled`: a host whose callback failed has not agreed.
///
/// ```
/// use mcp_resident_facade::answer_from_json;
/// use mcp_resident_facade::mcp_resident::{Answer, Reason};
///
/// let declined = answer_from_json("7", r#"{"ok": false, "reason": "declined"}"#);
/// assert_eq!(declined, Answer::refuse("7", Reason::Declined));
/// assert_eq!(answer_from_json("7", "oops"), Answer::refuse("7", Reason::Cancelled));
/// ```
pub fn answer_from_json(id: &str, text: &str) -> Answer {
    let Ok(answer) = text.parse::<RawJson>() else {
        return Answer::refuse(id, Reason::Cancelled);
    };
    let member = |name| answer.member(name).filter(|value| !value.is_null());
    if member("ok").is_some_and(|ok| ok.as_str() == "true") {
        return Answer::accept(id, member("data"));
    }
    let reason = member("reason").and_then(|reason| reason.parse_as::<String>().ok());
    Answer::refuse(
        id,
        match reason.as_deref() {
            Some("declined") => Reason::Declined,
            Some("expired") => Reason::Expired,
            _ => Reason::Cancelled,
        },
    )
}
