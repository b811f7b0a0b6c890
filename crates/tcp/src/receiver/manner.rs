//! How a receiver acknowledges, where it does not say the next number and nothing else, at once.
//!
//! *Idea.* Delayed acknowledgements wait for a second packet. Linux does not wait in two cases, unless the connection answers
//! (its host has sent data within the delay of receiving some: what it owes goes along with the next answer): for the first
//! packets, and the first after a silence, so that the sender's slow start is not slowed; and for the last packet of what an
//! application has written, which carries PSH, once the application has read all there is.
//! *Where it breaks.* Linux also acknowledges at once while it enlarges the receive buffer, which here has its size from the
//! start; and its delay grows to the round trip where acknowledgements were waited for in vain.
//! *References.* Linux net/ipv4/tcp_input.c `tcp_event_data_recv`, `tcp_measure_rcv_mss`, `tcp_enter_quickack_mode`,
//! `__tcp_ack_snd_check`, tcp.c `__tcp_cleanup_rbuf`, tcp_output.c `tcp_event_data_sent`, tcp_timer.c `tcp_delack_timer_handler`.

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
    pub(super) quick: Quick,
}

/// When a delayed acknowledgement is not delayed.
#[derive(Debug, Clone)]
pub(super) struct Quick {
    /// Packets that are acknowledged at once, to begin with; 0 does none of all this.
    most: u32,
    /// That are left of them (Linux `icsk_ack.quick`).
    left: u32,
    /// When data were last received; `None` is never.
    received_at: Option<Instant>,
    /// After so long a silence, as many again: the sender begins anew.
    silence: Span,
    /// What has come is all that the other end's application wrote, and was read (Linux `ICSK_ACK_PUSHED`).
    pub(super) pushed: bool,
    /// Data were sent soon after some were received (Linux `inet_csk_in_pingpong_mode`).
    answers: bool,
}

impl Quick {
    /// Data arrive, with a packet that had arrived before or not: whether they are acknowledged at once.
    pub(super) fn on_data(&mut self, again: bool, now: Instant) -> bool {
        if again {
            self.answers = false; // Linux `tcp_send_dupack`
        }
        if again || self.received_at.is_none_or(|at| now.since(at) > self.silence) {
            self.left = self.most;
        }
        self.received_at = Some(now);
        (self.left > 0 || self.pushed && self.most > 0) && !self.answers
    }

    /// An acknowledgement goes.
    pub(super) fn on_acknowledged(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.pushed = false;
    }

    /// Data are sent.
    pub(super) fn on_sent(&mut self, now: Instant, most: Span) {
        self.answers |= self.most > 0 && self.received_at.is_some_and(|at| now.since(at) < most);
    }

    /// Whether there is any of this.
    pub(super) fn is_on(&self) -> bool {
        self.most > 0
    }

    /// No data went back that a delayed acknowledgement could have gone along with.
    pub(super) fn on_missed(&mut self) {
        self.answers = false;
    }
}

impl Manner {
    /// That of a connection with these settings; `None` is the plain one.
    pub(super) fn of(config: &Config) -> Option<Self> {
        let delay = config.delayed_ack.map(|most| {
            let urgent = u32::from(config.syn.is_some() && !config.delayed_syn_ack);
            // A window of few packets has fewer (Linux `tcp_incr_quickack`).
            let packets = config.quick_acks.min((config.max_window / 2).max(2));
            let silence = config.min_rto;
            let quick =
                Quick { most: packets, left: 0, received_at: None, silence, pushed: false, answers: false };
            Delay { most, due: None, held_back: 0, urgent, quick }
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
