//! No text makes the reader panic; what it refuses is explained in one line; what it accepts becomes a network or one
//! line more.

#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_sim::Scenario;

/// Larger networks only take longer.
const MOST_HOSTS: u64 = 1000;

fuzz_target!(|text: &str| {
    for read in [Scenario::from_toml(text), Scenario::from_json(text)] {
        let outcome = match read {
            Ok(scenario) if scenario.hosts() > MOST_HOSTS || scenario.most_flows() > 10 * MOST_HOSTS => {
                continue;
            }
            Ok(scenario) => scenario.describe(scenario.seed()).map(|_| ()),
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            assert_eq!(error.to_string().lines().count(), 1);
        }
    }
});
