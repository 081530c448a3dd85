//! Every limit of a server in one table: its name, its configuration key, its unit, its default.
//!
//! The keys live in the entry's `limits` object, in camelCase or snake_case. `Ms` in a key means milliseconds, `Bytes`
//! bytes; the others are counts.

use std::time::Duration;

/// A longer duration is taken as this one (about 30 years), so that adding it to a clock never overflows.
const LONGEST_DURATION: Duration = Duration::from_secs(30 * 366 * 24 * 60 * 60);

/// Whether a duration means for ever.
pub(crate) fn is_endless(duration: Duration) -> bool {
    duration >= LONGEST_DURATION
}

/// A duration written in milliseconds, capped so that adding it to a clock never overflows.
pub(crate) fn milliseconds(amount: u64) -> Duration {
    addable(Duration::from_millis(amount))
}

/// A duration that a host gave, capped in the same way: `Duration::MAX` means for ever.
pub(crate) fn addable(duration: Duration) -> Duration {
    duration.min(LONGEST_DURATION)
}

/// What a limit's number in a configuration becomes.
trait Amount: Sized {
    fn from_amount(amount: u64) -> Self;

    /// What a host that gave this value itself gets.
    fn capped(self) -> Self {
        self
    }
}

impl Amount for Duration {
    fn from_amount(amount: u64) -> Self {
        milliseconds(amount)
    }

    fn capped(self) -> Self {
        addable(self)
    }
}

impl Amount for u32 {
    fn from_amount(amount: u64) -> Self {
        Self::try_from(amount).unwrap_or(Self::MAX)
    }
}

impl Amount for usize {
    fn from_amount(amount: u64) -> Self {
        Self::try_from(amount).unwrap_or(Self::MAX)
    }
}

/// Why a key of a `limits` object was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LimitRefused {
    /// There is no such key.
    #[error("is no limit; there are: {}", LimitOverrides::KEYS.join(", "))]
    Unknown,
    /// The amount is below what makes sense.
    #[error("must be at least {least}")]
    TooSmall {
        /// The smallest amount.
        least: u64,
    },
}

fn at_least<T: Amount>(least: u64, amount: u64) -> Result<T, LimitRefused> {
    if amount < least {
        Err(LimitRefused::TooSmall { least })
    } else {
        Ok(T::from_amount(amount))
    }
}

