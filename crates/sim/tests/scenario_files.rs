//! The scenarios that come with the project: each is read, in every combination that it sweeps.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use std::path::{Path, PathBuf};

use crate::sweeps::settings;
use paceline_sim::Scenario;
use serde_json::Value;

#[test]
fn every_scenario_in_the_project_is_sound_in_all_its_settings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut count = 0;
    for path in ["", "kernel", "scale"].iter().flat_map(|inside| files_in(&folder.join(inside))) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# "), "{} says where it comes from", path.display());
        for setting in settings(toml::from_str(&text).unwrap()) {
            let json = setting.to_string();
            let scenario = Scenario::from_json(&json).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let described = scenario.describe(scenario.seed());
            described.unwrap_or_else(|error| panic!("{}: {error}\n{json}", path.display()));
            count += 1;
        }
        assert_eq!(
            Scenario::from_toml(&text).unwrap(),
            Scenario::from_json(&toml::from_str::<Value>(&text).unwrap().to_string()).unwrap(),
            "both formats say the same"
        );
    }
    assert!(count > 50, "{count}");
}

#[test]
fn every_example_in_the_reference_is_sound() {
    let reference = include_str!("../../../docs/scenarios.md");
    let examples: Vec<&str> =
        reference.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() >= 3);
    for text in examples {
        for setting in settings(toml::from_str(text).unwrap()) {
            Scenario::from_json(&setting.to_string())
                .unwrap()
                .network(1)
                .unwrap_or_else(|e| panic!("{e}\n{text}"));
        }
    }
}

/// The files of a folder, without its folders.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_file()).collect()
}
