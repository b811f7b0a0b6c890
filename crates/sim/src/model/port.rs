//! Per-egress-port pacing: one gap for all flows of a host.
//!
//! *Idea.* Packets of all flows of a host leave through one queue; after a packet of L bits the next waits for
//! L / (sum over the flows of cwnd · packet bits / srtt): the port sends at the rate that its flows' windows ask for, but
//! evenly, so that the flows' bursts do not pile up on each other.
//! *Parameters.* `gain` (1): the rate is multiplied by it. Flows without a round-trip sample do not count, and a sum of zero does not pace.
//! Sources without windows (CBR, ON-OFF and so on) ask for no rate: their packets pass by the port.
//! *Where it breaks.* The queue in the host adds delay that the windows then grow into.
//! *References.* M. Ghobadi and Y. Ganjali, "TCP pacing in data center networks" (2013), section V (proposed there).

use crate::kernel::packet::Packet;
use paceline_core::{Gap, Instant, Packet as _, Rate, Span};
use std::collections::VecDeque;

/// The egress port of one host.
#[derive(Debug)]
pub(crate) struct Port {
    gain: f64,
    waiting: VecDeque<Packet>,
    gap: Gap,
    /// Sum over the host's flows, bit/s.
    rate_bps: u64,
    /// When the queue's head may go; set while there is one and no timer runs.
    head_at: Option<Instant>,
    timer_runs: bool,
}

impl Port {
    pub(crate) fn new(gain: f64) -> Self {
        Port {
            gain,
            waiting: VecDeque::new(),
            gap: Gap::default(),
            rate_bps: 0,
            head_at: None,
            timer_runs: false,
        }
    }

    pub(crate) fn enqueue(&mut self, packet: Packet) {
        self.waiting.push_back(packet);
    }

    /// The next packet, if its time has come.
    pub(crate) fn dequeue(&mut self, now: Instant) -> Option<Packet> {
        self.head_at = None;
        let bytes = self.waiting.front()?.bytes();
        let at = self.gap.next_release(now);
        if at > now {
            self.head_at = Some(at);
            return None;
        }
        self.gap.released(now);
        let rate = (self.rate_bps as f64 * self.gain) as u64;
        self.gap.set_gap(match rate {
            0 => Span::ZERO,
            rate => Rate::from_bits_per_second(rate).time_to_send(u64::from(bytes)),
        });
        self.waiting.pop_front()
    }

    /// When to set a timer for, if one is needed that does not run yet.
    pub(crate) fn timer_to_set(&mut self) -> Option<Instant> {
        let at = self.head_at.filter(|_| !self.timer_runs)?;
        self.timer_runs = true;
        Some(at)
    }

    pub(crate) fn timer_fired(&mut self) {
        self.timer_runs = false;
    }

    /// A flow's window stands for another rate than before, bit/s.
    pub(crate) fn change_rate(&mut self, before: u64, after: u64) {
        self.rate_bps = self.rate_bps - before + after;
    }

    pub(crate) fn held_packets(&self) -> u64 {
        self.waiting.len() as u64
    }
}
