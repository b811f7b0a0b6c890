//! The table of options is whole, and docs/tcp.md is made from it: `PACELINE_WRITE=1` writes that anew.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_tcp::options::{OPTIONS, Value, page};
use paceline_tcp::{Config, Constants, Halving, IdleRestart, Profile, Variant};
use std::path::Path;

#[test]
fn docs_tcp_md_is_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tcp.md");
    if std::env::var_os("PACELINE_WRITE").is_some() {
        std::fs::write(&file, page()).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap();
    let how = "write it anew: PACELINE_WRITE=1 cargo test -p paceline-tcp --test options";
    assert!(written == page(), "docs/tcp.md is not what the table of options says; {how}");
}

#[test]
fn every_field_of_a_configuration_is_an_option() {
    // Host pacing is not TCP's: a scenario has it under `pacing`.
    let shown = format!("{:#?}", Config::new(Profile::Ns2));
    let fields: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.strip_prefix("    ").filter(|line| line.starts_with(char::is_alphabetic)))
        .map(|line| line.split(':').next().unwrap())
        .filter(|field| *field != "pacing")
        .collect();
    assert!(fields.len() > 30);
    let keys: Vec<&str> = OPTIONS.iter().map(|option| option.key).collect();
    for field in &fields {
        assert!(keys.contains(field), "{field} is not in the table of options");
    }
    assert_eq!(keys.len(), fields.len());
}

#[test]
fn every_option_of_every_profile_has_a_value_and_a_source() {
    for option in OPTIONS {
        for (name, profile) in Profile::ALL {
            assert_ne!(option.value(&Config::new(profile)), Value::Name(""), "{}: {name}", option.key);
            assert!(!option.source(profile).is_empty(), "{}: {name}", option.key);
        }
        assert!(!option.meaning.is_empty());
    }
}

#[test]
fn every_name_that_may_be_written_is_explained() {
    fn names<T>(all: &[(&'static str, T)]) -> Vec<&'static str> {
        all.iter().map(|(name, _)| *name).collect()
    }
    for (key, names) in [
        ("variant", names(&Variant::ALL)),
        ("halving", names(&Halving::ALL)),
        ("constants", names(&Constants::ALL)),
        ("idle_restart", names(&IdleRestart::ALL)),
    ] {
        let option = OPTIONS.iter().find(|option| option.key == key).unwrap();
        for name in names {
            assert!(option.meaning.contains(&format!("`\"{name}\"`")), "{key}: {name}");
        }
    }
}
