//! The tests of the crate's public face, in one program: it is linked once, and its tests run beside each other. A file is one line here.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

mod adding;
mod adversarial;
mod digests;
mod ecn;
mod growth;
mod handshake;
mod idle;
mod imports;
mod kernel_receiver;
mod kernel_sequence;
mod linux;
mod loopback;
mod messages;
mod ns2_traces;
mod options;
mod overhead;
mod rate_halving;
mod receiver;
mod sender;
mod trains;

// What several of them share.
mod adversary;
mod conversation;
mod path;
#[path = "../../core/tests/scratch/mod.rs"]
mod scratch;
mod write_xmit;

#[test]
fn every_file_of_tests_is_run() {
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let here = include_str!("all.rs");
    for entry in std::fs::read_dir(tests).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_run = name == "all" || here.contains(&format!("\nmod {name};\n"));
        assert!(
            path.extension().is_none_or(|end| end != "rs") || is_run,
            "write `mod {name};` into tests/all.rs"
        );
    }
}
