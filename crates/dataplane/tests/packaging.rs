//! What `packaging/` has goes with the program: the service's command, its settings, and the dashboard's metrics.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use paceline_dataplane::config::{Arguments, Config};
use paceline_dataplane::metrics::{self, Told};
use paceline_dataplane::sys::capability::{BPF, NET_ADMIN, NET_RAW};

const PROGRAM: &str = env!("CARGO_BIN_EXE_paceline-pace");

fn packaged(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// A value of the unit's.
fn of_unit(key: &str) -> String {
    let unit = packaged("paceline-pace.service");
    let line = unit.lines().find_map(|line| line.strip_prefix(&format!("{key}=")));
    line.unwrap_or_else(|| panic!("the unit has no {key}")).to_owned()
}

#[test]
fn the_unit_calls_the_program_as_it_is() {
    let command = of_unit("ExecStart");
    let words: Vec<&str> = command.split_whitespace().collect();
    assert_eq!(Path::new(words[0]).file_name(), Path::new(PROGRAM).file_name());
    let arguments = Arguments::parse(words[1..].iter().map(OsString::from)).unwrap();
    assert_eq!(arguments.config.as_deref(), Some(Path::new("/etc/paceline/pace.toml")));
    let config = Config::parse("pace.toml", &packaged("pace.toml"), &arguments).unwrap();
    assert!(config.input.is_some() && config.output.is_some() && config.metrics.is_some());
    for key in ["AmbientCapabilities", "CapabilityBoundingSet"] {
        let granted = of_unit(key);
        for needed in [NET_ADMIN, NET_RAW, BPF] {
            assert!(granted.split_whitespace().any(|name| name == needed.name), "{key}: {}", needed.name);
        }
    }
}

#[test]
fn systemd_takes_the_unit() {
    let folder = std::env::temp_dir().join(format!("paceline-unit-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("paceline-pace.service");
    // the program is where it was built
    let installed = of_unit("ExecStart").split_whitespace().next().unwrap().to_owned();
    std::fs::write(&file, packaged("paceline-pace.service").replace(&installed, PROGRAM)).unwrap();
    let done = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output();
    std::fs::remove_dir_all(&folder).unwrap();
    match done {
        Err(error) => println!("not tested: systemd-analyze: {error}"),
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success() && !said.contains("paceline-pace"), "{said}");
        }
    }
}

#[test]
fn the_unit_gives_the_program_little() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/paceline-pace.service");
    // of 100: 31 as it is, most of them for the network, which is what it is there for
    let asked = ["security", "--offline=yes", "--no-pager", "--threshold=40"];
    match Command::new("systemd-analyze").args(asked).arg(unit).output() {
        Err(error) => println!("not tested: systemd-analyze: {error}"),
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr);
            if said.contains("unrecognized option") {
                return println!("not tested: {said}"); // before systemd 250
            }
            let table = String::from_utf8_lossy(&done.stdout);
            assert!(done.status.success(), "{said}\n{}", table.lines().last().unwrap_or_default());
        }
    }
}

/// Names in a query that are metrics, and those that are labels.
fn names(query: &str) -> Vec<&str> {
    query
        .split(|char: char| !(char.is_ascii_alphanumeric() || char == '_'))
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn the_dashboard_asks_for_metrics_that_there_are() {
    let direction = |name| Told { name, meters: Arc::default(), bypass: None };
    let text = metrics::text(&[direction("forward"), direction("reverse")]);
    let dashboard: serde_json::Value = serde_json::from_str(&packaged("grafana.json")).unwrap();
    let mut asked = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let (query, legend) =
                (target["expr"].as_str().unwrap(), target["legendFormat"].as_str().unwrap());
            let metric = names(query).into_iter().find(|name| name.starts_with("paceline_")).unwrap();
            let declared = metric.strip_suffix("_bucket").unwrap_or(metric);
            assert!(text.contains(&format!("# TYPE {declared} ")), "{metric} in {query}");
            asked += 1;
            // labels in `by (…)` and in braces of the legend; what bypasses is there only with a bypass
            let by = query.split_once("by (").map_or("", |(_, rest)| rest.split(')').next().unwrap());
            let shown = legend.split("{{").skip(1).map(|rest| rest.split("}}").next().unwrap());
            let series = text.lines().find(|line| line.starts_with(&format!("{metric}{{")));
            for label in names(by).into_iter().chain(shown) {
                let has = match series {
                    Some(series) => series.contains(&format!("{label}=\"")),
                    None => declared.contains("bypass") && label == "direction",
                };
                assert!(has, "{label} in {query} {legend}");
            }
        }
    }
    assert!(asked >= 8);
}

#[test]
fn the_dashboard_is_what_its_program_writes() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/dashboard.py");
    match Command::new("python3").arg(program).output() {
        Err(error) => println!("not tested: python3: {error}"),
        Ok(done) => {
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            assert_eq!(String::from_utf8(done.stdout).unwrap(), packaged("grafana.json"));
        }
    }
}

#[test]
fn examples_in_the_help_are_taken() {
    let done = Command::new(PROGRAM).arg("--help").output().unwrap();
    let help = String::from_utf8(done.stdout).unwrap();
    let mut examples = 0;
    for line in help.lines().filter_map(|line| line.strip_prefix("  paceline-pace ")) {
        let arguments = Arguments::parse(line.split_whitespace().map(OsString::from)).unwrap();
        match &arguments.config {
            Some(_) => drop(Config::parse("pace.toml", &packaged("pace.toml"), &arguments).unwrap()),
            None => drop(Config::read(&arguments).unwrap()),
        }
        examples += 1;
    }
    assert!(examples >= 5, "{help}");
}
