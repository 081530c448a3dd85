//! `check`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::{CANARY, Home, marker};

const CONFIG: &str = r#"{
  "mcpServers": {
    "one": {
      "command": "/bin/sh",
      "args": ["-c", "exit"],
      "env": {
        "TOKEN": "canary-not-real",
        "HOME2": "${HOME}"
      }
    }
  }
}
"#;

#[test]
fn every_field_has_its_place_and_no_secret_is_shown() {
    let home = Home::new();
    let file = home.write("servers.json", CONFIG);
    let file = file.display();
    let arguments = ["check", "--config", &file.to_string()];

    let ran = home.run(arguments).ended_with(0).said("");
    assert_eq!(
        ran.out,
        format!(
            "file {file}\n\
             \n\
             one ok stdio\n\
             \x20 /bin/sh -c exit (with TOKEN=*** HOME2=${{HOME}})\n\
             \x20   command    {file}:4:7\n\
             \x20   args       {file}:5:7\n\
             \x20   args[0]    {file}:5:16\n\
             \x20   args[1]    {file}:5:22\n\
             \x20   env        {file}:6:7\n\
             \x20   env.TOKEN  {file}:7:9\n\
             \x20   env.HOME2  {file}:8:9\n\
             \n\
             1 ok\n"
        )
    );

    let ran = home.run(arguments.into_iter().chain(["--json"]));
    assert!(!ran.out.contains(CANARY));
    let report = ran.ended_with(0).said("").json();
    assert_eq!(report["files"][0]["layer"], "named");
    assert_eq!(report["warnings"], json!([]));
    let server = &report["servers"][0];
    assert_eq!(server["server"], "one");
    assert_eq!(server["verdict"], "ok");
    assert_eq!(server["transport"], "stdio");
    assert_eq!(server["problem"], json!(null));
    assert_eq!(server["fingerprint"].as_str().unwrap().len(), 64);
    assert_eq!(
        server["fields"]["env.TOKEN"],
        json!({"file": file.to_string(), "line": 7, "column": 9})
    );
}

#[test]
fn a_broken_file_is_named_with_line_column_and_what_was_expected() {
    let home = Home::new();
    for (text, place, reason) in [
        (
            "{\"mcpServers\": {\n  \"a\": [\n}}",
            ":3:1",
            "expected a value, \",\" or \"]\", found \"}\"",
        ),
        (
            "{\"mcpServers\": []}",
            ":1:16",
            "expected an object of servers as mcpServers, found a list",
        ),
        (
            "\u{feff}[]",
            ":1:1",
            "expected an object with the key mcpServers, found a list",
        ),
    ] {
        let file = home.write("broken.json", text);
        let message = format!("{}{place}: {reason}", file.display());
        for command in ["check", "tools", "watch"] {
            home.run([command, "--config", file.to_str().unwrap()])
                .ended_with(3)
                .said(&format!("error: {message}\n"));
        }
        let ran = home.run(["check", "--json", "--config", file.to_str().unwrap()]);
        let error = json!({"error": {
            "kind": "configuration", "exitCode": 3, "message": message, "hint": null,
        }});
        assert_eq!(ran.ended_with(3).said("").json(), error);
    }
}

#[test]
fn a_configuration_that_is_not_there_is_looked_for_in_named_places() {
    let home = Home::new();
    home.run(["check", "--config", "nowhere.json"])
        .ended_with(3)
        .said("error: nowhere.json: cannot be read: No such file or directory (os error 2)\n");
    let places = [
        home.path(".config/mcp-resident/mcp.json"),
        home.path("project/.mcp.json"),
        home.path("project/mcp.json"),
    ];
    home.run(["check"]).ended_with(3).said(&format!(
        "error: there is no configuration; looked for {}, {}, {}\n\
         hint: create one of them, or name a file with --config\n",
        places[0].display(),
        places[1].display(),
        places[2].display()
    ));
    let ran = home.run(["check", "--project", "nowhere"]).ended_with(3);
    assert!(
        ran.err
            .starts_with("error: nowhere: the folder cannot be used: "),
        "{ran:?}"
    );
}

#[test]
fn each_entry_is_judged_alone() {
    let home = Home::with_servers(json!({
        "good": {"command": "/bin/sh", "timout": 3},
        "bad": {"command": 3},
        "unset": {"url": "http://127.0.0.1:9/", "headers": {"Authorization": "Bearer ${NOT_SET}"}},
        "off": {"command": "x", "enabled": false},
        "missing": {"command": "no-such-program"},
    }));
    let report = home.run(["check", "--json"]).ended_with(3).said("").json();
    let servers = report["servers"].as_array().unwrap();
    let verdicts: Vec<_> = servers
        .iter()
        .map(|server| {
            (
                server["server"].as_str().unwrap(),
                server["verdict"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        verdicts,
        [
            ("good", "ok"),
            ("bad", "invalid"),
            ("unset", "invalid"),
            ("off", "disabled"),
            ("missing", "ok"),
        ]
    );
    let problem = &servers[1]["problem"];
    assert_eq!(problem["field"], "command");
    assert_eq!(problem["place"]["line"], 1);
    assert_eq!(servers[2]["problem"]["field"], "headers.Authorization");
    let warnings = report["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert_eq!(warnings[0]["field"], "timout");
    assert_eq!(warnings[1]["server"], "missing");

    let ran = home.run(["check"]).ended_with(3);
    assert!(
        ran.out.ends_with("\n2 ok, 2 invalid, 1 disabled\n"),
        "{ran:?}"
    );
    assert!(ran.out.contains("variable NOT_SET is not set"), "{ran:?}");
}

#[test]
fn nothing_is_started() {
    let home = Home::new();
    let started = home.path("started");
    let mut server = marker(&started);
    server["env"] = json!({"TOKEN": format!("!touch {}; echo {CANARY}", started.display())});
    home.write_user(json!({ "s": server }));
    let ran = home.run(["check"]).ended_with(0);
    assert!(ran.out.contains("s ok stdio"), "{ran:?}");
    assert!(!started.exists());
}

#[test]
fn a_relative_program_is_looked_for_beside_its_file() {
    let home = Home::new();
    for directory in ["project", ".config/mcp-resident"] {
        let program = home.write(&format!("{directory}/srv"), "#!/bin/sh\n");
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        let servers = json!({"s": {"command": "./srv"}, "t": {"command": "./missing"}});
        let text = json!({ "mcpServers": servers }).to_string();
        let file = home.write(&format!("{directory}/mcp.json"), &text);
        let ran = home.run(["check", "--json", "--config", file.to_str().unwrap()]);
        let warnings = ran.ended_with(0).json()["warnings"].clone();
        assert_eq!(warnings.as_array().unwrap().len(), 1, "{warnings}");
        assert_eq!(warnings[0]["server"], "t");
    }
    // The user's own servers, seen from a project that has a program of the same name.
    fs::remove_file(home.path("project/mcp.json")).unwrap();
    fs::remove_file(home.path(".config/mcp-resident/srv")).unwrap();
    let warnings = home.run(["check", "--json"]).ended_with(0).json()["warnings"].clone();
    assert_eq!(warnings.as_array().unwrap().len(), 2, "{warnings}");
}
