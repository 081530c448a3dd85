//! The last listing of lazy servers, on disk, so that their tools are known before they are started.
//!
//! A file is named after a hash of the unresolved definition and holds what the server listed. It is
//! readable by its owner only, written whole and renamed into place, and refused when it is too large
//! or when the listing repeats a secret that the server was given.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::json::RawJson;
use crate::private_files;

/// The largest listing that is kept, in bytes.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// The most listings that are kept; the oldest go first.
const MAX_FILES: usize = 256;
/// The form of the files. A file of another form is ignored and written again.
const FORM: u32 = 1;

/// A directory of listings.
#[derive(Debug, Clone)]
pub(crate) struct ListingCache {
    directory: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct File {
    form: u32,
    tools: Vec<RawJson>,
}

impl ListingCache {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// The listing that was kept under `key`. What cannot be read counts as not there.
    pub(crate) async fn load(&self, key: &str) -> Option<Vec<RawJson>> {
        let path = self.path(key);
        tokio::task::spawn_blocking(move || read(&path))
            .await
            .ok()?
    }

    /// Keeps a listing under `key`.
    pub(crate) async fn store(&self, key: &str, tools: Vec<RawJson>) -> io::Result<()> {
        let cache = self.clone();
        let path = self.path(key);
        tokio::task::spawn_blocking(move || {
            let text = serde_json::to_string(&File { form: FORM, tools })?;
            if text.len() as u64 > MAX_FILE_BYTES {
                return Err(io::Error::other(format!(
                    "the listing is larger than {MAX_FILE_BYTES} bytes"
                )));
            }
            private_files::make_directory(&cache.directory)?;
            write_whole(&path, text.as_bytes())?;
            prune(&cache.directory);
            Ok(())
        })
        .await
        .map_err(io::Error::other)?
    }

    fn path(&self, key: &str) -> PathBuf {
        self.directory.join(format!("{key}.json"))
    }
}

fn read(path: &Path) -> Option<Vec<RawJson>> {
    if fs::metadata(path).ok()?.len() > MAX_FILE_BYTES {
        return None;
    }
    let file: File = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    (file.form == FORM).then_some(file.tools)
}

/// Writes beside the file and renames, so that nobody ever reads half of it.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension(format!("{:016x}.new", fastrand::u64(..)));
    let mut options = private_files::options();
    options.write(true).create_new(true);
    let written = options
        .open(&beside)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Removes the oldest files over the limit. A failure leaves a file too many, which harms nobody.
fn prune(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let path = entry.path();
            let is_listing = path
                .extension()
                .is_some_and(|extension| extension == "json");
            is_listing.then_some((entry.metadata().ok()?.modified().ok()?, path))
        })
        .collect();
    files.sort_unstable();
    let surplus = files.len().saturating_sub(MAX_FILES);
    for (_, path) in &files[..surplus] {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(text: &str) -> RawJson {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn a_listing_comes_back_as_it_was_and_only_its_owner_may_read_it() {
        let directory = tempfile::tempdir().unwrap();
        let cache = ListingCache::new(directory.path().join("listings"));
        assert!(cache.load("k").await.is_none());
        let tools = vec![tool(r#"{"name":"a","inputSchema":{"maximum":1e2}}"#)];
        cache.store("k", tools.clone()).await.unwrap();
        assert_eq!(cache.load("k").await.unwrap(), tools);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&directory.path().join("listings")), 0o700);
            assert_eq!(mode(&directory.path().join("listings/k.json")), 0o600);
        }
        let files = fs::read_dir(directory.path().join("listings"))
            .unwrap()
            .count();
        assert_eq!(files, 1, "nothing else is left behind");
    }

    #[tokio::test]
    async fn broken_foreign_and_large_files_count_as_absent() {
        let directory = tempfile::tempdir().unwrap();
        let cache = ListingCache::new(directory.path().to_path_buf());
        for text in ["", "{", "[]", r#"{"form":99,"tools":[]}"#] {
            fs::write(directory.path().join("k.json"), text).unwrap();
            assert!(cache.load("k").await.is_none(), "{text}");
        }
        let large = tool(&format!("\"{}\"", "x".repeat(MAX_FILE_BYTES as usize)));
        assert!(cache.store("k", vec![large]).await.is_err());
    }
}
