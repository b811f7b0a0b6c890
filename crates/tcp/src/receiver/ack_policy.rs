//! The ACK policy of a receiver that does more than to acknowledge every packet at once by a number.
//!
//! *References.* RFC 5681 section 4.2; RFC 7323 section 4.3; ns-2.35 tcp/tcp-sink.cc.

use super::delayed_ack::DelayedAck;
use super::ecn::EcnReceiver;
use super::gro::Gro;
use crate::config::Config;
use crate::feedback::{Block, MOST_BLOCKS};
use paceline_core::Instant;

/// The ACK policy of a receiver whose acknowledgements are delayed or carry feedback, and its state.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct AckPolicy {
    /// When the packet was sent that the next acknowledgement echoes.
    pub(super) echo: Instant,
    /// The number of the last acknowledgement; ns-2 starts with one.
    pub(super) acknowledged: u32,
    /// Blocks are reported.
    pub(super) selective: bool,
    /// Most blocks in an acknowledgement, and most that are remembered.
    pub(super) most_blocks: u8,
    pub(super) remembered_blocks: u8,
    /// `None` where every packet is acknowledged at once.
    pub(super) delay: Option<DelayedAck>,
    pub(super) ecn: Option<EcnReceiver>,
    /// Packets from `first` on wait for others, to be answered as one.
    pub(super) gro: Option<Gro>,
    /// The first packet with data.
    pub(super) first: u32,
    /// Packets that come once more are reported; and those of which the next acknowledgement tells (D-SACK).
    pub(super) tells_duplicates: bool,
    pub(super) duplicate: Option<Block>,
    /// Packets that were held beyond a gap, after the last packet.
    pub(super) held: u32,
}

impl AckPolicy {
    /// The policy of a connection with these settings; `seed` draws the phase of the host's ticks. `None` acknowledges every packet at
    /// once by a number.
    pub(super) fn of(config: &Config, seed: u64) -> Option<Self> {
        let delay = DelayedAck::of(config, seed);
        let most_blocks = config.sack_blocks.min(MOST_BLOCKS as u32) as u8;
        let ecn = EcnReceiver::of(config);
        let gro = Gro::of(config, seed);
        let has_any = config.needs_feedback() || delay.is_some() || ecn.is_some() || gro.is_some();
        has_any.then(|| AckPolicy {
            echo: Instant::ZERO,
            acknowledged: 1,
            selective: config.variant.is_selective(),
            most_blocks,
            remembered_blocks: if config.rack { MOST_BLOCKS as u8 } else { most_blocks },
            delay,
            ecn,
            gro,
            first: config.syn.is_some().into(),
            tells_duplicates: config.has_rack() && config.variant.is_selective(),
            duplicate: None,
            held: 0,
        })
    }

    /// The fast path of a reply: all packets before `next` have arrived, the last one now, and none beyond. Returns whether the
    /// acknowledgement is delayed; `None` where another rule applies, and nothing has changed.
    #[inline]
    pub(super) fn delays_steadily(&mut self, next: u32, now: Instant) -> Option<bool> {
        let waits = self.delay.as_mut()?.delays_steadily(next, now)?;
        if !waits {
            self.acknowledged = next;
        }
        Some(waits)
    }

    /// The earlier of a delayed acknowledgement's time and that of packets that wait for others.
    #[inline(never)]
    pub(super) fn first_due(&self, delayed: Option<Instant>) -> Option<Instant> {
        let joined = self.gro.as_ref().and_then(|gro| gro.due);
        [delayed, joined].into_iter().flatten().min()
    }

    /// All packets before this had arrived, after the last packet.
    pub(super) fn reached(&self) -> u32 {
        self.delay.as_ref().map_or(self.acknowledged, |delay| delay.reached)
    }

    /// So many packets arrive as one, the last of them `seq`; all before `next` have arrived then, and `held` beyond it: whether they had come
    /// before is what the next acknowledgement says (`tcp_dsack_set`).
    pub(super) fn note_duplicate(&mut self, (seq, packets): (u32, u32), next: u32, held: u32) {
        let had = std::mem::replace(&mut self.held, held);
        let is_first = (seq, self.first) == (0, 0); // it is expected to come without a SYN
        let is_again = seq < self.reached() && !is_first || seq >= next && held == had;
        let first = (seq + 1).saturating_sub(packets);
        self.duplicate = (is_again && first >= self.first).then_some(Block { start: first, end: seq + 1 });
    }

    /// A packet arrives. Returns the time that the next acknowledgement echoes: when the earliest packet was sent that is not
    /// acknowledged (RFC 7323 section 4.3).
    #[inline]
    pub(super) fn update_echo(&mut self, seq: u32, sent: Instant) -> Instant {
        if seq <= self.acknowledged && sent >= self.echo {
            self.echo = sent;
        }
        self.echo
    }
}
