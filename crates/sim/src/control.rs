//! What another thread may say to, and see of, a simulation that runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared with a running simulation.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
    /// Simulated nanoseconds so far.
    simulated: AtomicU64,
    /// Simulated nanoseconds in all; 0 before the start.
    duration: AtomicU64,
}

impl Control {
    /// Asks the simulation to stop; it does within milliseconds.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// How far it is, from 0 to 1.
    pub fn fraction(&self) -> f64 {
        let duration = self.duration.load(Ordering::Relaxed);
        if duration == 0 { 0.0 } else { self.simulated.load(Ordering::Relaxed) as f64 / duration as f64 }
    }

    /// So much is done of so much.
    pub fn report(&self, simulated: u64, duration: u64) {
        self.duration.store(duration, Ordering::Relaxed);
        self.simulated.store(simulated, Ordering::Relaxed);
    }
}
