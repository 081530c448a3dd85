//! The files of a session, one laid over the other, read anew whenever they may have changed (SPEC 7.1).

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::options::{ProjectServer, ProjectTrust, SessionOptions};
use crate::config::{
    ConfigError, ConfigProblem, ParseOptions, ParsedConfig, ServerDefinition, launch_line, layer,
    parse, without_untrusted,
};

/// What each file said when it could last be read: a typing error in a file takes no tools away.
#[derive(Debug, Default)]
pub(super) struct Layers {
    last: Mutex<[ParsedConfig; 2]>,
    untrusted: Mutex<Vec<ProjectServer>>,
}

impl Layers {
    /// Reads both files. What cannot be used, and what is not trusted, is a problem of what this returns.
    pub(super) fn read(&self, options: &SessionOptions, trust: &ProjectTrust) -> ParsedConfig {
        let files = [&options.user_config, &options.project_config];
        let read = files.map(|file| {
            file.as_deref()
                .map_or_else(|| Ok(ParsedConfig::default()), read_file)
        });
        let mut problems = Vec::new();
        let [user, project] = {
            let mut last = lock(&self.last);
            for (kept, read) in last.iter_mut().zip(read) {
                match read {
                    Ok(config) => *kept = config,
                    Err(error) => problems.push(whole_file(&error)),
                }
            }
            last.clone()
        };
        let (project, refused) =
            without_untrusted(project, &user, |definition| trust.allows(definition));
        problems.extend(refused.iter().map(not_trusted));
        *lock(&self.untrusted) = refused.iter().map(ProjectServer::of).collect();
        let mut config = layer(user, project);
        config.warnings.extend(problems);
        config
    }

    /// What the project's file would start and the host did not allow, when the files were last read.
    pub(super) fn untrusted(&self) -> Vec<ProjectServer> {
        lock(&self.untrusted).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is not there has no servers.
fn read_file(path: &Path) -> Result<ParsedConfig, ConfigError> {
    match parse(path.into(), &ParseOptions::default()) {
        Err(ConfigError::Unreadable {
            kind: io::ErrorKind::NotFound,
            ..
        }) => Ok(ParsedConfig::default()),
        read => read,
    }
}

fn whole_file(error: &ConfigError) -> ConfigProblem {
    ConfigProblem {
        origin: None,
        position: None,
        server: None,
        field: None,
        reason: format!("{error}; its servers stay as they were"),
    }
}

fn not_trusted(definition: &ServerDefinition) -> ConfigProblem {
    ConfigProblem {
        origin: definition.origin.source.clone(),
        position: definition.origin.entry,
        server: Some(definition.name.clone()),
        field: None,
        reason: format!(
            "not started, because it is not trusted: {}",
            launch_line(definition)
        ),
    }
}
