//! `trust`, and what is not started without it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::{Home, PROGRAM, fake, marker};

#[test]
fn a_folders_own_server_is_started_only_as_it_was_trusted() {
    let home = Home::new();
    home.write_project(json!({ "local": fake(json!({})) }));
    let folder = home.path("project");
    let call = ["call", "local_echo", "text=hi"];
    let refusal = "error: there is no tool `local_echo`: the server `local` of this folder is not trusted\n\
                   hint: `mcp-resident trust` allows this folder's own servers\n";
    home.run(call).ended_with(3).said(refusal);

    let ran = home.run(["trust"]).ended_with(2).said(
        "error: nobody is there to ask, so nothing was trusted\n\
         hint: look at what would be started, then use --yes\n",
    );
    assert!(ran.out.contains("local "), "{ran:?}");
    assert!(
        ran.out
            .contains(&format!("    {PROGRAM} fake --script {{}}\n")),
        "{ran:?}"
    );
    home.run(call).ended_with(3);

    let ran = home.run(["trust", "--yes"]).ended_with(0).said("");
    assert!(ran.out.ends_with("trusted: local\n"), "{ran:?}");
    assert_eq!(home.run(call).ended_with(0).said("").out, "hi\n");
    let ran = home.run(["trust"]).ended_with(0).said("");
    assert_eq!(
        ran.out,
        format!("nothing in {} needs to be trusted\n", folder.display())
    );

    // Something else would be started now.
    home.write_project(json!({ "local": fake(json!({"page_size": 1})) }));
    home.run(call).ended_with(3).said(refusal);
    home.run(["trust", "local", "--yes"]).ended_with(0);
    home.run(call).ended_with(0);

    let ran = home.run(["trust", "--revoke"]).ended_with(0).said("");
    assert_eq!(ran.out, "no longer trusted: local\n");
    home.run(call).ended_with(3).said(refusal);
    let ran = home.run(["trust", "--revoke"]).ended_with(0);
    assert_eq!(
        ran.out,
        format!("nothing in {} was trusted\n", folder.display())
    );
}

#[test]
fn decisions_are_kept_privately_and_listed() {
    let home = Home::new();
    let mut server = fake(json!({}));
    server["env"] = json!({"TOKEN": "canary-not-real"});
    home.write_project(json!({"a": server, "b": {"command": "b"}}));
    let ran = home.run(["trust", "--yes", "--json", "a"]).ended_with(0);
    let told = ran.json();
    assert_eq!(told["trusted"], true);
    assert_eq!(told["servers"][0]["server"], "a");
    assert_eq!(told["servers"][0]["place"]["line"], 1);

    let store = home.path(".local/state/mcp-resident/trust.json");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&store), 0o600);
    assert_eq!(mode(store.parent().unwrap()), 0o700);
    assert!(
        !fs::read_to_string(&store)
            .unwrap()
            .contains("canary-not-real")
    );

    let listed = home
        .run(["trust", "--list", "--json"])
        .ended_with(0)
        .said("");
    let listed = listed.json();
    assert_eq!(
        listed["folders"][0]["folder"].as_str(),
        home.path("project").to_str()
    );
    let servers = listed["folders"][0]["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 1);
    assert_eq!(servers[0]["fingerprint"], told["servers"][0]["fingerprint"]);
    let ran = home.run(["trust", "--list"]).ended_with(0);
    assert!(ran.out.contains("  a "), "{ran:?}");

    home.run(["trust", "--revoke", "b"]).ended_with(2);
    let ran = home.run(["trust", "--revoke", "a", "--json"]).ended_with(0);
    assert_eq!(ran.json()["revoked"][0]["server"], "a");
    let ran = home.run(["trust", "--list"]).ended_with(0);
    assert_eq!(ran.out, "nothing is trusted\n");
}

#[test]
fn the_same_entry_in_another_folder_is_not_trusted() {
    let home = Home::new();
    home.write_project(json!({ "local": fake(json!({})) }));
    home.run(["trust", "--yes"]).ended_with(0);
    fs::create_dir(home.path("other")).unwrap();
    fs::copy(home.path("project/mcp.json"), home.path("other/.mcp.json")).unwrap();
    let other = home.path("other");
    home.run(["call", "local_echo", "--project", other.to_str().unwrap()])
        .ended_with(3);
}

#[test]
fn a_folder_neither_replaces_nor_switches_on_a_users_server() {
    let home = Home::new();
    let started = home.path("started");
    let mut off = marker(&started);
    off["enabled"] = json!(false);
    home.write_user(json!({ "mine": fake(json!({})), "off": off }));
    home.write_project(json!({ "mine": marker(&started), "off": {"enabled": true} }));

    let ran = home.run(["call", "mine_echo", "text=mine"]).ended_with(0);
    assert_eq!(ran.out, "mine\n");
    let ran = home.run(["tools"]).ended_with(0);
    assert!(ran.out.contains("mine_echo"), "{ran:?}");
    assert!(ran.err.contains("not trusted: mine: "), "{ran:?}");
    assert!(ran.err.contains("not trusted: off: "), "{ran:?}");
    assert!(!started.exists());

    home.run(["trust", "off", "--yes"]).ended_with(0);
    home.run(["tools"]).ended_with(4);
    assert!(started.exists());
}

#[test]
fn a_folder_may_switch_off_a_users_server() {
    let home = Home::with_servers(json!({ "mine": fake(json!({})) }));
    home.write_project(json!({ "mine": {"enabled": false} }));
    home.run(["call", "mine_echo"]).ended_with(3).said(
        "error: there is no tool `mine_echo`: the server `mine` is switched off by its configuration\n",
    );
}

#[test]
fn a_named_file_is_trusted() {
    let home = Home::new();
    home.write_project(json!({ "local": fake(json!({})) }));
    let ran = home.run(["call", "local_echo", "text=hi", "--config", "mcp.json"]);
    assert_eq!(ran.ended_with(0).out, "hi\n");
}

#[test]
fn what_cannot_be_decided_is_an_error() {
    let home = Home::new();
    home.write_project(json!({ "local": fake(json!({})) }));
    home.run(["trust", "nobody", "--yes"]).ended_with(2).said(
        "error: this folder has no server `nobody` that is not trusted yet\n\
         hint: `mcp-resident check` shows what there is\n",
    );
    home.run(["trust", "--yes", "--list"]).ended_with(2);

    fs::create_dir_all(home.path(".local/state/mcp-resident")).unwrap();
    let store = home.write(".local/state/mcp-resident/trust.json", "{");
    for command in ["check", "tools", "trust"] {
        let ran = home.run([command]).ended_with(3);
        let expected = format!("error: {}: what is trusted cannot be read", store.display());
        assert!(ran.err.starts_with(&expected), "{ran:?}");
        assert!(
            ran.err
                .ends_with("hint: remove the file to trust nothing\n"),
            "{ran:?}"
        );
    }
}
