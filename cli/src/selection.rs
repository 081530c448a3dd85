//! Which configuration is used: a file that was named, or the user's layer under the folder's own.
//!
//! What a folder's own files would start is left out here unless it is trusted, so nothing behind
//! this can start it by mistake.

use std::io;
use std::path::{Path, PathBuf};

use mcp_resident::Environment;
use mcp_resident::config::{
    ConfigError, ParseOptions, ParsedConfig, ServerDefinition, layer, parse, without_untrusted,
};
use serde::Serialize;

use crate::arguments::{ConfigArguments, LayerArguments};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::places;
use crate::trust_store::{Folder, TrustStore};

/// The user's file, in the user's folder.
const USER_FILE: &str = "mcp.json";
/// A folder's files, the later one over the earlier one.
const PROJECT_FILES: [&str; 2] = [".mcp.json", "mcp.json"];

/// The configuration that is used.
#[derive(Debug)]
pub(crate) struct Selection {
    /// The files that were looked for, the lowest layer first.
    pub(crate) files: Vec<ConfigFile>,
    /// What may be started.
    pub(crate) config: ParsedConfig,
    /// What would be started if it were trusted.
    pub(crate) untrusted: Vec<ServerDefinition>,
    /// What relative paths are relative to, for entries without their own.
    pub(crate) base_dir: PathBuf,
}

/// One file that was looked for.
#[derive(Debug, Serialize)]
pub(crate) struct ConfigFile {
    pub(crate) path: PathBuf,
    pub(crate) layer: Layer,
    pub(crate) found: bool,
}

/// Why a file counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Layer {
    /// It was named on the command line.
    Named,
    /// It is the user's own.
    User,
    /// It is in the folder.
    Project,
}

impl Selection {
    pub(crate) fn read(
        arguments: &ConfigArguments,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        match &arguments.config {
            Some(path) => Self::named(path),
            None => Self::layered(&arguments.layers, environment),
        }
    }

    fn named(path: &Path) -> Result<Self, Failure> {
        let config = parse(path.into(), &ParseOptions::default())?;
        let base_dir = std::path::absolute(path)
            .ok()
            .and_then(|path| path.parent().map(Path::to_owned))
            .unwrap_or_else(|| PathBuf::from("."));
        let file = ConfigFile {
            path: path.to_owned(),
            layer: Layer::Named,
            found: true,
        };
        Ok(Self {
            files: vec![file],
            config,
            untrusted: Vec::new(),
            base_dir,
        })
    }

    /// The user's file with the folder's files over it.
    pub(crate) fn layered(
        arguments: &LayerArguments,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let user_dir = match &arguments.user_config_dir {
            Some(directory) => absolute(directory)?,
            None => places::config_dir(environment)?,
        };
        let folder = project_folder(arguments)?;
        let mut files = Vec::new();
        let mut config = ParsedConfig::default();
        let mut untrusted = Vec::new();
        if let Some(user) = read_layer(Layer::User, &user_dir, USER_FILE, &mut files)? {
            config = user;
        }
        for name in PROJECT_FILES {
            if let Some(project) = read_layer(Layer::Project, folder.path(), name, &mut files)? {
                let store = TrustStore::open(environment)?;
                let (project, refused) = without_untrusted(project, &config, |definition| {
                    store.is_trusted(&folder, definition)
                });
                // Of two files of the folder the later one counts.
                untrusted.retain(|earlier: &ServerDefinition| {
                    refused.iter().all(|later| later.name != earlier.name)
                });
                untrusted.extend(refused);
                config = layer(config, project);
            }
        }
        if files.iter().all(|file| !file.found) {
            let places: Vec<_> = files.iter().map(|file| file.path.display()).collect();
            let places: Vec<_> = places.iter().map(ToString::to_string).collect();
            let message = format!(
                "there is no configuration; looked for {}",
                places.join(", ")
            );
            return Err(Failure::new(Exit::Configuration, message)
                .with_hint("create one of them, or name a file with --config"));
        }
        Ok(Self {
            files,
            config,
            untrusted,
            base_dir: folder.path().to_owned(),
        })
    }
}

/// The folder whose own files count.
pub(crate) fn project_folder(arguments: &LayerArguments) -> Result<Folder, Failure> {
    Folder::new(arguments.project.as_deref().unwrap_or(Path::new(".")))
}

fn read_layer(
    layer: Layer,
    directory: &Path,
    name: &str,
    files: &mut Vec<ConfigFile>,
) -> Result<Option<ParsedConfig>, Failure> {
    let path = directory.join(name);
    let parsed = match parse(path.as_path().into(), &ParseOptions::default()) {
        Err(ConfigError::Unreadable {
            kind: io::ErrorKind::NotFound,
            ..
        }) => None,
        parsed => Some(parsed?),
    };
    files.push(ConfigFile {
        path,
        layer,
        found: parsed.is_some(),
    });
    Ok(parsed.map(|mut config| {
        for entry in &mut config.servers {
            if let Ok(definition) = &mut entry.definition {
                definition.base_dir = Some(directory.to_owned());
            }
        }
        config
    }))
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| {
        let path = path.display();
        Failure::new(
            Exit::Configuration,
            format!("{path}: the folder cannot be used: {error}"),
        )
    })
}
