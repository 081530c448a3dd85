//! Colours, and text that is safe to show on a terminal.

use std::borrow::Cow;

use mcp_resident::Environment;

/// Whether a stream gets colours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    on: bool,
}

/// The few looks that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
    Odd,
}

impl Style {
    pub(crate) const PLAIN: Self = Self { on: false };

    /// Colours for a terminal that can show them, unless `NO_COLOR` is set.
    pub(crate) fn for_terminal(is_terminal: bool, environment: &Environment) -> Self {
        let value = |name| environment.value(name).filter(|value| !value.is_empty());
        let wanted = value("NO_COLOR").is_none();
        let able = value("TERM").is_some_and(|term| term != "dumb");
        Self {
            on: is_terminal && wanted && able,
        }
    }

    pub(crate) fn paint(self, look: Look, text: &str) -> String {
        let code = match look {
            Look::Bold => "1",
            Look::Dim => "2",
            Look::Good => "32",
            Look::Bad => "31",
            Look::Odd => "33",
            Look::Plain => return text.to_owned(),
        };
        if self.on {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// The text without characters that steer a terminal: what servers say is not trusted to do that.
/// Line breaks and tabs stay.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let steers = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_direction_mark(c);
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().map(|c| if steers(c) { '\u{fffd}' } else { c });
    Cow::Owned(shown.collect())
}

/// The same on one line.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    harmless(&words.join(" ")).into_owned()
}

/// Characters that show the text after them in another order.
fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use mcp_resident::FixedEnvironment;

    use super::*;

    #[test]
    fn colours_are_for_a_terminal_that_wants_them() {
        let painted = |is_terminal, variables: &[(&str, &str)]| {
            let fixed: FixedEnvironment = variables.iter().copied().collect();
            let style = Style::for_terminal(is_terminal, &Environment::read(&fixed));
            style.paint(Look::Bad, "x")
        };
        let term = ("TERM", "xterm");
        assert_eq!(painted(true, &[term]), "\x1b[31mx\x1b[0m");
        assert_eq!(painted(true, &[term, ("NO_COLOR", "")]), "\x1b[31mx\x1b[0m");
        assert_eq!(painted(true, &[term, ("NO_COLOR", "1")]), "x");
        assert_eq!(painted(true, &[("TERM", "dumb")]), "x");
        assert_eq!(painted(true, &[]), "x");
        assert_eq!(painted(false, &[term]), "x");
    }

    #[test]
    fn what_a_server_says_cannot_steer_the_terminal() {
        assert_eq!(harmless("a\n\tb"), "a\n\tb");
        assert_eq!(harmless("\x1b[2Ja\u{202e}"), "\u{fffd}[2Ja\u{fffd}");
        assert_eq!(one_line(" a\n  b\tc "), "a b c");
    }
}
