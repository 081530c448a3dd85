//! Startups to one address, one after the other: many entries of one remote server do not fall upon it at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A gate for each address that something was started at.
#[derive(Debug, Default)]
pub(crate) struct StartupGates(Mutex<HashMap<String, Arc<Semaphore>>>);

impl StartupGates {
    /// Waits until nobody else starts at this address. Whoever is inside is bounded by its own budgets.
    pub(super) async fn enter(&self, address: &str) -> Option<OwnedSemaphorePermit> {
        let gate = {
            let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Where nobody is, none is needed.
            gates.retain(|_, gate| Arc::strong_count(gate) > 1 || gate.available_permits() == 0);
            let gate = gates.entry(address.to_owned());
            Arc::clone(gate.or_insert_with(|| Arc::new(Semaphore::new(1))))
        };
        // The semaphore is never closed.
        gate.acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_one_starts_at_an_address_at_a_time() {
        let gates = StartupGates::default();
        let first = gates.enter("a").await;
        let mut second = std::pin::pin!(gates.enter("a"));
        assert!(futures_util::poll!(&mut second).is_pending());
        assert!(gates.enter("b").await.is_some());
        drop(first);
        assert!(second.await.is_some());
        assert!(gates.enter("a").await.is_some());
        assert_eq!(
            gates.0.lock().unwrap().len(),
            1,
            "gates that nobody uses are forgotten"
        );
    }
}
