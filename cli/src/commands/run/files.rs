//! Whether a configuration file has changed, by looking from time to time: that works on every file system, and costs nothing.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::selection::Selection;

/// How often is looked.
const INTERVAL: Duration = Duration::from_secs(1);

/// The files that were looked for, also those that are not there.
#[derive(Debug)]
pub(super) struct WatchedFiles {
    paths: Vec<PathBuf>,
    seen: Vec<Option<Stamp>>,
}

/// What changes with a file's content.
type Stamp = (SystemTime, u64);

impl WatchedFiles {
    pub(super) fn of(selection: &Selection) -> Self {
        let paths: Vec<PathBuf> = selection
            .files
            .iter()
            .map(|file| file.path.clone())
            .collect();
        Self {
            seen: stamps(&paths),
            paths,
        }
    }

    /// Waits until one of them has another stamp than the last time.
    pub(super) async fn changed(&mut self) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let now = stamps(&self.paths);
            if now != self.seen {
                self.seen = now;
                return;
            }
        }
    }
}

fn stamps(paths: &[PathBuf]) -> Vec<Option<Stamp>> {
    let stamp = |path: &PathBuf| {
        let file = fs::metadata(path).ok()?;
        Some((file.modified().ok()?, file.len()))
    };
    paths.iter().map(stamp).collect()
}
