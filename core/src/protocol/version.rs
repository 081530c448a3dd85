//! Protocol revisions that have a handshake.

/// Revisions of the protocol that this library speaks, oldest first.
pub(super) const SPOKEN: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The revision that is asked for.
pub(super) const NEWEST: &str = SPOKEN[SPOKEN.len() - 1];

/// Whether this library speaks a revision.
pub(super) fn is_spoken(version: &str) -> bool {
    SPOKEN.contains(&version)
}

/// The newest revision that both sides speak.
pub(super) fn best_common<'a>(theirs: impl IntoIterator<Item = &'a str>) -> Option<&'static str> {
    let theirs: Vec<&str> = theirs.into_iter().collect();
    SPOKEN.into_iter().rev().find(|ours| theirs.contains(ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_common_revision_wins() {
        assert_eq!(
            best_common(["2024-11-05", "2025-06-18", "2031-01-01"]),
            Some("2025-06-18")
        );
        assert_eq!(best_common(["2026-07-28"]), None);
        assert!(is_spoken(NEWEST));
    }
}
