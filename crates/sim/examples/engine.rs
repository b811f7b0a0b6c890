//! Runs one seed of a scenario and prints its summary: the engine alone, for profilers.
//!
//! `cargo run --release --example engine -- scenarios/one-flow.toml [seed] [threads] [engine] [fast paths to leave out: with the feature `ablation`]`

use paceline_sim::{Control, Engine, Method, Scenario};

/// As in the Python module.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: engine SCENARIO.toml [SEED] [THREADS] [ENGINE]")?;
    let scenario = Scenario::from_toml(&std::fs::read_to_string(path)?)?;
    let seed = arguments.next().map_or(Ok(scenario.seed()), |seed| seed.parse())?;
    let threads = arguments.next().map_or(Ok(1), |threads| threads.parse())?;
    let name = arguments.next().unwrap_or_else(|| Method::Auto.name().to_owned());
    let (_, method) = Method::ALL.into_iter().find(|(known, _)| *known == name).ok_or("no such engine")?;
    #[cfg(feature = "ablation")]
    for name in arguments {
        let mut all = paceline_sim::ablation::FastPath::ALL.into_iter();
        all.find(|(known, _)| *known == name).ok_or("no such fast path")?.1.leave_out();
    }
    let network = scenario.network(seed)?;
    let output = Engine::run_by(&network, method, threads, &Control::default(), None)?;
    println!("{}", serde_json::to_string_pretty(&output)?);
    println!("core packets: {}", output.core_packets);
    Ok(())
}
