//! Packet-level simulation: a scenario becomes a [`network::Network`] for each seed, an engine runs it, statistics come out.
//!
//! Deterministic to the byte: integer time, one total order of events, one random stream per named entity, no clock.

pub mod ablation;
mod compile;
pub mod control;
pub mod engine;
mod input;
mod instrument;
mod kernel;
mod model;
pub mod network;
mod observe;
mod varying;
pub mod workload;

pub use compile::scenario::{self, Scenario};
pub use control::{Control, Method};
pub use engine::Engine;
pub use instrument::{Curve, Point};
pub use network::Network;
pub use observe::error::RunError;
pub use observe::output::{self, RunOutput};
pub use observe::trace;

/// What results are known by beside the scenario and the seed: a hash of all sources that they come from (`build.rs`).
pub const FINGERPRINT: &str = env!("PACELINE_FINGERPRINT");
