//! Explaining why a program did not start: one system error has many causes.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use crate::{ProgramError, SpawnError, find_program, program};

/// How much of a script's first line is read, in bytes; Linux itself reads 256.
const FIRST_LINE_BYTES: u64 = 256;

/// Turns the system's error into one that says what is wrong and what to do.
pub(crate) fn explain(program: &Path, directory: &Path, source: io::Error) -> SpawnError {
    if let Some(error) = explain_directory(directory) {
        return error;
    }
    let path = directory.join(program);
    let program = program.to_owned();
    match source.raw_os_error() {
        Some(libc::E2BIG) => SpawnError::ArgumentsTooLong(program),
        Some(libc::ENOEXEC) => SpawnError::UnknownFormat(program),
        Some(libc::ENOENT | libc::EACCES | libc::ENOTDIR) => match program::check(&path) {
            Err(Some(error)) => error.into(),
            Err(None) => ProgramError::NotFound {
                name: program.into_os_string(),
                searched: None,
            }
            .into(),
            Ok(()) => match interpreter_line(&path) {
                Some(words) => SpawnError::InterpreterMissing {
                    program,
                    interpreter: words.file,
                },
                None if source.raw_os_error() == Some(libc::ENOENT) => {
                    SpawnError::LoaderMissing(program)
                }
                None => SpawnError::System { program, source },
            },
        },
        _ => SpawnError::System { program, source },
    }
}

fn explain_directory(directory: &Path) -> Option<SpawnError> {
    let denied = || SpawnError::DirectoryDenied(directory.to_owned());
    match std::fs::metadata(directory) {
        Ok(metadata) if !metadata.is_dir() => Some(SpawnError::NotADirectory(directory.to_owned())),
        Ok(_) => (!crate::sys::is_executable(directory)).then(denied),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Some(denied()),
        Err(_) => Some(SpawnError::DirectoryMissing(directory.to_owned())),
    }
}

/// Finds before the start what would only show as exit code 127: a script that asks `env` for an
/// interpreter which is not in the child's PATH.
pub(crate) fn check_env_script(
    program: &Path,
    environment: &[(OsString, OsString)],
    directory: &Path,
) -> Result<(), SpawnError> {
    let Some(line) = interpreter_line(&directory.join(program)) else {
        return Ok(());
    };
    let Some(wanted) = line.wanted_from_env() else {
        return Ok(());
    };
    let path = environment
        .iter()
        .rev()
        .find(|(name, _)| name == "PATH")
        .map(|(_, path)| path);
    // Without PATH each system searches a list of its own, and a relative entry is searched by
    // `env` alone.
    let Some(path) =
        path.filter(|path| std::env::split_paths(path).all(|entry| entry.is_absolute()))
    else {
        return Ok(());
    };
    find_program(wanted, Some(path), directory)
        .map(drop)
        .map_err(|_| SpawnError::InterpreterMissing {
            program: program.to_owned(),
            interpreter: wanted.to_owned(),
        })
}

/// The first line of a script.
struct InterpreterLine {
    file: OsString,
    arguments: Vec<OsString>,
}

impl InterpreterLine {
    /// The plain name that `env` is asked to run, if the line is that simple.
    fn wanted_from_env(&self) -> Option<&OsStr> {
        if Path::new(&self.file).file_name() != Some(OsStr::new("env")) {
            return None;
        }
        let first = match self.arguments.first()?.as_bytes() {
            b"-S" => self.arguments.get(1)?,
            _ => &self.arguments[0],
        };
        let bytes = first.as_bytes();
        let is_plain = !bytes.starts_with(b"-") && !bytes.contains(&b'=') && !bytes.contains(&b'/');
        is_plain.then_some(first)
    }
}

fn interpreter_line(path: &Path) -> Option<InterpreterLine> {
    let mut head = Vec::new();
    // Opening a named pipe would wait for a writer.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    File::open(path)
        .ok()?
        .take(FIRST_LINE_BYTES)
        .read_to_end(&mut head)
        .ok()?;
    let line = head
        .strip_prefix(b"#!")?
        .split(|&byte| byte == b'\n')
        .next()?;
    let mut words = line
        .split(|&byte| byte == b' ' || byte == b'\t')
        .filter(|word| !word.is_empty())
        .map(|word| OsStr::from_bytes(word).to_owned());
    Some(InterpreterLine {
        file: words.next()?,
        arguments: words.collect(),
    })
}
