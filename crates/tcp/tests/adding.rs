//! A recovery, and a congestion control, is one file, its `mod` and one line in the list of `config/variants.rs`: in a copy of the
//! crate, with the toys of `tests/toys/`, which is compiled and runs a conversation with each.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use std::fs;
use std::path::Path;

use crate::scratch::{cargo, copy, insert};

#[test]
fn a_recovery_and_a_congestion_control_are_a_file_and_a_line_each() {
    let krate = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("adding-tcp");
    let (toys, source) = (krate.join("tests/toys"), scratch.join("src"));
    let _ = fs::remove_dir_all(&source);
    copy(&krate.join("src"), &source);
    fs::create_dir_all(scratch.join("examples")).unwrap();

    let list = source.join("config/variants.rs");
    fs::copy(toys.join("recovery.rs"), source.join("recovery/toy.rs")).unwrap();
    insert(&source.join("recovery/mod.rs"), "mod tahoe;\n", "mod toy;");
    insert(&list, "duplicate_acks {\n", "\"toy\" toy::Toy \"A recovery.\",");
    fs::copy(toys.join("control.rs"), source.join("cc/toy.rs")).unwrap();
    insert(&source.join("cc/mod.rs"), "pub(crate) mod reno;\n", "mod toy;");
    insert(&list, "controls {\n", "\"toy-control\" toy::ToyControl \"A congestion control.\",");
    fs::copy(toys.join("conversation.rs"), scratch.join("examples/conversation.rs")).unwrap();

    // The manifest without the dependencies of tests, which would take most of the time.
    let core = krate.join("../core").canonicalize().unwrap();
    let manifest = fs::read_to_string(krate.join("Cargo.toml")).unwrap();
    let dependencies = manifest.split_once("[dependencies]\n").unwrap().1.split("\n\n").next().unwrap();
    let dependencies = dependencies
        .replace("paceline-core.workspace = true", &format!("paceline-core = {{ path = {core:?} }}"));
    let package = "[package]\nname = \"paceline-tcp\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n";
    fs::write(scratch.join("Cargo.toml"), format!("{package}{dependencies}\n")).unwrap();

    let done =
        cargo(&scratch).args(["run", "--offline", "--quiet", "--example", "conversation"]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
