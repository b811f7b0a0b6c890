//! The table of options is complete, and docs/tcp.md is made from it; `PACELINE_WRITE=1` writes the page.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_tcp::options::{OPTIONS, Value, keys, page};
use paceline_tcp::{Config, Constants, EcnMode, EcnRule, Halving, IdleRestart, Profile, Variant};
use std::path::Path;

#[test]
fn docs_tcp_md_is_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tcp.md");
    if std::env::var_os("PACELINE_WRITE").is_some() {
        std::fs::write(&file, page()).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap();
    let how = "write it anew: PACELINE_WRITE=1 cargo test -p paceline-tcp --test all options";
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
fn the_keys_are_the_profile_and_every_option() {
    let keys = keys();
    assert_eq!((keys[0], keys.len()), ("profile", OPTIONS.len() + 1));
    assert!(OPTIONS.iter().zip(&keys[1..]).all(|(option, key)| option.key == *key));
}

#[test]
fn values_have_the_unit_of_what_they_are() {
    for (key, value, unit) in [
        ("payload", "\"1448 B\"", "B"),
        ("initial_window", "\"10 packets\"", "packets"),
        ("min_rto", "\"200 ms\"", "s"),
        ("tick", "\"0 s\"", "s"),
        ("duplicate_threshold", "3", ""),
        ("limited_transmit", "true", ""),
        ("variant", "\"cubic\"", ""),
    ] {
        let option = OPTIONS.iter().find(|option| option.key == key).unwrap();
        let found = option.value(&Config::new(Profile::Linux));
        assert_eq!((found.to_string(), found.unit()), (value.to_owned(), unit), "{key}");
    }
}

/// The table of sources has a column for RFCs, ns-2 and Linux; where one is empty, another is named.
#[test]
fn a_source_that_a_profile_does_not_have_is_another_s_by_name() {
    let page = page();
    let rows = page.split("## Sources").nth(1).unwrap().lines().filter(|line| line.starts_with("| `"));
    for (option, row) in OPTIONS.iter().zip(rows) {
        let [rfc, ns2, linux] = [2, 3, 4].map(|column| row.split('|').nth(column).unwrap().trim().to_owned());
        let named = [rfc.clone(), format!("ns-2 {ns2}"), format!("Linux {linux}")];
        for (profile, own) in [(Profile::Rfc, rfc), (Profile::Linux, linux), (Profile::Ns2Of2005, ns2)] {
            let source = option.source(profile);
            assert!(if own.is_empty() { named.contains(&source) } else { source == own }, "{row}: {source}");
        }
    }
}

/// Which senders need more of an acknowledgement than its number, and what a report adds to its size.
#[test]
fn the_content_of_an_acknowledgement_depends_on_the_settings() {
    for (variant, timestamps, feedback, echo) in [
        (Variant::Reno, false, false, false),
        (Variant::Reno, true, true, true),
        (Variant::Sack1, false, true, false),
        (Variant::Fack, false, true, true),
        (Variant::Rfc6675, true, true, true),
    ] {
        let config = Config { variant, timestamps, ..Config::new(Profile::Ns2) };
        assert_eq!((config.needs_feedback(), config.needs_echo()), (feedback, echo), "{variant:?}");
    }
    // RFC 2018: two bytes and eight a block, and padding; ns-2 has eight a block alone.
    let bytes = |profile| [0, 1, 3].map(|blocks| Config::new(profile).ack_bytes(blocks));
    assert_eq!(bytes(Profile::Linux), [52, 64, 80]);
    assert_eq!(bytes(Profile::Ns2), [40, 48, 64]);
    assert_eq!(Config::new(Profile::Linux).data_bytes(), 1_500);
}

/// Linux repairs as NewReno does where it has no SACK, whatever grows the window.
#[test]
fn linux_has_no_reno_that_ends_recovery_early() {
    for (_, profile) in Profile::ALL {
        let expected = if profile == Profile::Linux { Variant::NewReno } else { Variant::Reno };
        assert_eq!(Config::of_variant(profile, Variant::Reno).variant, expected, "{profile:?}");
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
        ("ecn", names(&EcnMode::ALL)),
        ("ecn_rule", names(&EcnRule::ALL)),
    ] {
        let option = OPTIONS.iter().find(|option| option.key == key).unwrap();
        for name in names {
            assert!(option.meaning.contains(&format!("`\"{name}\"`")), "{key}: {name}");
        }
    }
}
