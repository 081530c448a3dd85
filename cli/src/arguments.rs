//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use mcp_resident_fixtures::fake::FakeArguments;

use crate::call_arguments::Pair;
use crate::exit;

/// Checks, lists, calls and watches the MCP servers of an mcp.json.
#[derive(Debug, Parser)]
#[command(name = "mcp-resident", version, after_help = exit::help())]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Print results as JSON, one value a line.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check the configuration without starting anything.
    ///
    /// Shows what each server would start, where each field was written, and what is wrong.
    #[command(after_help = exit::help())]
    Check(ConfigArguments),

    /// Allow a folder's own servers to be started.
    ///
    /// What a folder's .mcp.json and mcp.json define is a stranger's choice of programs, so it is
    /// started only after you have seen and trusted it here. An entry that changes what it starts
    /// has to be trusted again.
    #[command(after_help = exit::help())]
    Trust(TrustArguments),

    /// List the tools of all servers.
    #[command(after_help = exit::help())]
    Tools(ConfigArguments),

    /// Call one tool and print its result.
    #[command(after_help = exit::help())]
    Call(CallArguments),

    /// Run all servers and carry out commands line by line.
    ///
    /// Lists tools, calls them, shows what happens to servers, and follows the configuration: `help`
    /// lists the commands. Ends with the input, `quit` or Ctrl-C.
    #[command(after_help = exit::help())]
    Run(ConfigArguments),

    /// Run all servers and show live how they are.
    ///
    /// Servers that are lost are started again and lists that change are followed, until Ctrl-C.
    #[command(after_help = exit::help())]
    Watch(ConfigArguments),

    /// See a server being killed, changed and closed, without a configuration or a network.
    #[command(after_help = exit::help())]
    Demo,

    /// Print the completions of a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },

    /// Be the scripted server of the demo and the tests.
    #[command(hide = true)]
    Fake(FakeArguments),
}

/// Which configuration is used.
///
/// Either one named file, or the user's own mcp.json with the folder's .mcp.json and mcp.json over
/// it.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigArguments {
    /// Use only this file, and trust it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["project", "user_config_dir"])]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) layers: LayerArguments,
}

/// Where the two layers are.
#[derive(Debug, Clone, Args)]
pub(crate) struct LayerArguments {
    /// The folder whose .mcp.json and mcp.json are used [default: the current one].
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,

    /// The folder of the user's own mcp.json [default: mcp-resident in XDG_CONFIG_HOME or ~/.config].
    #[arg(long, value_name = "DIR")]
    pub(crate) user_config_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArguments {
    /// Only these servers.
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,

    /// Do not ask.
    #[arg(long, short, conflicts_with_all = ["list", "revoke"])]
    pub(crate) yes: bool,

    /// List what is trusted, in all folders.
    #[arg(long, conflicts_with_all = ["revoke", "servers"])]
    pub(crate) list: bool,

    /// Take the trust back.
    #[arg(long)]
    pub(crate) revoke: bool,

    #[command(flatten)]
    pub(crate) layers: LayerArguments,
}

#[derive(Debug, Args)]
pub(crate) struct CallArguments {
    /// The tool, by its name in `mcp-resident tools`.
    pub(crate) tool: String,

    /// Arguments: a text, or what the tool's schema says (a number, a boolean, JSON).
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) pairs: Vec<Pair>,

    /// All arguments as a JSON object; KEY=VALUE is laid over it.
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,

    /// How long the server may be silent, in milliseconds [default: the server's own].
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub(crate) timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) config: ConfigArguments,
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a whole number of milliseconds above 0".to_owned()),
        Ok(milliseconds) => Ok(Duration::from_millis(milliseconds)),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
