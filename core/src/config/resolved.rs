//! What is started. It holds secrets, so only names are ever printed of it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

use http::HeaderMap;

use super::env_scope::Inherit;
use super::environment::Platform;
use super::problem::ConfigProblem;
use super::redact::Redactor;

/// What is started, with what is needed to talk about it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Resolved {
    /// What is started.
    pub server: ResolvedServer,
    /// Knows every secret in it.
    pub redactor: Redactor,
    /// What looks like a reference and is none. The same definition gives the same ones each time.
    pub warnings: Vec<ConfigProblem>,
}

/// What is started. Two equal ones are the same server.
#[derive(Clone, PartialEq, Eq)]
pub enum ResolvedServer {
    /// A child process.
    Stdio {
        /// A name to look up in the `PATH` of `environment`, or an absolute path.
        program: OsString,
        /// Its arguments.
        args: Vec<String>,
        /// Its whole environment.
        environment: Vec<(OsString, OsString)>,
        /// The directory it runs in; it may not exist.
        directory: PathBuf,
        /// What `environment` took over from the host.
        inherit: Inherit,
    },
    /// A remote server.
    Remote {
        /// The address; its scheme is `http` or `https`.
        url: String,
        /// Sent with every request; every value is marked sensitive.
        headers: HeaderMap,
        /// Which transport is tried first.
        kind: RemoteKind,
        /// Whether HTTP with SSE is tried when streamable HTTP is refused.
        legacy_sse_allowed: bool,
    },
}

impl ResolvedServer {
    /// Where a bare program name is looked up: the `PATH` of the child's own environment, however it is spelled.
    #[must_use]
    pub fn search_path(&self) -> Option<&OsStr> {
        let Self::Stdio { environment, .. } = self else {
            return None;
        };
        let is_path = |name: &OsStr| Platform::CURRENT.same_name(name, OsStr::new("PATH"));
        environment
            .iter()
            .find(|(name, _)| is_path(name))
            .map(|(_, value)| value.as_os_str())
    }
}

/// The transport of a remote server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteKind {
    /// Streamable HTTP.
    Http,
    /// HTTP with SSE as it was before.
    Sse,
}

impl fmt::Debug for ResolvedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio {
                args,
                environment,
                directory,
                inherit,
                ..
            } => {
                let names: Vec<_> = environment.iter().map(|(name, _)| name).collect();
                f.debug_struct("Stdio")
                    .field("args", &args.len())
                    .field("environment", &names)
                    .field("directory", directory)
                    .field("inherit", inherit)
                    .finish_non_exhaustive()
            }
            Self::Remote {
                headers,
                kind,
                legacy_sse_allowed,
                ..
            } => {
                let names: Vec<_> = headers.keys().collect();
                f.debug_struct("Remote")
                    .field("headers", &names)
                    .field("kind", kind)
                    .field("legacy_sse_allowed", legacy_sse_allowed)
                    .finish_non_exhaustive()
            }
        }
    }
}
