//! A scratch copy of a crate, into which the tests called `adding.rs` put something.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Copies a folder whole.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let file = entry.unwrap().path();
        let target = to.join(file.file_name().unwrap());
        if file.is_dir() { copy(&file, &target) } else { fs::copy(&file, &target).map(drop).unwrap() }
    }
}

/// Puts a line after the first line of a file that ends so.
pub(crate) fn insert(file: &Path, before: &str, line: &str) {
    let text = fs::read_to_string(file).unwrap();
    let place = text.find(before).unwrap() + before.len();
    fs::write(file, format!("{}{line}\n{}", &text[..place], &text[place..])).unwrap();
}

/// Cargo in a scratch copy. It builds beside the crates themselves, so that third-party crates are not built again; nothing of ours is
/// optimised.
pub(crate) fn cargo(scratch: &Path) -> Command {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::copy(workspace.join("Cargo.lock"), scratch.join("Cargo.lock")).unwrap();
    let all = fs::read_to_string(workspace.join("Cargo.toml")).unwrap();
    let tables = all.split_inclusive("\n\n");
    let is_of_others = |table: &&str| table.contains("[profile.dev") && !table.contains("package.paceline-");
    let profile: String = tables.filter(is_of_others).collect();
    let file = scratch.join("Cargo.toml");
    let manifest = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{manifest}\n\n{profile}")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    cargo.current_dir(scratch).env("CARGO_TARGET_DIR", target).env("CARGO_INCREMENTAL", "0");
    cargo.env_remove("RUSTC_WORKSPACE_WRAPPER"); // lints are not for toys
    cargo
}
