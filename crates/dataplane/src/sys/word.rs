//! A number in shared memory that each side reads and writes whole. What is generic over it can be run by a model of memory
//! (`loom`) instead of the machine.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// An atomic T: the standard library's, or a model's.
pub trait Word<T> {
    /// Reads it.
    fn load(&self, order: Ordering) -> T;
    /// Writes it.
    fn store(&self, value: T, order: Ordering);
}

impl Word<u32> for AtomicU32 {
    #[inline]
    fn load(&self, order: Ordering) -> u32 {
        AtomicU32::load(self, order)
    }

    #[inline]
    fn store(&self, value: u32, order: Ordering) {
        AtomicU32::store(self, value, order);
    }
}

impl Word<u64> for AtomicU64 {
    #[inline]
    fn load(&self, order: Ordering) -> u64 {
        AtomicU64::load(self, order)
    }

    #[inline]
    fn store(&self, value: u64, order: Ordering) {
        AtomicU64::store(self, value, order);
    }
}

#[cfg(all(test, not(miri)))]
pub(crate) mod model;
