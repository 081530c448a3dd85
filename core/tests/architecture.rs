//! The rooms of the core import downwards only.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms, top to bottom. Those of one line may use each other.
const ROOMS: [&[&str]; 11] = [
    &["session"],
    &["source"],
    &["server"],
    &["catalog"],
    &["connection"],
    &["protocol"],
    &["transport"],
    &["tool"],
    &["config"],
    &["error", "event", "json"],
    &["private_files"],
];

fn level(room: &str) -> Option<usize> {
    ROOMS.iter().position(|rooms| rooms.contains(&room))
}

/// All source files of the library.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The rooms that a file names in code, by `crate::ROOM`.
fn used_rooms(text: &str) -> impl Iterator<Item = &str> {
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split("crate::").skip(1))
        .map(|rest| {
            let end = rest
                .find(|letter: char| !letter.is_ascii_lowercase() && letter != '_')
                .unwrap_or(rest.len());
            &rest[..end]
        })
}

#[test]
fn no_room_uses_one_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut looked_at = 0;
    let mut upward = Vec::new();
    for file in &files {
        let inside = file.strip_prefix(&root).unwrap();
        let first = inside
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_str()
            .unwrap();
        let room = first.trim_end_matches(".rs");
        let Some(own) = level(room) else {
            assert_eq!(room, "lib", "`{room}` has no place among the rooms");
            continue;
        };
        for used in used_rooms(&fs::read_to_string(file).unwrap()) {
            looked_at += 1;
            if level(used).is_some_and(|other| other < own) {
                upward.push(format!("{} uses {used}", inside.display()));
            }
        }
    }
    assert!(looked_at > 100, "the imports were not found");
    assert!(upward.is_empty(), "{}", upward.join("\n"));
}

#[test]
fn rmcp_is_named_in_its_adapter_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let naming: Vec<String> = files
        .iter()
        .filter(|file| {
            let text = fs::read_to_string(file).unwrap();
            text.lines()
                .any(|line| !line.trim_start().starts_with("//") && line.contains("rmcp::"))
        })
        .map(|file| file.strip_prefix(&root).unwrap().display().to_string())
        .collect();
    let mut naming = naming;
    naming.sort();
    assert_eq!(naming, ["protocol/conversation.rs", "protocol/wire.rs"]);
}
