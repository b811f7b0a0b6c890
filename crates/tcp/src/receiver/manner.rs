//! How a receiver acknowledges, where it does not say the next number and nothing else, at once.

use crate::config::Config;
use crate::feedback::MOST_BLOCKS;
use paceline_core::{Instant, Span};

/// What a receiver that says more, or waits, has to know.
#[derive(Debug, Clone)]
pub(super) struct Manner {
    /// When the packet was sent that the next acknowledgement echoes.
    pub(super) echo: Instant,
    /// The number of the last acknowledgement; ns-2 starts with one.
    pub(super) acknowledged: u32,
    /// Blocks are reported.
    pub(super) selective: bool,
    /// So many at most.
    pub(super) most_blocks: u8,
    /// `None` where every packet is acknowledged at once.
    pub(super) delay: Option<Delay>,
}

/// How a receiver delays acknowledgements.
#[derive(Debug, Clone)]
pub(super) struct Delay {
    /// At most so long.
    pub(super) most: Span,
    /// An acknowledgement waits for a second packet, until then.
    pub(super) due: Option<Instant>,
    /// The packet that it is for.
    pub(super) held_back: u32,
    /// Packets below this are acknowledged at once: a SYN.
    pub(super) urgent: u32,
}

impl Manner {
    /// That of a connection with these settings; `None` is the plain one.
    pub(super) fn of(config: &Config) -> Option<Self> {
        let delay = config.delayed_ack.map(|most| {
            let urgent = u32::from(config.syn.is_some() && !config.delayed_syn_ack);
            Delay { most, due: None, held_back: 0, urgent }
        });
        (config.needs_feedback() || delay.is_some()).then(|| Manner {
            echo: Instant::ZERO,
            acknowledged: 1,
            selective: config.variant.is_selective(),
            most_blocks: config.sack_blocks.min(MOST_BLOCKS as u32) as u8,
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
