//! The tests of the simulator's public face but those that are run alone, optimised (Cargo.toml), in one program: it is linked once, and its tests run beside each other. A file is one line here.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

mod ack_aggregation;
mod adding;
mod aqm;
mod bursty_loss;
mod classes;
mod cvec_samples;
mod dialogues;
mod ecn;
mod engine;
mod growth;
mod imports;
mod inspection;
mod instruments;
mod jitter;
mod kernel_gro;
mod kernel_policer;
mod kernel_trains;
mod l4s;
mod policer;
mod queueing;
mod random_networks;
mod scenario;
mod scenario_errors;
mod scenario_files;
mod scenario_properties;
mod scenario_templates;
mod shared_memory;
mod small_queues;
mod sources;
mod tcp_options;
mod ties;
mod trains;
mod varying_rate;

// What several of them share.
mod random;
#[path = "../../core/tests/scratch/mod.rs"]
mod scratch;
mod sweeps;
#[path = "../../capture/tests/written/mod.rs"]
mod written;

#[test]
fn every_file_of_tests_is_run() {
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let here = include_str!("all.rs");
    for entry in std::fs::read_dir(tests).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_run =
            ["all", "digests", "equality"].contains(&name) || here.contains(&format!("\nmod {name};\n"));
        assert!(
            path.extension().is_none_or(|end| end != "rs") || is_run,
            "write `mod {name};` into tests/all.rs"
        );
    }
}
