//! `--help`, and output without colours.

use serde_json::json;

use crate::support::Home;

#[test]
fn exit_codes_are_documented_at_every_command() {
    let home = Home::new();
    for command in ["", "check", "trust", "tools", "call", "watch", "demo"] {
        let words = [command, "--help"];
        let ran = home
            .run(words.iter().filter(|word| !word.is_empty()))
            .ended_with(0);
        assert!(ran.out.contains("Exit codes:\n  0  "), "{command}: {ran:?}");
        assert!(ran.out.contains("\n  6  cancelled"), "{command}: {ran:?}");
    }
    let ran = home.run(["--help"]);
    assert!(!ran.out.contains("fake"), "{ran:?}");
    let ran = home.run(["--version"]).ended_with(0);
    assert_eq!(
        ran.out,
        format!("mcp-resident {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn what_is_not_shown_on_a_terminal_has_no_colours() {
    let home = Home::with_servers(json!({"s": {"command": "no-such-program"}}));
    for command in ["check", "tools"] {
        let ran = home.run([command]);
        assert!(!(ran.out + &ran.err).contains('\x1b'));
    }
}
