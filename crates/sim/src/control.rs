//! How a simulation is run: by which engine, and how another thread cancels it and reads its progress.

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

/// How time advances: the results are the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The batched engine where it can run and pays.
    Auto,
    /// One event a packet and hop.
    Reference,
    /// The batched engine: link by link, over an epoch of time each.
    Windowed,
}

impl Method {
    /// Every method by its name: the one list.
    pub const ALL: [(&'static str, Method); 3] =
        [("auto", Method::Auto), ("reference", Method::Reference), ("windowed", Method::Windowed)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Method::ALL.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}
