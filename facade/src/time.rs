//! Times as languages write them: milliseconds, whole or not.

use std::time::Duration;

/// A number of milliseconds, rounded up to whole ones; what is negative or no number is none of them.
///
/// ```
/// use std::time::Duration;
/// use mcp_resident_facade::milliseconds;
///
/// assert_eq!(milliseconds(0.2), Duration::from_millis(1));
/// assert_eq!(milliseconds(-5.0), Duration::ZERO);
/// assert_eq!(milliseconds(f64::NAN), Duration::ZERO);
/// ```
pub fn milliseconds(amount: f64) -> Duration {
    // The conversion ends at the largest number, which the core takes as for ever, and makes 0 of what is no number.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it saturates"
    )]
    Duration::from_millis(amount.ceil() as u64)
}
