//! What a direction is told by other threads.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::lane::LaneSpec;

/// What a direction is told while it runs.
#[derive(Debug, Default)]
pub struct Orders {
    pub(super) word: AtomicU8,
    spec: Mutex<Option<LaneSpec>>,
}

pub(super) const STOP: u8 = 2;
pub(super) const ABANDON: u8 = 4;
#[cfg(debug_assertions)]
pub(super) const PANIC: u8 = 8;
const CHANGE: u8 = 1;

impl Orders {
    /// New parameters, from the next round on.
    pub fn change(&self, spec: LaneSpec) {
        *self.spec.lock().unwrap_or_else(PoisonError::into_inner) = Some(spec);
        self.word.fetch_or(CHANGE, Ordering::Release);
    }

    /// Take no more, let what is held leave, end.
    pub fn stop(&self) {
        self.word.fetch_or(STOP, Ordering::Release);
    }

    /// Take no more, let all traffic pass, end at once.
    pub fn abandon(&self) {
        self.word.fetch_or(ABANDON, Ordering::Release);
    }

    /// Fail, so that a test sees what comes of it.
    #[cfg(debug_assertions)]
    pub fn panic(&self) {
        self.word.fetch_or(PANIC, Ordering::Release);
    }

    pub(super) fn taken(&self) -> Option<LaneSpec> {
        self.word.fetch_and(!CHANGE, Ordering::Acquire);
        self.spec.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
