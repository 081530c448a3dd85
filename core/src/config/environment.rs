//! The environment that names are looked up in.
//!
//! It comes from a provider because hosts in other languages see another environment than this library does: the JVM
//! and .NET keep their own copy. It is read anew at every start, so that a server started later sees what is set then.

use std::ffi::{OsStr, OsString};
use std::fmt;

/// Gives the environment of the host.
pub trait EnvironmentProvider: Send + Sync {
    /// All variables as they are now.
    fn variables(&self) -> Vec<(OsString, OsString)>;
}

/// The environment of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostEnvironment;

impl EnvironmentProvider for HostEnvironment {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the provider that everything else goes through"
    )]
    fn variables(&self) -> Vec<(OsString, OsString)> {
        std::env::vars_os().collect()
    }
}

/// Variables that were given once: for tests, and for hosts that hand over a copy of theirs.
#[derive(Clone, Default)]
pub struct FixedEnvironment {
    variables: Vec<(OsString, OsString)>,
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for FixedEnvironment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self {
            variables: variables
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        }
    }
}

impl EnvironmentProvider for FixedEnvironment {
    fn variables(&self) -> Vec<(OsString, OsString)> {
        self.variables.clone()
    }
}

impl fmt::Debug for FixedEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.variables.iter().map(|(name, _)| name))
            .finish()
    }
}

/// How names of variables are compared, and which ones a server gets unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux and other systems like it.
    Posix,
    /// macOS.
    Mac,
    /// Windows, where `Path` and `PATH` are one variable.
    Windows,
}

impl Platform {
    /// The platform this library was built for.
    pub const CURRENT: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::Mac
    } else {
        Self::Posix
    };

    /// Whether two names mean one variable.
    #[must_use]
    pub fn same_name(self, one: &OsStr, other: &OsStr) -> bool {
        match self {
            Self::Posix | Self::Mac => one == other,
            Self::Windows => one.eq_ignore_ascii_case(other),
        }
    }
}

/// The environment at one moment.
#[derive(Clone)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
    platform: Platform,
}

impl Environment {
    /// Reads the provider.
    #[must_use]
    pub fn read(provider: &dyn EnvironmentProvider) -> Self {
        Self {
            variables: provider.variables(),
            platform: Platform::CURRENT,
        }
    }

    /// The same for another platform than the one this library was built for.
    #[must_use]
    pub fn with_platform(mut self, platform: Platform) -> Self {
        self.platform = platform;
        self
    }

    /// The platform whose rules it follows.
    #[must_use]
    pub fn platform(&self) -> Platform {
        self.platform
    }

    /// All variables.
    #[must_use]
    pub fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    /// The value of one variable.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        let same =
            |(other, _): &&(OsString, OsString)| self.platform.same_name(other, OsStr::new(name));
        self.variables
            .iter()
            .find(same)
            .map(|(_, value)| value.as_os_str())
    }

    /// The directory that `~` stands for.
    #[must_use]
    pub fn home(&self) -> Option<&OsStr> {
        let name = if self.platform == Platform::Windows {
            "USERPROFILE"
        } else {
            "HOME"
        };
        self.value(name).filter(|home| !home.is_empty())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.variables.iter().map(|(name, _)| name))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_case_except_on_windows() {
        let fixed: FixedEnvironment = [("Path", "p"), ("HOME", "h"), ("USERPROFILE", "u")]
            .into_iter()
            .collect();
        let on = |platform| Environment::read(&fixed).with_platform(platform);
        assert_eq!(on(Platform::Posix).value("PATH"), None);
        assert_eq!(on(Platform::Windows).value("PATH"), Some(OsStr::new("p")));
        assert_eq!(on(Platform::Mac).home(), Some(OsStr::new("h")));
        assert_eq!(on(Platform::Windows).home(), Some(OsStr::new("u")));
    }

    #[test]
    fn only_names_are_printed() {
        let fixed: FixedEnvironment = [("TOKEN", "canary")].into_iter().collect();
        assert_eq!(
            format!("{fixed:?} {:?}", Environment::read(&fixed)),
            r#"{"TOKEN"} {"TOKEN"}"#
        );
    }

    #[test]
    fn the_host_has_a_search_path() {
        assert!(Environment::read(&HostEnvironment).value("PATH").is_some());
    }
}
