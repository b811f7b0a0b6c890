//! Runs one seed of a scenario and prints its summary: the engine alone, for profilers.
//!
//! `cargo run --release --example engine -- scenarios/one-flow.toml [seed]`

use paceline_sim::{Control, Engine, Scenario};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: engine SCENARIO.toml [SEED]")?;
    let scenario = Scenario::from_toml(&std::fs::read_to_string(path)?)?;
    let seed = arguments.next().map_or(Ok(scenario.seed()), |seed| seed.parse())?;
    let network = scenario.network(seed)?;
    let output = Engine::run(&network, &Control::default(), None)?;
    println!("{}", serde_json::to_string_pretty(&output)?);
    println!("core packets: {}", output.core_packets);
    Ok(())
}
