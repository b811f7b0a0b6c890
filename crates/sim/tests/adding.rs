//! A kind of dialogue, of instrument and of rate that varies is one file, its `mod` and one line in a list: in a copy of the crate, with the toys of
//! `tests/toys/`.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use std::fs;
use std::path::Path;

use crate::scratch::{cargo, copy, insert};

#[test]
fn a_kind_of_dialogue_instrument_or_rate_is_a_file_and_a_line() {
    let krate = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("adding-sim");
    let (toys, source) = (krate.join("tests/toys"), scratch.join("src"));
    let _ = fs::remove_dir_all(&source);
    copy(&krate.join("src"), &source);
    fs::create_dir_all(scratch.join("examples")).unwrap();
    // The fingerprint is of sources that lie beside the crate, which are not copied.
    let build = "fn main() { println!(\"cargo::rustc-env=PACELINE_FINGERPRINT=0\"); }\n";
    fs::write(scratch.join("build.rs"), build).unwrap();

    fs::copy(toys.join("workload.rs"), source.join("workload/drip.rs")).unwrap();
    insert(&source.join("workload/mod.rs"), "mod dialogue;\n", "pub mod drip;");
    let line = "        \"drip\" => Drip(drip::Drip): \"the same message again and again\";";
    insert(&source.join("workload/mod.rs"), "\n    tables {\n", line);
    fs::copy(toys.join("instrument.rs"), source.join("instrument/silence.rs")).unwrap();
    insert(&source.join("instrument/mod.rs"), "mod sampling;\n", "mod silence;");
    let line =
        "    \"silence\" => Silence(silence::Silence): \"the longest time for which a link's wire is idle\";";
    insert(&source.join("instrument/mod.rs"), "\ninstruments! {\n", line);
    fs::copy(toys.join("rate.rs"), source.join("varying/square.rs")).unwrap();
    insert(&source.join("varying/mod.rs"), "mod rate_model;\n", "mod square;");
    let line = "    \"square\" => Square(square::Square): \"A rate for a while, then none for as long.\";";
    insert(&source.join("varying/mod.rs"), "\nrate_models! {\n", line);
    fs::copy(toys.join("run.rs"), scratch.join("examples/run.rs")).unwrap();

    // The manifest without the dependencies of tests.
    let manifest = fs::read_to_string(krate.join("Cargo.toml")).unwrap();
    let dependencies = manifest.split_once("[dependencies]\n").unwrap().1.split("\n\n").next().unwrap();
    let mut dependencies = dependencies.to_owned();
    for name in ["core", "capture", "tcp"] {
        let place = krate.join("..").join(name).canonicalize().unwrap();
        let from = format!("paceline-{name}.workspace = true");
        dependencies = dependencies.replace(&from, &format!("paceline-{name} = {{ path = {place:?} }}"));
    }
    let package = "[package]\nname = \"paceline-sim\"\nedition = \"2024\"\n\n[workspace]\n\n[features]\nablation = []\n";
    fs::write(scratch.join("Cargo.toml"), format!("{package}\n[dependencies]\n{dependencies}\n")).unwrap();

    let done = cargo(&scratch).args(["run", "--offline", "--quiet", "--example", "run"]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
