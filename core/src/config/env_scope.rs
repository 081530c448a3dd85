//! Which variables a child process gets.
//!
//! A server is a stranger's program: unless it is told otherwise it gets a small base that programs need to run at
//! all, and what its entry names. Nothing here reads the environment of this process.

use std::ffi::{OsStr, OsString};

use super::environment::{Environment, Platform};

/// The groups that `inheritEnv` can name besides single variables.
pub(crate) const GROUPS: &[&str] = &["@network", "@all"];

/// Proxies and certificate authorities. Lower-case proxy names count where names have a case.
const NETWORK: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

const POSIX_BASE: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TERM",
    "TZ",
];

const MAC_EXTRA: &[&str] = &["__CF_USER_TEXT_ENCODING"];

const WINDOWS_BASE: &[&str] = &[
    "PATH",
    "PATHEXT",
    "COMSPEC",
    "SYSTEMROOT",
    "WINDIR",
    "SYSTEMDRIVE",
    "USERNAME",
    "USERDOMAIN",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "PROGRAMDATA",
    "LOCALAPPDATA",
    "APPDATA",
    "TEMP",
    "TMP",
];

/// What a child process inherits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inherit {
    /// Everything.
    All,
    /// The safe base and these names. `@network` stands for the proxy and certificate variables, `@all` for everything.
    Names(Vec<String>),
}

impl Inherit {
    /// Only the safe base.
    #[must_use]
    pub fn safe_base() -> Self {
        Self::Names(Vec::new())
    }

    /// From a configured list: none inherits everything.
    #[must_use]
    pub fn from_names(names: Option<&[String]>) -> Self {
        match names {
            Some(names) if !names.iter().any(|name| name == "@all") => Self::Names(names.to_vec()),
            _ => Self::All,
        }
    }
}

/// Whether a name with an `@` is a group.
pub(crate) fn is_known_group(name: &str) -> bool {
    GROUPS.contains(&name)
}

/// The names that every child process gets on a platform when its environment is narrowed.
#[must_use]
pub fn safe_base(platform: Platform) -> Vec<&'static str> {
    match platform {
        Platform::Posix => POSIX_BASE.to_vec(),
        Platform::Mac => [POSIX_BASE, MAC_EXTRA].concat(),
        Platform::Windows => WINDOWS_BASE.to_vec(),
    }
}

/// The whole environment of a child process: what it inherits, with `explicit` over it (none takes a variable away).
///
/// The order is the one of `host`, followed by what is new.
#[must_use]
pub fn child_environment(
    host: &Environment,
    inherit: &Inherit,
    explicit: &[(String, Option<String>)],
) -> Vec<(OsString, OsString)> {
    let platform = host.platform();
    let mut child: Vec<_> = host
        .variables()
        .iter()
        .filter(|(name, value)| is_inherited(platform, inherit, name, value))
        .cloned()
        .collect();
    for (name, value) in explicit {
        child.retain(|(other, _)| !platform.same_name(other, OsStr::new(name)));
        child.extend(value.as_ref().map(|value| (name.into(), value.into())));
    }
    child
}

fn is_inherited(platform: Platform, inherit: &Inherit, name: &OsStr, value: &OsStr) -> bool {
    let Inherit::Names(names) = inherit else {
        return true;
    };
    let is = |other: &str| platform.same_name(name, OsStr::new(other));
    let named = names.iter().any(|wanted| match wanted.as_str() {
        "@all" => true,
        "@network" => NETWORK.iter().any(|name| is(name)),
        wanted => is(wanted),
    });
    named || safe_base(platform).into_iter().any(is) && !is_exported_function(value)
}

