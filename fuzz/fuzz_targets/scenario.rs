//! No text makes the reader panic; what it refuses is explained in a line for each fault; what it accepts becomes a network,
//! what a run of which takes is reckoned, or is refused likewise.

#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_sim::Scenario;
use paceline_sim::scenario::ScenarioError;

/// Larger networks only take longer.
const MOST_HOSTS: u64 = 1000;

fuzz_target!(|text: &str| {
    for read in [Scenario::from_toml(text), Scenario::from_json(text)] {
        let outcome = match read {
            Ok(scenario) if scenario.hosts() > MOST_HOSTS || scenario.most_flows() > 10 * MOST_HOSTS => {
                continue;
            }
            Ok(scenario) => {
                let described = scenario.describe(scenario.seed()).map(|_| ());
                described.and(scenario.network(scenario.seed()).map(|network| drop(network.estimate())))
            }
            Err(error) => Err(error),
        };
        for fault in outcome.as_ref().err().into_iter().flat_map(ScenarioError::each) {
            assert_eq!(fault.to_string().lines().count(), 1);
        }
    }
});
