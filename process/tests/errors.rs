//! Every way a start can fail is told apart, and says what to do.
//!
//! One test, because a file that another thread's start is holding open for writing could not be
//! run.
#![cfg(target_os = "linux")]

mod support;

use std::{ffi::OsStr, fs, os::unix::fs::PermissionsExt, path::Path};

use mcp_resident_process::{ProgramError, SpawnError, find_program};
use support::*;

fn write(path: &Path, content: &[u8], mode: u32) {
    fs::write(path, content).expect("the file is written");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the mode is set");
}

async fn failure(change: impl FnOnce(&mut mcp_resident_process::Launch)) -> SpawnError {
    let mut launch = sh("exit 0");
    change(&mut launch);
    engine().spawn(launch).await.expect_err("the start fails")
}

#[tokio::test]
async fn failed_starts_explain_themselves() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    write(&at("plain"), b"text", 0o644);
    write(&at("no-format"), b"\x7fNOT a program", 0o755);
    write(&at("no-interpreter"), b"#!/does/not/exist -x\n", 0o755);
    write(
        &at("needs-node"),
        b"#!/usr/bin/env node-of-nowhere\n",
        0o755,
    );
    write(&at("script"), b"#!/bin/sh\nexit 4\n", 0o755);

    bounded(async {
        let error = failure(|launch| launch.directory = at("missing")).await;
        assert!(
            matches!(error, SpawnError::DirectoryMissing(_)),
            "{error:?}"
        );
        let error = failure(|launch| launch.directory = at("plain")).await;
        assert!(matches!(error, SpawnError::NotADirectory(_)), "{error:?}");
        let error = failure(|launch| launch.program = at("missing")).await;
        assert!(
            matches!(error, SpawnError::Program(ProgramError::NotFound { .. })),
            "{error:?}"
        );
        let error = failure(|launch| launch.program = at("plain")).await;
        assert!(
            matches!(
                error,
                SpawnError::Program(ProgramError::NotExecutable { .. })
            ),
            "{error:?}"
        );
        let error = failure(|launch| launch.program = directory.path().to_owned()).await;
        assert!(
            matches!(error, SpawnError::Program(ProgramError::IsDirectory { .. })),
            "{error:?}"
        );
        let error = failure(|launch| launch.program = "sh".into()).await;
        assert!(matches!(error, SpawnError::BareName(_)), "{error:?}");
        let error = failure(|launch| launch.program = at("no-format")).await;
        assert!(matches!(error, SpawnError::UnknownFormat(_)), "{error:?}");
        let error = failure(|launch| launch.args = vec!["x".repeat(8 << 20).into()]).await;
        assert!(
            matches!(error, SpawnError::ArgumentsTooLong(_)),
            "{error:?}"
        );
        let error = failure(|launch| launch.args = vec!["canary\0".into()]).await;
        assert_eq!(
            error.to_string(),
            "an argument of the program contains a NUL byte; remove it"
        );
        for (script, wanted) in [
            ("no-interpreter", "/does/not/exist"),
            ("needs-node", "node-of-nowhere"),
        ] {
            match failure(|launch| launch.program = at(script)).await {
                SpawnError::InterpreterMissing { interpreter, .. } => {
                    assert_eq!(interpreter, wanted)
                }
                error => panic!("{error:?}"),
            }
        }

        let mut launch = sh("");
        launch.args.clear();
        launch.directory = directory.path().to_owned();
        launch.program = "./script".into();
        let child = start(launch).await;
        assert_eq!(child.process.exited().await.to_string(), "exit code 4");
    })
    .await;
}

#[test]
fn a_program_is_found_in_the_given_path_only() {
    let directory = tempfile::tempdir().expect("a directory");
    let (first, second) = (
        directory.path().join("first"),
        directory.path().join("second"),
    );
    for directory in [&first, &second] {
        fs::create_dir(directory).expect("a directory is made");
    }
    write(&second.join("tool"), b"", 0o755);
    write(&second.join("data"), b"", 0o644);
    write(&directory.path().join("here"), b"", 0o755);
    fs::create_dir(first.join("tool")).expect("a directory is made");

    let path =
        std::env::join_paths([Path::new(""), Path::new("."), &first, &second]).expect("a path");
    let find = |name: &str| find_program(OsStr::new(name), Some(&path), directory.path());

    assert_eq!(
        find("tool"),
        Ok(second.join("tool")),
        "a directory of that name is passed over"
    );
    assert_eq!(
        find("second/tool"),
        Ok(directory.path().join("second/tool"))
    );
    assert_eq!(find("./here"), Ok(directory.path().join("./here")));
    assert_eq!(
        find("data"),
        Err(ProgramError::NotExecutable {
            path: second.join("data")
        })
    );
    assert_eq!(
        find("./first"),
        Err(ProgramError::IsDirectory {
            path: directory.path().join("./first")
        })
    );
    for name in ["here", "", ".", ".."] {
        let expected = ProgramError::NotFound {
            name: name.into(),
            searched: Some(vec![first.clone(), second.clone()]),
        };
        assert_eq!(
            find(name),
            Err(expected),
            "the current directory is not searched"
        );
    }
    assert_eq!(
        find("./gone"),
        Err(ProgramError::NotFound {
            name: "./gone".into(),
            searched: None
        })
    );
}

#[test]
fn messages_say_what_to_do() {
    let missing = |path: Option<&str>| {
        let error = find_program(OsStr::new("npx"), path.map(OsStr::new), Path::new("/"));
        error.expect_err("there is no such directory").to_string()
    };
    assert_eq!(
        missing(Some("/no/a:/no/b")),
        "program \"npx\" was not found: searched /no/a, /no/b; use an absolute path or add its directory to PATH"
    );
    assert_eq!(
        missing(None),
        "program \"npx\" was not found: its PATH names no absolute directory; use an absolute path or set PATH"
    );
}