/// Old shells export functions as variables that begin like this; running one is never what a server needs.
fn is_exported_function(value: &OsStr) -> bool {
    value.as_encoded_bytes().starts_with(b"()")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FixedEnvironment;

    fn host(platform: Platform, variables: &[(&str, &str)]) -> Environment {
        let fixed: FixedEnvironment = variables.iter().copied().collect();
        Environment::read(&fixed).with_platform(platform)
    }

    fn child(
        host: &Environment,
        inherit: &[&str],
        explicit: &[(&str, Option<&str>)],
    ) -> Vec<String> {
        let names = inherit.iter().map(|&name| name.to_owned()).collect();
        let explicit: Vec<_> = explicit
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.map(str::to_owned)))
            .collect();
        child_environment(host, &Inherit::Names(names), &explicit)
            .into_iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect()
    }

    const POSIX_HOST: &[(&str, &str)] = &[
        ("CANARY_SECRET", "canary-not-real"),
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/tmp/h"),
        ("LANG", "C.UTF-8"),
        ("HTTPS_PROXY", "http://127.0.0.1:1"),
        ("__CF_USER_TEXT_ENCODING", "0x1F5"),
        ("TERM", "() { :; }"),
        ("path", "lower"),
    ];

    #[test]
    fn a_narrowed_posix_child_gets_the_safe_base_and_what_is_named() {
        let host = host(Platform::Posix, POSIX_HOST);
        let base = ["PATH=/usr/bin:/bin", "HOME=/tmp/h", "LANG=C.UTF-8"];
        assert_eq!(child(&host, &[], &[]), base);
        assert_eq!(
            child(&host, &[], &[("MINE", Some("1"))]),
            [&base[..], &["MINE=1"]].concat()
        );
        assert_eq!(
            child(&host, &["CANARY_SECRET", "ABSENT"], &[])
                .first()
                .unwrap(),
            "CANARY_SECRET=canary-not-real"
        );
        assert_eq!(
            child(&host, &["@network"], &[]).last().unwrap(),
            "HTTPS_PROXY=http://127.0.0.1:1"
        );
        assert_eq!(child(&host, &["@all"], &[]).len(), POSIX_HOST.len());
    }

    #[test]
    fn explicit_values_win_and_none_takes_a_variable_away() {
        let host = host(Platform::Posix, POSIX_HOST);
        assert_eq!(
            child(&host, &[], &[("PATH", Some("/tmp/only")), ("LANG", None)]),
            ["HOME=/tmp/h", "PATH=/tmp/only"]
        );
    }

    #[test]
    fn a_mac_child_also_gets_its_text_encoding() {
        assert!(
            child(&host(Platform::Mac, POSIX_HOST), &[], &[])
                .contains(&"__CF_USER_TEXT_ENCODING=0x1F5".to_owned())
        );
    }

    #[test]
    fn windows_names_have_no_case() {
        let host = host(
            Platform::Windows,
            &[
                ("Path", "C:\\bin"),
                ("SystemRoot", "C:\\Windows"),
                ("ProgramFiles(x86)", "C:\\P"),
                ("HOME", "x"),
                ("https_proxy", "p"),
            ],
        );
        let base = [
            "Path=C:\\bin",
            "SystemRoot=C:\\Windows",
            "ProgramFiles(x86)=C:\\P",
        ];
        assert_eq!(child(&host, &[], &[]), base);
        assert_eq!(child(&host, &["home"], &[]).last().unwrap(), "HOME=x");
        assert_eq!(
            child(&host, &["@network"], &[]).last().unwrap(),
            "https_proxy=p"
        );
        assert_eq!(
            child(&host, &[], &[("PATH", Some("C:\\only"))]),
            [base[1], base[2], "PATH=C:\\only"]
        );
        assert_eq!(child(&host, &[], &[("pAtH", None)]), base[1..]);
    }

    #[test]
    fn everything_is_inherited_by_default_or_by_name() {
        let host = host(Platform::Posix, POSIX_HOST);
        assert_eq!(
            child_environment(&host, &Inherit::from_names(None), &[]),
            host.variables()
        );
        assert_eq!(
            Inherit::from_names(Some(&["@all".to_owned()])),
            Inherit::All
        );
        assert_eq!(Inherit::from_names(Some(&[])), Inherit::safe_base());
    }
}
