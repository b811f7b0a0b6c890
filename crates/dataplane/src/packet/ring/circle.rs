//! Whose the places of a circle are: a word in each says so. The kernel fills those that are its own, the program empties the others.

use std::sync::atomic::Ordering;

use crate::sys::word::Word;

/// The place is the program's (`TP_STATUS_USER`).
pub(super) const STATUS_USER: u32 = 1;
/// It is the kernel's (`TP_STATUS_KERNEL`).
const STATUS_KERNEL: u32 = 0;

/// What both sides have: the word of each place.
pub(super) trait Statuses {
    type Status: Word<u32>;

    fn status(&self, place: usize) -> &Self::Status;
}

/// How far the program has come.
#[derive(Debug)]
pub(super) struct Circle {
    places: usize,
    /// The next place to look at, and the first that has not been given back.
    next: usize,
    oldest: usize,
    /// Places between the two.
    used: usize,
}

impl Circle {
    pub(super) fn new(places: usize) -> Self {
        Circle { places, next: 0, oldest: 0, used: 0 }
    }

    /// How many places it has.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.places
    }

    /// Whether a place has been filled that the program does not have yet.
    #[inline]
    pub(super) fn has_any(&self, statuses: &impl Statuses) -> bool {
        self.used < self.places && statuses.status(self.next).load(Ordering::Acquire) & STATUS_USER != 0
    }

    /// The next place, which is the program's until [`Circle::put_back`].
    #[inline]
    pub(super) fn take(&mut self, statuses: &impl Statuses) -> Option<usize> {
        if !self.has_any(statuses) {
            return None;
        }
        let place = self.next;
        self.next = (place + 1) % self.places;
        self.used += 1;
        Some(place)
    }

    /// All that was taken is the kernel's again.
    pub(super) fn put_back(&mut self, statuses: &impl Statuses) {
        for _ in 0..self.used {
            statuses.status(self.oldest).store(STATUS_KERNEL, Ordering::Release);
            self.oldest = (self.oldest + 1) % self.places;
        }
        self.used = 0;
    }
}

#[cfg(all(test, not(miri)))]
#[allow(clippy::unwrap_used, reason = "a test says what went wrong")]
mod model;
