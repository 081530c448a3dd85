//! Where the program finds and keeps things, by the XDG rules.

use std::path::{Path, PathBuf};

use mcp_resident::Environment;

use crate::exit::Exit;
use crate::failure::Failure;

/// The program's own folder below each base.
const OWN: &str = "mcp-resident";

/// The folder of the user's configuration.
pub(crate) fn config_dir(environment: &Environment) -> Result<PathBuf, Failure> {
    base(environment, "XDG_CONFIG_HOME", ".config").ok_or_else(|| {
        no_home("HOME is not set, so there is no place for the user's configuration")
            .with_hint("set HOME, or use --config or --user-config-dir")
    })
}

/// The folder of what the program remembers.
pub(crate) fn state_dir(environment: &Environment) -> Result<PathBuf, Failure> {
    base(environment, "XDG_STATE_HOME", ".local/state").ok_or_else(|| {
        no_home("HOME is not set, so there is no place for what is trusted")
            .with_hint("set HOME or XDG_STATE_HOME")
    })
}

/// The rules call a relative path invalid, to be ignored.
fn base(environment: &Environment, variable: &str, below_home: &str) -> Option<PathBuf> {
    let named = environment.value(variable).map(Path::new);
    named
        .filter(|path| path.is_absolute())
        .map(Path::to_owned)
        .or_else(|| Some(Path::new(environment.home()?).join(below_home)))
        .map(|base| base.join(OWN))
}

fn no_home(message: &str) -> Failure {
    Failure::new(Exit::Configuration, message)
}

#[cfg(test)]
mod tests {
    use mcp_resident::FixedEnvironment;

    use super::*;

    #[test]
    fn a_relative_base_is_ignored() {
        let dir = |variables: &[(&str, &str)]| {
            let fixed: FixedEnvironment = variables.iter().copied().collect();
            config_dir(&Environment::read(&fixed)).ok()
        };
        let home = ("HOME", "/h");
        assert_eq!(dir(&[home]), Some("/h/.config/mcp-resident".into()));
        assert_eq!(
            dir(&[home, ("XDG_CONFIG_HOME", "/x")]),
            Some("/x/mcp-resident".into())
        );
        assert_eq!(
            dir(&[home, ("XDG_CONFIG_HOME", "x")]),
            Some("/h/.config/mcp-resident".into())
        );
        assert_eq!(dir(&[]), None);
    }
}
