//! What the user trusts: for each folder, the fingerprints of entries that may be started there.
//!
//! A fingerprint counts only in the folder it was trusted in, because a relative program is another
//! program in another folder. The file is readable by its owner only and is replaced as a whole, so
//! that nobody ever sees half of it. It holds no secret: launch lines are kept as they were shown.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use mcp_resident::Environment;
use mcp_resident::config::{ServerDefinition, fingerprint, launch_line};
use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::places;

const FILE: &str = "trust.json";
const VERSION: u32 = 1;
/// Definitions of one server that a folder may have trusted; more push out the oldest.
const MAX_DEFINITIONS: usize = 4;

/// The decisions, as they were read and as they are changed.
#[derive(Debug)]
pub(crate) struct TrustStore {
    path: PathBuf,
    folders: BTreeMap<String, Vec<Trusted>>,
}

/// One entry that is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trusted {
    pub(crate) server: String,
    pub(crate) fingerprint: String,
    /// What it starts, as it was shown.
    pub(crate) launch: String,
}

impl Trusted {
    pub(crate) fn new(definition: &ServerDefinition) -> Self {
        Self {
            server: definition.name.clone(),
            fingerprint: fingerprint(definition),
            launch: launch_line(definition),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    folders: BTreeMap<String, Vec<Trusted>>,
}

impl TrustStore {
    /// Reads what is trusted; nothing when nothing was ever trusted.
    pub(crate) fn open(environment: &Environment) -> Result<Self, Failure> {
        let path = places::state_dir(environment)?.join(FILE);
        let folders = match fs::read_to_string(&path) {
            Ok(text) => read(&path, &text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(unusable(&path, &error.to_string())),
        };
        Ok(Self { path, folders })
    }

    pub(crate) fn is_trusted(&self, folder: &Folder, definition: &ServerDefinition) -> bool {
        let fingerprint = fingerprint(definition);
        let trusted = self.folders.get(folder.as_str());
        trusted.is_some_and(|trusted| trusted.iter().any(|entry| entry.fingerprint == fingerprint))
    }

    pub(crate) fn folders(&self) -> &BTreeMap<String, Vec<Trusted>> {
        &self.folders
    }

    /// Trusts entries in a folder, in the place of what was trusted under their names.
    pub(crate) fn trust(&mut self, folder: &Folder, entries: Vec<Trusted>) {
        let trusted = self.folders.entry(folder.as_str().to_owned()).or_default();
        // Two files of a folder may define one server, so its other definitions stay, the newest of them.
        for entry in entries {
            trusted
                .retain(|old| old.fingerprint != entry.fingerprint || old.server != entry.server);
            let same = trusted
                .iter()
                .filter(|old| old.server == entry.server)
                .count();
            if same >= MAX_DEFINITIONS {
                let oldest = trusted.iter().position(|old| old.server == entry.server);
                oldest.map(|oldest| trusted.remove(oldest));
            }
            trusted.push(entry);
        }
        trusted.sort_by(|one, other| one.server.cmp(&other.server));
    }

    /// Takes back the trust in these servers of a folder, or in all when none is named.
    pub(crate) fn revoke(&mut self, folder: &Folder, servers: &[String]) -> Vec<Trusted> {
        let trusted = self.folders.remove(folder.as_str()).unwrap_or_default();
        let (revoked, kept): (Vec<_>, Vec<_>) = trusted
            .into_iter()
            .partition(|entry| servers.is_empty() || servers.contains(&entry.server));
        if !kept.is_empty() {
            self.folders.insert(folder.as_str().to_owned(), kept);
        }
        revoked
    }

    pub(crate) fn save(&self) -> Result<(), Failure> {
        self.replace_file().map_err(|error| {
            let path = self.path.display();
            Failure::new(
                Exit::Configuration,
                format!("{path}: cannot be written: {error}"),
            )
        })
    }

    fn replace_file(&self) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        create_private_dir(directory)?;
        let document = Document {
            version: VERSION,
            folders: self.folders.clone(),
        };
        // Readable by its owner only from its first moment.
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer_pretty(&mut file, &document)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// A folder by its one true path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folder(String);

impl Folder {
    pub(crate) fn new(path: &Path) -> Result<Self, Failure> {
        let cannot = |reason: &str| {
            let path = path.display();
            Failure::new(Exit::Configuration, format!("{path}: {reason}"))
        };
        let absolute = fs::canonicalize(path)
            .map_err(|error| cannot(&format!("the folder cannot be used: {error}")))?;
        if !absolute.is_dir() {
            return Err(cannot("is not a folder"));
        }
        match absolute.into_os_string().into_string() {
            Ok(text) => Ok(Self(text)),
            Err(_) => Err(cannot("the folder's path is not UTF-8")),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.0)
    }
}

fn read(path: &Path, text: &str) -> Result<BTreeMap<String, Vec<Trusted>>, Failure> {
    let document: Document =
        serde_json::from_str(text).map_err(|error| unusable(path, &error.to_string()))?;
    if document.version == VERSION {
        Ok(document.folders)
    } else {
        let reason = format!("version {} is not known", document.version);
        Err(unusable(path, &reason))
    }
}

fn unusable(path: &Path, reason: &str) -> Failure {
    let path = path.display();
    Failure::new(
        Exit::Configuration,
        format!("{path}: what is trusted cannot be read: {reason}"),
    )
    .with_hint("remove the file to trust nothing")
}

fn create_private_dir(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
