//! A scenario's `tcp` table and the table of options agree: what may be written is read, and every value as it is shown.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_sim::Scenario;
use paceline_sim::network::FlowKind;
use paceline_tcp::options::{OPTIONS, Value};
use paceline_tcp::{Config, Profile};

fn scenario(tcp: &str) -> Result<Scenario, String> {
    let text = format!(
        "duration = \"1 s\"\n[network]\ntemplate = \"path\"\nlinks = [{{ rate = \"1 Mbit/s\", delay = \"1 ms\" }}]\n\
         [[traffic]]\nkind = \"bulk\"\n[traffic.tcp]\n{tcp}"
    );
    Scenario::from_toml(&text).map_err(|error| error.to_string())
}

#[test]
fn every_option_is_read() {
    for option in OPTIONS {
        let error = scenario(&format!("{} = []", option.key)).unwrap_err();
        assert!(error.starts_with(&format!("traffic[0].tcp.{}: ", option.key)), "{error}");
        assert!(!error.contains("unknown key"), "{error}");
    }
    let error = scenario("constant = \"rfc9438\"").unwrap_err();
    assert_eq!(error, "traffic[0].tcp.constant: unknown key; did you mean \"constants\"?");
    // There are more than a line holds.
    let error = scenario("colour = 1").unwrap_err();
    let listed = "write one of those that `paceline explain tcp` lists";
    assert_eq!(error, format!("traffic[0].tcp.colour: unknown key; {listed}"));
    let error = scenario("constants = \"linux-2012\"").unwrap_err();
    assert_eq!(error, "traffic[0].tcp.constants: \"linux-2012\" is unknown; did you mean \"linux-2013\"?");
    let error = scenario("idle_restart = \"slow-start\"").unwrap_err();
    let names = "\"keep\", \"one\", \"initial\", \"decay\" or \"paced\"";
    assert_eq!(error, format!("traffic[0].tcp.idle_restart: \"slow-start\" is unknown; write {names}"));
}

/// One profile with every option of another written out is that other, but for a variant that means another recovery under it: `reno`
/// of the linux profile.
#[test]
fn every_value_is_read_as_it_is_shown() {
    for (from, base) in Profile::ALL {
        for (to, profile) in Profile::ALL {
            let config = Config::new(profile);
            let variant = Config::of_variant(base, config.variant).variant;
            let mut tcp = format!("profile = \"{from}\"\n");
            for option in OPTIONS {
                match option.value(&config) {
                    Value::Unset(_) => {} // in every profile: nothing to write
                    value => tcp += &format!("{} = {value}\n", option.key),
                }
            }
            let written = scenario(&tcp).unwrap_or_else(|error| panic!("{error}\n{tcp}"));
            let flow = written.network(1).unwrap().flows.remove(0);
            let FlowKind::Bulk { tcp: read, .. } = flow.kind else { panic!("bulk is TCP") };
            assert_eq!(*read, Config { variant, ..config }, "{from} as {to}\n{tcp}");
        }
    }
}
