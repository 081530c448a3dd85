//! The commands of `run`, as they are typed.

use std::str::FromStr;

use crate::call_arguments::Pair;

/// What `help` says.
pub(super) const HELP: &str = "\
tools                        list the tools
call TOOL [KEY=VALUE ...]    call a tool; also: call TOOL {JSON}
servers                      show how each server is
start SERVER                 connect a server
stop SERVER                  disconnect it
restart SERVER               disconnect it and connect it again
reload                       read the configuration again, which is done when a file changes too
quit                         end";

/// One line of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    Nothing,
    Help,
    Tools,
    Servers,
    Call {
        tool: String,
        json: Option<String>,
        pairs: Vec<Pair>,
    },
    Start(String),
    Stop(String),
    Restart(String),
    Reload,
    Quit,
}

impl FromStr for Command {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let (verb, rest) = next_word(line);
        let server = |command: fn(String) -> Self| match words(rest)?.as_slice() {
            [server] => Ok(command(server.clone())),
            _ => Err(format!("`{verb}` needs the name of one server")),
        };
        match verb {
            "" => Ok(Self::Nothing),
            "help" | "?" => Ok(Self::Help),
            "tools" => Ok(Self::Tools),
            "servers" | "status" => Ok(Self::Servers),
            "call" => call(rest),
            "start" => server(Self::Start),
            "stop" => server(Self::Stop),
            "restart" => server(Self::Restart),
            "reload" => Ok(Self::Reload),
            "quit" | "exit" => Ok(Self::Quit),
            other => Err(format!("there is no command `{other}`; `help` lists them")),
        }
    }
}

/// JSON is taken as it is written; pairs are words, quoted as in a shell.
fn call(rest: &str) -> Result<Command, String> {
    let (tool, rest) = next_word(rest);
    if tool.is_empty() {
        return Err("`call` needs the name of a tool".to_owned());
    }
    let tool = tool.to_owned();
    if rest.starts_with('{') {
        let json = Some(rest.to_owned());
        let pairs = Vec::new();
        return Ok(Command::Call { tool, json, pairs });
    }
    let pairs: Result<_, _> = words(rest)?.iter().map(|word| word.parse()).collect();
    let pairs = pairs.map_err(|expected: String| format!("{tool}: {expected}"))?;
    let json = None;
    Ok(Command::Call { tool, json, pairs })
}

fn next_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

fn words(text: &str) -> Result<Vec<String>, String> {
    shlex::split(text).ok_or_else(|| "a quote is not closed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Command, String> {
        line.parse()
    }

    #[test]
    fn lines_are_commands() {
        assert_eq!(read("  "), Ok(Command::Nothing));
        assert_eq!(read("tools"), Ok(Command::Tools));
        assert_eq!(
            read("restart 'my server'"),
            Ok(Command::Restart("my server".to_owned()))
        );
        assert_eq!(
            read(r#"call s_echo text="two words""#),
            Ok(Command::Call {
                tool: "s_echo".to_owned(),
                json: None,
                pairs: vec!["text=two words".parse().unwrap()],
            })
        );
        assert_eq!(
            read(r#"call s_add {"a": 1e2}"#),
            Ok(Command::Call {
                tool: "s_add".to_owned(),
                json: Some(r#"{"a": 1e2}"#.to_owned()),
                pairs: vec![],
            })
        );
    }

    #[test]
    fn what_is_no_command_says_what_is_wrong() {
        for (line, part) in [
            ("dance", "no command `dance`"),
            ("stop", "needs the name of one server"),
            ("call", "needs the name of a tool"),
            ("call t x", "t: expected key=value"),
            ("call t 'x", "a quote is not closed"),
        ] {
            assert!(read(line).unwrap_err().contains(part), "{line}");
        }
    }
}
