//! What the loop waits for: each is pending for ever when there is nothing of its kind.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Attempt, Listed, Refresh};
use crate::connection::{Connection, DropReason, OpenError};
use crate::error::ErrorKind;
use crate::server::attempt::Connected;

pub(super) async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

pub(super) async fn lost(current: Option<Arc<Connection>>) -> Arc<DropReason> {
    match current {
        Some(connection) => connection.dropped().await,
        None => std::future::pending().await,
    }
}

pub(super) async fn changed(live: Option<Arc<Connection>>) {
    match live {
        Some(connection) => connection.list_changed().await,
        None => std::future::pending().await,
    }
}

pub(super) async fn ended(attempt: &mut Option<Attempt>) -> Result<Connected, OpenError> {
    match attempt {
        Some(attempt) => match (&mut attempt.task).await {
            Ok(result) => result,
            Err(_) => Err(OpenError::new(
                ErrorKind::Internal,
                "the attempt ended unexpectedly",
            )),
        },
        None => std::future::pending().await,
    }
}

pub(super) async fn listed(refresh: &mut Option<Refresh>) -> Listed {
    match refresh {
        Some(refresh) => (&mut refresh.listing).await,
        None => std::future::pending().await,
    }
}
