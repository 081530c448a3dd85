//! Other settings for the same connection: what a new configuration changes without a new process.

use std::sync::Arc;

use super::Task;
use crate::event::State;
use crate::server::restart::{RestartLimits, RestartPolicy};
use crate::server::spec::ServerSpec;

impl Task {
    /// Goes on with these settings. What is under way ends as it was begun; what was listed is chosen from anew.
    pub(super) fn adopt(&mut self, spec: Arc<ServerSpec>) {
        self.instance.serve(Arc::clone(&spec));
        let before = std::mem::replace(&mut self.spec, spec);
        let limits = RestartLimits::of(&self.spec.limits);
        if limits != RestartLimits::of(&before.limits) {
            self.restart = RestartPolicy::new(limits);
        }
        if !self.spec.auto_restart {
            self.retry_at = None;
        } else if !before.auto_restart && self.snapshot.borrow().state == State::Error {
            self.schedule_retry();
        }
        self.publish(|_| {});
        // Those who offer the same as before are told of no change.
        if let Some(tools) = &self.listed {
            for tenant in self.instance.tenants() {
                tenant.offer(tools, self.generation);
            }
        }
    }
}
