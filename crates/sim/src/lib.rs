//! Packet-level simulation: a scenario becomes a [`network::Network`] for each seed, an engine runs it, statistics come out.
//!
//! Deterministic to the byte: integer time, one total order of events, one random stream per named entity, no clock.

pub mod ablation;
pub mod analysis;
mod calendar;
pub mod chance;
pub mod control;
pub mod engine;
mod feedback;
mod flow;
mod hesitation;
mod instrument;
mod link;
mod meter;
pub mod network;
pub mod output;
mod packet;
mod port;
mod precedence;
pub mod scenario;
mod template;
pub mod trace;
pub mod workload;

pub use control::Control;
pub use engine::{Engine, Method};
pub use instrument::{Curve, Point};
pub use network::Network;
pub use output::{RunError, RunOutput};
pub use scenario::Scenario;

/// What results are known by beside the scenario and the seed: a hash of all sources that they come from (`build.rs`).
pub const FINGERPRINT: &str = env!("PACELINE_FINGERPRINT");
