//! The header that is committed is the one that this crate gives.

use std::fs;
use std::path::Path;

#[test]
fn the_header_is_up_to_date() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config =
        cbindgen::Config::from_file(crate_folder.join("cbindgen.toml")).expect("cbindgen.toml");
    let bindings = cbindgen::Builder::new()
        .with_crate(crate_folder)
        .with_config(config)
        .generate()
        .expect("a header");
    let mut header = Vec::new();
    bindings.write(&mut header);
    // What a caller in C has to promise is said once, at the top.
    let header = without_safety(&String::from_utf8(header).expect("text"));
    let file = crate_folder.join("include/mcp_resident.h");
    if std::env::var_os("WRITE_HEADER").is_some() {
        fs::write(&file, &header).expect("the header can be written");
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == header,
        "include/mcp_resident.h is out of date: run this test with WRITE_HEADER=1"
    );
}

/// Leaves out the sections on safety of Rust's documentation.
fn without_safety(header: &str) -> String {
    let mut kept = String::new();
    let mut skipping = false;
    for line in header.lines() {
        if line.trim() == "* # Safety" {
            skipping = true;
            // With the empty line before it.
            if kept.ends_with(" *\n") {
                kept.truncate(kept.len() - " *\n".len());
            }
        } else if line.trim() == "*/" {
            skipping = false;
        }
        if !skipping {
            kept.push_str(line.trim_end());
            kept.push('\n');
        }
    }
    kept
}
