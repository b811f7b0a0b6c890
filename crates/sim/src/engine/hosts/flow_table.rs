//! Flows by their numbers: all of a network's, or the share of them that one thread sees to.

use crate::model::flow::Flow;
use std::ops::{Index, IndexMut};

/// Flows with consecutive numbers.
#[derive(Debug, Default)]
pub(crate) struct FlowTable {
    /// The number of the first one.
    pub(crate) first: usize,
    pub(crate) list: Vec<Flow>,
}

impl FlowTable {
    /// All that are here, in order.
    pub(crate) fn all(&self) -> &[Flow] {
        &self.list
    }
}

impl Index<usize> for FlowTable {
    type Output = Flow;

    #[inline(always)]
    fn index(&self, number: usize) -> &Flow {
        &self.list[number.wrapping_sub(self.first)]
    }
}

impl IndexMut<usize> for FlowTable {
    #[inline(always)]
    fn index_mut(&mut self, number: usize) -> &mut Flow {
        &mut self.list[number.wrapping_sub(self.first)]
    }
}
