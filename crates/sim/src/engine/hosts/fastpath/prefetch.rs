//! Software prefetch of the flows that come next.
//!
//! *Idea.* The flows of a large network do not fit the caches, and an epoch brings each of them a packet or two: most of a packet's time
//! would be waiting for memory. The order of the flows is known, so each is prefetched while those before it are handled.
//! *What it buys.* Without it 100,000 flows take 28 % more time (`benches/ablation.py --path prefetch`).

#![allow(unsafe_code, reason = "asking for memory counts as unsafe in the language, whatever the address")]

use crate::engine::hosts::Hosts;
use crate::model::flow::Flow;

/// Flows of fewer bytes together are close enough, in a core's own caches; in tests none are.
const NEAR: usize = if cfg!(debug_assertions) { 0 } else { 1 << 20 };
/// Flows between the prefetch and the use.
pub(crate) const FLOWS_AHEAD: usize = 24;
const LINE: usize = 64;

impl Hosts<'_> {
    /// Whether flows are to be prefetched.
    pub(crate) fn has_far_flows(&self) -> bool {
        crate::ablation::FastPath::Prefetch.is_on() && self.network.flows.len() * size_of::<Flow>() > NEAR
    }

    /// Prefetches the flow that is handled after so many others ([`FLOWS_AHEAD`]), if there is one.
    #[inline(always)]
    pub(crate) fn prefetch(&self, flow: Option<u32>) {
        #[cfg(target_arch = "x86_64")]
        if let Some(flow) = flow {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let start: *const i8 = std::ptr::from_ref(&self.flows[flow as usize]).cast();
            for line in 0..size_of::<Flow>().div_ceil(LINE) {
                // SAFETY: it reads nothing that the program sees, and faults at no address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line * LINE)) };
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (flow, LINE);
    }
}
