//! `tools`.

use std::process::Stdio;

use serde_json::json;

use crate::support::{Home, Running, fake};

#[test]
fn the_tools_of_all_servers_are_listed() {
    let mut lazy = fake(json!({"tools": [{"name": "later", "inputSchema": {"type": "object"}}]}));
    lazy["lazy"] = json!(true);
    let tools = json!([
        {"name": "first", "description": "Does\n \u{1b}[2Jthis.", "title": "First", "inputSchema": {"type": "object"}},
        {"name": "second one", "inputSchema": {"properties": {"n": {"maximum": 1e2}}}},
    ]);
    let home = Home::with_servers(json!({ "s": fake(json!({"tools": tools})), "l": lazy }));
    let ran = home.run(["tools"]).ended_with(0).said("");
    assert_eq!(
        ran.out,
        "TOOL          DESCRIPTION\n\
         s_first       Does \u{fffd}[2Jthis.\n\
         s_second_one\n\
         l_later\n"
    );

    let listed = home.run(["tools", "--json"]).ended_with(0).said("").json();
    assert_eq!(
        listed["tools"][1],
        json!({
            "name": "s_second_one",
            "server": "s",
            "tool": "second one",
            "title": null,
            "description": "",
            "inputSchema": {
                "properties": {"n": {"maximum": 1e2}}, "type": "object", "additionalProperties": false,
            },
            "outputSchema": null,
            "annotations": null,
        })
    );
    assert_eq!(listed["tools"][0]["title"], "First");
    assert_eq!(
        listed["servers"],
        json!([
            {"server": "s", "status": "connected", "error": null},
            {"server": "l", "status": "connected", "error": null},
        ])
    );
}

#[test]
fn servers_that_fail_leave_the_others_listed() {
    let ends = json!({"exit_at_start": {"code": 3, "stderr": "no licence"}});
    let home = Home::with_servers(json!({ "s": fake(json!({})), "ends": fake(ends) }));
    let ran = home.run(["tools"]).ended_with(4);
    assert!(ran.out.contains("s_echo"), "{ran:?}");
    assert!(ran.err.starts_with("failed: server `ends`: "), "{ran:?}");
    assert!(ran.err.contains("exit code 3"), "{ran:?}");

    let listed = home.run(["tools", "--json"]).ended_with(4).said("").json();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 16);
    assert_eq!(listed["servers"][1]["status"], "failed");
    assert!(listed["servers"][1]["error"]["message"].is_string());
}

#[test]
fn a_bad_entry_leaves_the_others_listed() {
    let home = Home::with_servers(json!({ "bad": {"command": 3}, "s": fake(json!({})) }));
    let ran = home.run(["tools"]).ended_with(3);
    assert!(ran.out.contains("s_echo"), "{ran:?}");
    let file = home.path(".config/mcp-resident/mcp.json");
    assert_eq!(
        ran.err,
        format!(
            "failed: {}:1:33: server \"bad\": command: must be a text, or a list of the program and its \
             arguments, found a number\n",
            file.display()
        )
    );
}

#[test]
fn servers_that_are_not_trusted_are_named() {
    let home = Home::with_servers(json!({ "s": fake(json!({})) }));
    home.write_project(json!({"theirs": {"command": "their-program"}}));
    let ran = home.run(["tools"]).ended_with(0).said(
        "not trusted: theirs: their-program\n\
         hint: `mcp-resident trust` allows this folder's own servers\n",
    );
    assert!(ran.out.contains("s_echo"), "{ran:?}");
    let listed = home.run(["tools", "--json"]).ended_with(0).json();
    assert_eq!(
        listed["servers"][1],
        json!({"server": "theirs", "status": "untrusted", "error": null})
    );
}

#[test]
fn a_reader_that_has_had_enough_is_no_failure() {
    let home = Home::with_servers(json!({ "s": fake(json!({})) }));
    let mut command = home.command(["tools"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    Running { child }.wait().ended_with(0).said("");
}
