//! Per-egress-port pacing: one gap for all flows of a host.
//!
//! *Idea.* Packets of all flows of a host leave through one queue; after a packet of L bits the next waits for
//! L / (sum over the flows of cwnd · packet bits / srtt): the port sends at the rate that its flows' windows ask for, but
//! evenly, so that the flows' bursts do not pile up on each other.
//! *Parameters.* `gain` (1): the rate is multiplied by it. Flows without a round-trip sample do not count, and a sum of zero does not pace.
//! `cap` (none): the port never sends faster, before a first sample either. As large as the port's share of the bottleneck it keeps what
//! several ports send together below it.
//! Sources without windows (CBR, ON-OFF and so on) ask for no rate: their packets pass by the port.
//! *Where it breaks.* The queue in the host adds delay that the windows then grow into.
//! *References.* M. Ghobadi and Y. Ganjali, "TCP pacing in data center networks" (2013), section V (proposed there).

use crate::kernel::packet::Packet;
use crate::network::PortPacing;
use paceline_core::{Gap, Instant, Packet as _, Rate, Span};
use std::collections::VecDeque;

/// The egress port of one host.
#[derive(Debug)]
pub(crate) struct Port {
    pacing: PortPacing,
    waiting: VecDeque<Packet>,
    gap: Gap,
    /// Sum over the host's flows, bit/s.
    rate_bps: u64,
    /// When the queue's head may go; set while there is one and no timer runs.
    head_at: Option<Instant>,
    timer_runs: bool,
}

impl Port {
    pub(crate) fn new(pacing: PortPacing) -> Self {
        Port {
            pacing,
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
        let asked = match (self.rate_bps as f64 * self.pacing.gain) as u64 {
            0 => None,
            rate => Some(Rate::from_bits_per_second(rate)),
        };
        let rate = [asked, self.pacing.cap].into_iter().flatten().min();
        self.gap.set_gap(rate.map_or(Span::ZERO, |rate| rate.time_to_send(u64::from(bytes))));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::signals::Signals;
    use paceline_core::Ecn;

    /// When packets of 1250 B leave, us, of which there are always some.
    fn leaves(pacing: PortPacing, rates_bps: &[u64]) -> Vec<u64> {
        let signals = Signals::of(Ecn::NotEct);
        let packet =
            Packet { sent: Instant::ZERO, flow: 0, seq: 0, bytes: 1250, hop: 0, is_ack: false, signals };
        let mut port = Port::new(pacing);
        let (mut now, mut times, mut before) = (Instant::ZERO, Vec::new(), 0);
        for &rate in rates_bps {
            port.change_rate(before, rate);
            before = rate;
            port.enqueue(packet);
            if port.dequeue(now).is_none() {
                now = port.timer_to_set().unwrap_or(now);
                port.timer_fired();
                assert!(port.dequeue(now).is_some());
            }
            times.push(now.as_nanos() / 1000);
        }
        times
    }

    #[test]
    fn packets_leave_at_the_sum_or_at_the_cap_if_that_is_less() {
        let mega = Rate::from_bits_per_second(1_000_000);
        let by = |gain, cap| leaves(PortPacing { gain, cap }, &[0, 0, 2_000_000, 500_000, 500_000]);
        // A packet is 10 ms at 1 Mbit/s. What is not known yet holds nothing up.
        assert_eq!(by(1.0, None), [0, 0, 0, 5_000, 25_000]);
        assert_eq!(by(2.0, None), [0, 0, 0, 2_500, 12_500]);
        assert_eq!(by(1.0, Some(mega)), [0, 10_000, 20_000, 30_000, 50_000]);
    }
}
