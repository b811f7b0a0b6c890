//! What a link dropped, by cause, and what it marked.

use crate::kernel::cause::Cause;
use crate::model::link::LinkCounters;
use crate::network::Network;
use serde::Serialize;

/// Packets that a link marked over the window, and those that it dropped, by cause: together they are its
/// `dropped_packets`. A cause that the link does not have is `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CauseStatistics {
    /// Packets whose congestion-experienced bits were set, by its queue or a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked_packets: Option<u64>,
    /// Dropped before the buffer's limit was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_drops: Option<u64>,
    /// Dropped because it was.
    pub overflow_drops: u64,
    /// Their loss was forced by the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forced_drops: Option<u64>,
    /// They did not conform to the policer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policer_drops: Option<u64>,
    /// The pacer held as much as it may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacer_drops: Option<u64>,
    /// The memory had no room that the link shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_drops: Option<u64>,
}

impl CauseStatistics {
    /// Of a link; `None` where a full buffer is the only cause that it has.
    pub(super) fn of(network: &Network, id: usize, counters: &LinkCounters) -> Option<Self> {
        let fitting = &network.links[id].fitting;
        let acts_early = fitting.buffer.discipline.acts_early();
        let is_forced = network.drops.iter().any(|rule| rule.link as usize == id && !rule.marks);
        let has = |cause| match cause {
            Cause::Overflow => true,
            Cause::Early => acts_early,
            Cause::Forced => acts_early || is_forced,
            Cause::Policer => fitting.policer.is_some(),
            Cause::Pacer => fitting.pacer.as_ref().is_some_and(|pacer| pacer.limit.is_some()),
            Cause::Memory => network.memory_of(id as u32).is_some(),
        };
        if Cause::ALL.into_iter().filter(|cause| has(*cause)).count() < 2 {
            return None;
        }
        let dropped_for = |cause| has(cause).then(|| counters.dropped_for(cause));
        Some(CauseStatistics {
            marked_packets: acts_early.then_some(counters.marked),
            early_drops: dropped_for(Cause::Early),
            overflow_drops: counters.dropped_for(Cause::Overflow),
            forced_drops: dropped_for(Cause::Forced),
            policer_drops: dropped_for(Cause::Policer),
            pacer_drops: dropped_for(Cause::Pacer),
            memory_drops: dropped_for(Cause::Memory),
        })
    }
}
