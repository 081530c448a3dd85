//! The beginning of a text that is too long for a model.

/// The beginning of `whole`, at most `limit` bytes of it and no part of a character, and a line that says how much is left
/// out and what to do about it.
pub(crate) fn shortened(whole: &str, limit: usize, advice: &str) -> String {
    let mut places = (0..=limit.min(whole.len())).rev();
    let shown = places
        .find(|place| whole.is_char_boundary(*place))
        .unwrap_or(0);
    let bytes = whole.len();
    format!(
        "{}\n[cut: {shown} of {bytes} bytes are shown; {advice}]",
        &whole[..shown]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_is_cut_in_two() {
        let text = "größe";
        assert_eq!(
            shortened(text, 3, "ask"),
            "gr\n[cut: 2 of 7 bytes are shown; ask]"
        );
        assert_eq!(
            shortened(text, 4, "ask"),
            "grö\n[cut: 4 of 7 bytes are shown; ask]"
        );
        assert_eq!(
            shortened(text, 0, "ask"),
            "\n[cut: 0 of 7 bytes are shown; ask]"
        );
    }
}
