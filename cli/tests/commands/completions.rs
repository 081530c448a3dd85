//! `completions`.

use crate::support::Home;

#[test]
fn each_shell_gets_its_script() {
    let home = Home::new();
    for (shell, mark) in [
        ("bash", "complete -F _mcp__resident"),
        ("zsh", "#compdef mcp-resident"),
        ("fish", "complete -c mcp-resident"),
    ] {
        let ran = home.run(["completions", shell]).ended_with(0).said("");
        assert!(ran.out.contains(mark), "{}", ran.out);
        for command in ["check", "trust", "tools", "call", "watch", "demo"] {
            assert!(ran.out.contains(command), "{shell}: {command}");
        }
        assert!(!ran.out.contains("fake"), "{}", ran.out);
    }
}

#[test]
fn bash_reads_its_script() {
    let home = Home::new();
    let script = home.run(["completions", "bash"]).out;
    let file = home.write("completions.bash", &script);
    let read = std::process::Command::new("bash")
        .arg("-n")
        .arg(file)
        .output();
    // Not every machine has it.
    if let Ok(read) = read {
        assert!(read.status.success(), "{read:?}");
    }
}

#[test]
fn another_shell_is_refused() {
    let ran = Home::new().run(["completions", "tcsh"]).ended_with(2);
    assert!(ran.err.contains("possible values: bash"), "{ran:?}");
}
