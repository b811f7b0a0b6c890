//! How a receiver acknowledges, where it does not say the next number and nothing else, at once.
//!
//! *References.* RFC 5681 section 4.2; RFC 7323 section 4.3; ns-2.35 tcp/tcp-sink.cc.

use super::delayed_ack::DelayedAck;
use crate::config::Config;
use crate::feedback::MOST_BLOCKS;
use paceline_core::Instant;

/// What a receiver that says more, or waits, has to know.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct AckPolicy {
    /// When the packet was sent that the next acknowledgement echoes.
    pub(super) echo: Instant,
    /// The number of the last acknowledgement; ns-2 starts with one.
    pub(super) acknowledged: u32,
    /// Blocks are reported.
    pub(super) selective: bool,
    /// So many at most, and so many are remembered.
    pub(super) most_blocks: u8,
    pub(super) remembered_blocks: u8,
    /// `None` where every packet is acknowledged at once.
    pub(super) delay: Option<DelayedAck>,
}

impl AckPolicy {
    /// That of a connection with these settings, whose host's ticks are drawn by `seed`; `None` is the plain one.
    pub(super) fn of(config: &Config, seed: u64) -> Option<Self> {
        let delay = DelayedAck::of(config, seed);
        let most_blocks = config.sack_blocks.min(MOST_BLOCKS as u32) as u8;
        (config.needs_feedback() || delay.is_some()).then(|| AckPolicy {
            echo: Instant::ZERO,
            acknowledged: 1,
            selective: config.variant.is_selective(),
            most_blocks,
            remembered_blocks: if config.rack { MOST_BLOCKS as u8 } else { most_blocks },
            delay,
        })
    }

    /// Takes in a packet: when the one was sent that the next acknowledgement echoes. RFC 7323 section 4.3: the earliest packet
    /// that is not acknowledged.
    #[inline]
    pub(super) fn take_echo(&mut self, seq: u32, sent: Instant) -> Instant {
        if seq <= self.acknowledged && sent >= self.echo {
            self.echo = sent;
        }
        self.echo
    }
}
