//! Which addresses a request can be sent to.

use super::problem::describe_text;

/// An address that a request can be sent to.
pub(crate) fn check_url(url: &str) -> Result<reqwest::Url, String> {
    if url.contains(['\0', '\r', '\n', '\t']) {
        return Err("contains a line break, tab or NUL; remove it".to_owned());
    }
    let parsed = reqwest::Url::parse(url)
        .map_err(|_| "is not an address; give one that begins with http:// or https://")?;
    match parsed.scheme() {
        "http" | "https" => Ok(parsed),
        scheme => Err(format!(
            "has the scheme {}; only http and https are supported",
            describe_text(scheme)
        )),
    }
}