macro_rules! limits {
    ($($(#[doc = $doc:literal])* $field:ident: $kind:ty = $default:expr, $key:literal, at least $least:literal;)*) => {
        /// The limits in force for one server.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Limits {
            $($(#[doc = $doc])* #[doc = concat!("\n\nKey: `", $key, "`, at least ", $least, ".")] pub $field: $kind,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        /// The limits that a source or a server sets; what is none keeps the value it had.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct LimitOverrides {
            $(#[doc = concat!("Sets [`Limits::", stringify!($field), "`]; key `", $key, "`.")] pub $field: Option<$kind>,)*
        }

        impl LimitOverrides {
            /// Every key of the `limits` object.
            pub const KEYS: &'static [&'static str] = &[$($key,)*];

            /// Sets the limit of this key; the unit is in the key's name.
            ///
            /// # Errors
            /// When there is no such key, or the amount is too small for it.
            pub fn set(&mut self, key: &str, amount: u64) -> Result<(), LimitRefused> {
                match key {
                    $($key => {
                        self.$field = Some(at_least($least, amount)?);
                        Ok(())
                    })*
                    _ => Err(LimitRefused::Unknown),
                }
            }
        }

        impl Limits {
            /// These limits with what `overrides` sets in their place.
            #[must_use]
            pub fn with(mut self, overrides: &LimitOverrides) -> Self {
                $(if let Some(value) = overrides.$field {
                    self.$field = value.capped();
                })*
                self
            }
        }
    };
}

const MIB: usize = 1024 * 1024;

limits! {
    /// Budget of connecting, which for a child process means starting it.
    connect: Duration = Duration::from_secs(30), "connectTimeoutMs", at least 1;
    /// Budget of the handshake.
    initialize: Duration = Duration::from_secs(30), "initializeTimeoutMs", at least 1;
    /// Budget of reading all pages of the tool list.
    list: Duration = Duration::from_secs(30), "listTimeoutMs", at least 1;
    /// How long a call may go without a reply or progress.
    call_idle: Duration = Duration::from_secs(30), "callIdleTimeoutMs", at least 1;
    /// How long a call may take in all; a longer timeout given with the call raises it.
    call_total: Duration = Duration::from_secs(600), "callTotalTimeoutMs", at least 1;
    /// How long a person may take to answer; the call's own clocks stand still meanwhile.
    person_wait: Duration = Duration::from_secs(30 * 60), "personTimeoutMs", at least 1;
    /// Attempts of one automatic restart before the server stays in error.
    restart_retries: u32 = 5, "restartMaxRetries", at least 0;
    /// Wait before the second attempt; it doubles from there, with jitter.
    restart_first_delay: Duration = Duration::from_millis(250), "restartFirstDelayMs", at least 1;
    /// Longest wait between two attempts.
    restart_max_delay: Duration = Duration::from_secs(30), "restartMaxDelayMs", at least 1;
    /// How long a connection must last for the next drop to count as the first.
    restart_stable_period: Duration = Duration::from_secs(60), "restartStablePeriodMs", at least 0;
    /// At close, the time a process has to end after its standard input ended.
    close_stdin_grace: Duration = Duration::from_secs(2), "closeStdinGraceMs", at least 0;
    /// At close, the time a process has to end after SIGTERM.
    close_term_grace: Duration = Duration::from_secs(2), "closeTermGraceMs", at least 0;
    /// At close, the time that ending an HTTP session may take.
    close_http_delete: Duration = Duration::from_secs(1), "closeHttpDeleteMs", at least 0;
    /// The time that a whole close may take.
    close_total: Duration = Duration::from_secs(6), "closeTotalMs", at least 1;
    /// How long a server may be without a call before it is closed; the next call connects it again. Never, unless it is
    /// set.
    idle_close: Duration = LONGEST_DURATION, "idleCloseMs", at least 1;
    /// How long one write to the server may stall.
    write_stall: Duration = Duration::from_secs(10), "writeStallMs", at least 1;
    /// Largest message that is accepted.
    max_message_bytes: usize = 64 * MIB, "maxMessageBytes", at least 1;
    /// Longest text for a model that a call gives; what is longer is cut. A session has 100,000 unless it says otherwise.
    max_output_bytes: usize = usize::MAX, "maxOutputBytes", at least 1;
    /// Most pages of one tool list.
    max_list_pages: usize = 1_000, "maxListPages", at least 1;
    /// Most tools of one server.
    max_tools: usize = 20_000, "maxTools", at least 1;
    /// How much of the end of standard error is kept.
    stderr_bytes: usize = 64 * 1024, "stderrBytes", at least 0;
    /// Events kept in the history.
    max_events: usize = 1_000, "maxEvents", at least 1;
    /// Notifications that may wait to be handled.
    max_queued_notifications: usize = 256, "maxQueuedNotifications", at least 1;
    /// Longest wait before the listening stream is opened again.
    listen_max_delay: Duration = Duration::from_secs(30), "listenMaxDelayMs", at least 1;
    /// Redirects that one request follows, all within its origin.
    max_redirects: usize = 5, "maxRedirects", at least 0;
    /// How long an exchange waits for this server.
    exchange_wait: Duration = Duration::from_secs(10), "exchangeWaitMs", at least 0;
    /// How long a `!command` may run.
    secret_command: Duration = Duration::from_secs(10), "secretCommandTimeoutMs", at least 1;
    /// Calls that run at the same time; more of them wait in a fair queue.
    max_calls_in_flight: usize = 64, "maxCallsInFlight", at least 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_can_be_set_and_changes_something() {
        for key in LimitOverrides::KEYS {
            let mut overrides = LimitOverrides::default();
            assert_eq!(overrides.set(key, 7), Ok(()), "{key}");
            assert_ne!(
                Limits::default().with(&overrides),
                Limits::default(),
                "{key}"
            );
        }
    }

    #[test]
    fn a_number_that_is_too_small_and_an_unknown_key_are_refused() {
        let mut overrides = LimitOverrides::default();
        assert_eq!(
            overrides.set("maxTools", 0),
            Err(LimitRefused::TooSmall { least: 1 })
        );
        assert_eq!(overrides.set("maxTool", 1), Err(LimitRefused::Unknown));
        assert_eq!(overrides, LimitOverrides::default());
    }

    #[test]
    fn an_endless_duration_is_capped() {
        assert_eq!(milliseconds(u64::MAX), LONGEST_DURATION);
    }
}
