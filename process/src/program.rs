//! Finding the file that a command names.
//!
//! The search follows the child's PATH, not the host's, and never the current directory.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

use thiserror::Error;

/// Why a command names no file that can be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// No directory of PATH holds the name, or the path does not exist.
    #[error("program {name:?} was not found{}", describe_search(searched))]
    NotFound {
        /// The name as it was given.
        name: OsString,
        /// The directories that were searched; `None` for a name with a slash, which is not
        /// searched.
        searched: Option<Vec<PathBuf>>,
    },
    /// The path is a directory.
    #[error("{path:?} is a directory, not a program; name the file to run")]
    IsDirectory {
        /// The path that was tried.
        path: PathBuf,
    },
    /// The path leads through a directory that may not be entered.
    #[error("{path:?} cannot be reached; check the permissions of the directories above it")]
    Unreachable {
        /// The path that was tried.
        path: PathBuf,
    },
    /// The file exists and may not be executed.
    #[error(
        "{path:?} is not executable; set its execute permission or name the interpreter as the command"
    )]
    NotExecutable {
        /// The path that was tried.
        path: PathBuf,
    },
}

/// Finds the file for `name`: a name with a slash is taken from `directory`, a bare name is looked
/// up in `path`.
///
/// Empty and relative entries of `path` are skipped, so that no working directory can supply a
/// program.
///
/// # Errors
///
/// [`ProgramError`] says whether nothing was found, or only a directory or a file without execute
/// permission.
pub fn find_program(
    name: &OsStr,
    path: Option<&OsStr>,
    directory: &Path,
) -> Result<PathBuf, ProgramError> {
    if name
        .as_encoded_bytes()
        .iter()
        .any(|&byte| std::path::is_separator(char::from(byte)))
    {
        let candidate = directory.join(name);
        return check(&candidate).map(|()| candidate).map_err(|unusable| {
            unusable.unwrap_or_else(|| ProgramError::NotFound {
                name: name.to_owned(),
                searched: None,
            })
        });
    }

    let searched: Vec<PathBuf> = path
        .map(|path| {
            std::env::split_paths(path)
                .filter(|entry| entry.is_absolute())
                .collect()
        })
        .unwrap_or_default();
    let mut first_unusable = None;
    if !matches!(name.as_encoded_bytes(), b"" | b"." | b"..") {
        for entry in &searched {
            let candidate = entry.join(name);
            match check(&candidate) {
                Ok(()) => return Ok(candidate),
                // An entry of PATH that is closed to this user says nothing about the program.
                Err(None | Some(ProgramError::Unreachable { .. })) => {}
                Err(unusable) => first_unusable = first_unusable.or(unusable),
            }
        }
    }
    Err(first_unusable.unwrap_or_else(|| ProgramError::NotFound {
        name: name.to_owned(),
        searched: Some(searched),
    }))
}

/// Fails with `None` when there is nothing at `path`, and with the reason when what is there cannot
/// be run.
pub(crate) fn check(path: &Path) -> Result<(), Option<ProgramError>> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(Some(ProgramError::IsDirectory {
            path: path.to_owned(),
        })),
        Ok(_) if is_executable(path) => Ok(()),
        Ok(_) => Err(Some(ProgramError::NotExecutable {
            path: path.to_owned(),
        })),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(Some(ProgramError::Unreachable {
                path: path.to_owned(),
            }))
        }
        Err(_) => Err(None),
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    crate::sys::is_executable(path)
}

#[cfg(not(unix))]
fn is_executable(_path: &Path) -> bool {
    true
}

fn describe_search(searched: &Option<Vec<PathBuf>>) -> String {
    match searched.as_deref() {
        None => "; check the path".to_owned(),
        Some([]) => {
            ": its PATH names no absolute directory; use an absolute path or set PATH".to_owned()
        }
        Some(directories) => {
            let list: Vec<String> = directories
                .iter()
                .map(|entry| entry.display().to_string())
                .collect();
            format!(
                ": searched {}; use an absolute path or add its directory to PATH",
                list.join(", ")
            )
        }
    }
}
