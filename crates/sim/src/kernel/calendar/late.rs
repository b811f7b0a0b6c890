//! Events that come while their slot is being emptied, in the order of a heap: the first on top, equal ones as they came.

use crate::kernel::packet::Event;
use paceline_core::Span;
use std::cmp::Ordering;

#[derive(Debug)]
pub(super) struct Late {
    pub(super) event: Event,
    /// [`crate::kernel::precedence::Precedence::lead`] of an arrival.
    pub(super) lead: Span,
    pub(super) number: u64,
}

impl Ord for Late {
    /// The greatest is what comes first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.event.order_by(&self.event, || self.lead.cmp(&other.lead)).then(other.number.cmp(&self.number))
    }
}
impl PartialOrd for Late {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Late {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Late {}
