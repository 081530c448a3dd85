//! Why a process was not started, said so that the user knows what to change.

use std::{ffi::OsString, io, path::PathBuf};

use thiserror::Error;

use crate::ProgramError;

/// Why a process was not started. Neither arguments nor environment values are part of any message.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The working directory does not exist.
    #[error("working directory {0:?} does not exist; create it or correct the path")]
    DirectoryMissing(PathBuf),
    /// The working directory is a file.
    #[error("working directory {0:?} is not a directory; correct the path")]
    NotADirectory(PathBuf),
    /// The working directory may not be entered.
    #[error("working directory {0:?} may not be entered; check its permissions")]
    DirectoryDenied(PathBuf),
    /// The program is missing or cannot be run.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The program is a bare name, which would be ambiguous.
    #[error("program {0:?} is a bare name; look it up in PATH first or use an absolute path")]
    BareName(PathBuf),
    /// The program is a script whose interpreter does not exist.
    #[error(
        "interpreter {interpreter:?} of script {program:?} was not found; install it, add it to PATH, or name it as the command"
    )]
    InterpreterMissing {
        /// The script.
        program: PathBuf,
        /// The interpreter as the script's first line names it.
        interpreter: OsString,
    },
    /// The program exists, but what the system needs to load it does not.
    #[error("the loader of program {0:?} is missing; it was probably built for another system")]
    LoaderMissing(PathBuf),
    /// The system does not know the program's format.
    #[error(
        "program {0:?} has a format this system cannot run; use a build for this system, or start a script with a \"#!\" line"
    )]
    UnknownFormat(PathBuf),
    /// Arguments and environment are larger than the system allows.
    #[error(
        "arguments and environment of program {0:?} are too long for this system; shorten them"
    )]
    ArgumentsTooLong(PathBuf),
    /// A text that must not contain a NUL byte does.
    #[error("{0} of the program contains a NUL byte; remove it")]
    NulByte(&'static str),
    /// The guardian could not be started or told about the process.
    #[error("the guardian shell could not be used: {0}; check /bin/sh or turn the guardian off")]
    Guardian(#[source] io::Error),
    /// The calling task runs on no Tokio runtime.
    #[error("no asynchronous runtime is running; start processes from within one")]
    NoRuntime,
    /// The host forked after the engine was created; threads do not survive a fork.
    #[error(
        "this process was forked from the one that owns the engine; create a new engine after the fork"
    )]
    Forked,
    /// The engine is ending.
    #[error("the process engine has ended; create a new one")]
    EngineEnded,
    /// Processes cannot be started on this platform.
    #[error(
        "starting processes is not supported on this platform yet; use a server that is reached by URL"
    )]
    Unsupported,
    /// Any other failure of the system.
    #[error("program {program:?} could not be started: {source}")]
    System {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
