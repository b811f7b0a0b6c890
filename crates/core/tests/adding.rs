//! A pacer, and a queue discipline, is one file, its `mod` and one line in a list: in a copy of the crate, with the toys of
//! `tests/toys/`, which are found by name there and obey the laws of `stage_laws/`.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use std::fs;
use std::path::Path;

mod scratch;

use scratch::{cargo, copy, insert};

#[test]
fn a_pacer_and_a_queue_discipline_are_a_file_and_a_line_each() {
    let krate = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("adding-core");
    let (toys, source, tests) = (krate.join("tests/toys"), scratch.join("src"), scratch.join("tests"));
    let _ = (fs::remove_dir_all(&source), fs::remove_dir_all(&tests));
    copy(&krate.join("src"), &source);
    fs::create_dir_all(&tests).unwrap();

    fs::copy(toys.join("pacer.rs"), source.join("pacer/toy.rs")).unwrap();
    insert(&source.join("pacer/mod.rs"), "pub mod token_bucket;\n", "pub mod toy;");
    let line = "    \"toy\" => Toy(toy::Toy): \"a least time between two packets\";";
    insert(&source.join("pacer/mod.rs"), "\npacers! {\n", line);
    fs::copy(toys.join("discipline.rs"), source.join("queue/newest.rs")).unwrap();
    insert(&source.join("queue/mod.rs"), "mod drop_tail;\n", "mod newest;");
    let line = "    \"newest\" => Newest(newest::Toy): \"the newest packet first\";";
    insert(&source.join("queue/discipline.rs"), "\ndisciplines! {\n", line);
    insert(&source.join("queue/discipline.rs"), "use super::rule::QueueSpec;\n", "use super::newest;");
    fs::copy(toys.join("names.rs"), tests.join("names.rs")).unwrap();
    copy(&krate.join("tests/stage_laws"), &tests.join("stage_laws"));

    let manifest = fs::read_to_string(krate.join("Cargo.toml")).unwrap();
    let proptest = manifest.lines().find(|line| line.starts_with("proptest = ")).unwrap();
    let package =
        "[package]\nname = \"paceline-core\"\nedition = \"2024\"\n\n[workspace]\n\n[dev-dependencies]\n";
    fs::write(scratch.join("Cargo.toml"), format!("{package}{proptest}")).unwrap();

    let done = cargo(&scratch).args(["test", "--offline", "--quiet", "--tests"]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    assert!(said.contains("running 4 tests"), "the laws have run: {said}");
}
