//! Flows by their numbers: all of a network's, or the share of them that one thread sees to.

use crate::model::flow::Flow;
use std::ops::{Index, IndexMut};

/// Flows with consecutive numbers.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    /// The number of the first one.
    pub(super) first: usize,
    pub(super) list: Vec<Flow>,
}

impl Flows {
    /// All that are here, in order.
    pub(crate) fn all(&self) -> &[Flow] {
        &self.list
    }
}

impl Index<usize> for Flows {
    type Output = Flow;

    #[inline(always)]
    fn index(&self, number: usize) -> &Flow {
        &self.list[number.wrapping_sub(self.first)]
    }
}

impl IndexMut<usize> for Flows {
    #[inline(always)]
    fn index_mut(&mut self, number: usize) -> &mut Flow {
        &mut self.list[number.wrapping_sub(self.first)]
    }
}
