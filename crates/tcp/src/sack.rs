//! The state of recoveries that read selective acknowledgements, which know of single packets. Numbers are packet numbers.
//!
//! A connection has this state only while a packet is missing ([`crate::sparse`]).

mod marks;
mod rack;
mod rate_reduction;
mod scoreboard;

use crate::sparse::{Blank, Sparse};
pub(crate) use marks::Changes;
use marks::Marks;
pub(crate) use rack::{CaState, RackState};
pub(crate) use rate_reduction::RateReduction;
use scoreboard::Scoreboard;

/// What is kept while a packet is missing.
#[derive(Debug, Clone, Default)]
pub(crate) struct SackState {
    /// The packets that the receiver holds beyond a gap.
    pub(crate) board: Scoreboard,
    /// Fast recovery runs.
    pub(crate) recovering: bool,
    /// Sack1: a timeout, and no new acknowledgement since. FACK: a retransmission is lost, and only a timeout helps. Rate
    /// halving: a timeout, and not all acknowledged that was outstanding.
    pub(crate) stalled: bool,
    /// Holes below this have been retransmitted.
    pub(crate) retransmitted_to: u32,
    /// Sack1: packets estimated to be in flight, during recovery.
    pub(crate) pipe: i64,
    /// Sack1 with `partial_ack`: where its search for unacknowledged packets resumes.
    pub(crate) partial_from: u32,
    /// RFC 6675: the rescue retransmission may be made once `una` is beyond this.
    pub(crate) rescue: u32,
    /// FACK: one more than the highest packet that the receiver is known to hold.
    pub(crate) forward: u32,
    /// FACK: packets retransmitted and not known to have arrived, each with `next` at that time.
    pub(crate) retransmitted: Vec<(u32, u32)>,
    /// FACK: of these, how often one was retransmitted again before that was known.
    pub(crate) counted_twice: u32,
    /// RACK.
    pub(crate) rack: RackState,
    /// FACK: packets between the acknowledged and the highest held; as many as duplicate acknowledgements would count.
    pub(crate) beyond: i64,
    /// Rate halving: this many packets may be in flight although the window is smaller.
    pub(crate) most: u32,
    /// Rate halving: the state of each packet.
    pub(crate) marks: Sparse<Marks>,
}

impl Blank for SackState {
    fn blank() -> &'static Self {
        static BLANK: SackState = SackState {
            board: Scoreboard::new(),
            recovering: false,
            stalled: false,
            retransmitted_to: 0,
            pipe: 0,
            partial_from: 0,
            rescue: 0,
            forward: 0,
            retransmitted: Vec::new(),
            counted_twice: 0,
            rack: RackState::BLANK,
            beyond: 0,
            most: 0,
            marks: Sparse::BLANK,
        };
        &BLANK
    }
}

impl SackState {
    /// Nothing is missing when all packets before `una` are acknowledged: this state can be dropped.
    pub(crate) fn is_stale(&self, una: u32) -> bool {
        !self.recovering
            && !self.stalled
            && self.board.is_empty()
            && self.retransmitted.is_empty()
            && self.marks.is_empty()
            && self.beyond == 0
            && self.rack.is_stale(una)
            && self.retransmitted_to.max(self.partial_from).max(self.forward) <= una
    }
}
