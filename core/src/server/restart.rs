//! When a lost server is started again (SPEC 2.13). No clock and no I/O: time comes in as an argument.

use std::time::Duration;

use crate::config::Limits;

/// What bounds the restarts of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RestartLimits {
    /// Retries in a row before it stays in error.
    pub(crate) max_retries: u32,
    /// The first delay that is not zero.
    pub(crate) first_delay: Duration,
    /// No delay is longer.
    pub(crate) max_delay: Duration,
    /// A connection that lasted so long starts the count anew.
    pub(crate) stable_period: Duration,
}

impl RestartLimits {
    /// Those among a server's limits.
    pub(crate) fn of(limits: &Limits) -> Self {
        Self {
            max_retries: limits.restart_retries,
            first_delay: limits.restart_first_delay,
            max_delay: limits.restart_max_delay,
            stable_period: limits.restart_stable_period,
        }
    }
}

/// Counts retries in a row.
#[derive(Debug)]
pub(crate) struct RestartPolicy {
    limits: RestartLimits,
    retries: u32,
    /// Whether the next delay is zero: the first retry after a stable period is immediate.
    immediate: bool,
}

/// The next retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retry {
    /// Which one it is, from 1.
    pub(crate) number: u32,
    /// How long until then.
    pub(crate) delay: Duration,
}

impl RestartPolicy {
    pub(crate) fn new(limits: RestartLimits) -> Self {
        Self {
            limits,
            retries: 0,
            immediate: true,
        }
    }

    /// A connection was lost after `lasted`.
    pub(crate) fn lost_after(&mut self, lasted: Duration) {
        if lasted >= self.limits.stable_period {
            self.reset();
        }
    }

    /// Somebody started the server on purpose: the count begins anew.
    pub(crate) fn reset(&mut self) {
        self.retries = 0;
        self.immediate = true;
    }

    /// The next retry, or nothing when there were enough. `jitter` is in `0.0..1.0`.
    pub(crate) fn next(&mut self, jitter: f64) -> Option<Retry> {
        if self.retries >= self.limits.max_retries {
            return None;
        }
        self.retries += 1;
        let delay = if std::mem::take(&mut self.immediate) {
            Duration::ZERO
        } else {
            self.backoff(jitter)
        };
        Some(Retry {
            number: self.retries,
            delay,
        })
    }

    /// How many retries there were in a row.
    pub(crate) fn retries(&self) -> u32 {
        self.retries
    }

    /// Doubles with each retry up to the cap, of which at least half is kept: servers that were lost
    /// together do not come back together.
    fn backoff(&self, jitter: f64) -> Duration {
        let doublings = self.retries.saturating_sub(2).min(31);
        let full = self
            .limits
            .first_delay
            .saturating_mul(1 << doublings)
            .min(self.limits.max_delay);
        full.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: RestartLimits = RestartLimits {
        max_retries: 5,
        first_delay: Duration::from_millis(250),
        max_delay: Duration::from_millis(1500),
        stable_period: Duration::from_secs(60),
    };

    fn delays(policy: &mut RestartPolicy) -> Vec<u128> {
        std::iter::from_fn(|| policy.next(1.0))
            .map(|retry| retry.delay.as_millis())
            .collect()
    }

    #[test]
    fn the_first_retry_is_immediate_and_the_others_double_up_to_the_cap() {
        let mut policy = RestartPolicy::new(LIMITS);
        assert_eq!(delays(&mut policy), [0, 250, 500, 1000, 1500]);
        assert_eq!(policy.next(1.0), None);
    }

    #[test]
    fn a_crash_loop_is_one_row_of_retries_and_a_stable_period_ends_it() {
        let mut policy = RestartPolicy::new(LIMITS);
        for number in 1..=5 {
            policy.lost_after(Duration::from_secs(1));
            assert_eq!(policy.next(0.0).unwrap().number, number);
        }
        policy.lost_after(Duration::from_secs(59));
        assert_eq!(policy.next(0.0), None);
        policy.lost_after(Duration::from_secs(60));
        assert_eq!(
            policy.next(0.0),
            Some(Retry {
                number: 1,
                delay: Duration::ZERO
            })
        );
    }

    proptest::proptest! {
        #[test]
        fn delays_stay_between_half_and_the_whole_of_the_cap(
            jitter in 0.0f64..1.0,
            max_retries in 0u32..200,
        ) {
            let mut policy = RestartPolicy::new(RestartLimits { max_retries, ..LIMITS });
            let mut count = 0;
            while let Some(retry) = policy.next(jitter) {
                count += 1;
                proptest::prop_assert!(retry.delay <= LIMITS.max_delay);
                proptest::prop_assert!(count == 1 || retry.delay >= LIMITS.first_delay / 2);
            }
            proptest::prop_assert_eq!(count, max_retries);
        }
    }
}
