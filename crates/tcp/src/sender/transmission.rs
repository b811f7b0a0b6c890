//! What leaves and when: as the window allows, as pacing permits, with the retransmission timer set.
//!
//! *References.* RFC 6298 section 5; RFC 3042; ns-2.35 tcp/tcp.cc `send_much`, `output`.

use super::{Output, Segment, Sender, pacing};
use crate::pacing::{Permit, pacing_window};
use crate::recovery;
use paceline_core::{Instant, Span};

impl Sender {
    /// The first and the second duplicate let one new packet out each (RFC 3042; ns-2 `send_one`).
    #[inline(never)]
    pub(crate) fn limited_transmit(&mut self, now: Instant, out: &mut impl Output) {
        let in_flight = self.next - self.una;
        if in_flight < self.config.max_window
            && self.next < self.limit
            && in_flight < self.cwnd as u32 + self.duplicates
        {
            debug_assert!(self.duplicates < self.config.duplicate_threshold);
            self.transmit(self.next, now, out);
            self.next += 1;
        }
    }

    /// Sends what the window allows, at most `burst` packets, if pacing lets it and once its host has the time (ns-2 `send_much`).
    #[inline(always)]
    pub(crate) fn send_what_the_window_allows(&mut self, burst: u32, now: Instant, out: &mut impl Output) {
        if !self.waits_for_its_host(now) {
            self.send_now(burst, now, out);
        }
    }

    #[inline(always)]
    pub(super) fn send_now(&mut self, burst: u32, now: Instant, out: &mut impl Output) {
        if self.rare.pacing.is_some() {
            self.send_as_pacing_permits(burst, now, out);
        } else {
            self.send_burst(burst, now, out);
        }
    }

    #[inline(never)]
    fn send_as_pacing_permits(&mut self, burst: u32, now: Instant, out: &mut impl Output) {
        if let Some((pacing, pacing_at)) = pacing!(self) {
            let permit = pacing.on_event(pacing_window!(self), pacing_at, now);
            self.send_as_permitted(permit, burst, now, out);
        }
    }

    #[inline]
    pub(super) fn send_as_permitted(
        &mut self,
        permit: Permit,
        burst: u32,
        now: Instant,
        out: &mut impl Output,
    ) {
        let burst = match permit {
            Permit::All => burst,
            Permit::Some(packets) => burst.min(packets),
            Permit::None => return,
        };
        let sent = self.send_burst(burst, now, out);
        let more = recovery::next_packet(self).is_some();
        if let Some((pacing, pacing_at)) = pacing!(self) {
            pacing.after_burst(pacing_window!(self), (sent, more), pacing_at, now);
        }
    }

    #[inline]
    fn send_burst(&mut self, burst: u32, now: Instant, out: &mut impl Output) -> u32 {
        let burst = burst.min(self.config.max_burst);
        if self.rare.selective.is_blank() {
            let room = self.window().saturating_sub(self.next - self.una);
            let packets = room.min(self.limit.saturating_sub(self.next)).min(burst);
            for _ in 0..packets {
                self.transmit_inlined(self.next, now, out);
                self.next += 1;
            }
            if packets > 0 && self.config.has_rack() {
                self.schedule_probe(false, now); // Linux `tcp_write_xmit`
            }
            return packets;
        }
        let mut sent = 0;
        while sent < burst
            && let Some(seq) = recovery::next_packet(self)
        {
            self.transmit_inlined(seq, now, out);
            recovery::on_selective_sent(self, seq, now);
            sent += 1;
        }
        if sent > 0 && self.config.has_rack() {
            self.schedule_probe(false, now);
        }
        sent
    }

    /// The window as far as it is usable, packets, with what duplicate acknowledgements add (ns-2 `window`).
    #[inline]
    pub(crate) fn window(&self) -> u32 {
        (self.cwnd as u32 + self.inflation).min(self.config.max_window)
    }

    /// Puts packet `seq` on the wire (ns-2 `output`).
    #[inline(never)]
    pub(crate) fn transmit(&mut self, seq: u32, now: Instant, out: &mut impl Output) {
        self.transmit_inlined(seq, now, out);
    }

    /// The same, for the loop that sends nearly all packets.
    #[inline(always)]
    fn transmit_inlined(&mut self, seq: u32, now: Instant, out: &mut impl Output) {
        let nothing_outstanding = self.una == self.end;
        let retransmission = seq < self.end;
        let bytes = match self.config.syn {
            Some(syn) if seq == 0 => syn,
            _ if seq >= self.rare.short_from => self.bytes_of(seq),
            _ => self.config.data_bytes(),
        };
        out.send(Segment { seq, bytes, retransmission });
        if retransmission {
            self.counters.retransmits += 1;
        } else {
            debug_assert_eq!(seq, self.end);
            self.end = seq + 1;
            self.rtt.on_first_transmission(seq, now);
            if let Some(control) = self.control() {
                control.on_first_transmission(seq, now);
            }
        }
        if let Some(rare) = self.rare.written() {
            if !retransmission && self.config.has_rack() {
                rare.trains.push(seq, now, self.una);
            }
            rare.on_sent(1, now);
        }
        if nothing_outstanding || self.retransmission_at == Instant::MAX {
            self.restart_timer(now);
        }
    }

    /// Packet `seq` on the wire, where some are short.
    #[cold]
    pub(super) fn bytes_of(&self, seq: u32) -> u32 {
        self.rare.short.payload_of(seq).unwrap_or(self.config.payload) + self.config.header
    }

    #[inline]
    pub(crate) fn restart_timer(&mut self, now: Instant) {
        if self.config.has_rack() {
            return self.restart_alarm(now);
        }
        self.retransmission_at = match self.config.timer_tick {
            Span::ZERO => now + self.rtt.timeout(),
            _ => self.rare.wheel.after(now, self.rtt.timeout()),
        };
    }

    pub(crate) fn restart_timer_and_stop_timing(&mut self, now: Instant) {
        self.restart_timer(now);
        self.rtt.stop_timing();
    }
}
