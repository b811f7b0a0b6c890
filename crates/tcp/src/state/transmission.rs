//! Transmission of one packet, and the retransmission timer.
//!
//! *References.* RFC 6298 section 5; RFC 3042; ns-2.35 tcp/tcp.cc `output`.

use super::State;
use crate::segment::{Output, Segment};
use paceline_core::{Instant, Span};

impl State {
    /// The window as far as it is usable, packets, with what duplicate acknowledgements add (ns-2 `window`).
    #[inline]
    pub(crate) fn window(&self) -> u32 {
        (self.cwnd as u32 + self.inflation).min(self.config.max_window)
    }

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

    /// Puts packet `seq` on the wire (ns-2 `output`).
    #[inline(never)]
    pub(crate) fn transmit(&mut self, seq: u32, now: Instant, out: &mut impl Output) {
        self.transmit_inlined(seq, now, out);
    }

    /// [`State::transmit`] for the loop that sends nearly all packets.
    #[inline(always)]
    pub(crate) fn transmit_inlined(&mut self, seq: u32, now: Instant, out: &mut impl Output) {
        let nothing_outstanding = self.una == self.end;
        let retransmission = seq < self.end;
        let bytes = match self.config.syn {
            Some(syn) if seq == 0 => syn,
            _ if seq >= self.cold.short_from => self.bytes_of(seq),
            _ => self.config.data_bytes(),
        };
        out.send(Segment { seq, bytes, retransmission });
        if retransmission {
            self.counts.retransmits += 1;
            if let Some(control) = self.control() {
                control.on_retransmission(seq, now);
            }
        } else {
            debug_assert_eq!(seq, self.end);
            self.end = seq + 1;
            self.rtt.on_first_transmission(seq, now);
            if let Some(control) = self.control() {
                control.on_first_transmission(seq, now);
            }
        }
        let joins_train = !retransmission && self.keeps_trains();
        if let Some(cold) = self.cold.written() {
            if joins_train {
                cold.trains.push(seq, now, self.una);
            }
            if let Some(queue) = &mut cold.small_queue {
                queue.push(u64::from(bytes.saturating_sub(self.config.header)));
            }
            cold.on_sent(1, now);
        }
        if nothing_outstanding || self.retransmission_at == Instant::MAX {
            self.restart_timer(now);
        }
    }

    /// The size of packet `seq` on the wire, where some packets are short.
    #[cold]
    pub(crate) fn bytes_of(&self, seq: u32) -> u32 {
        self.cold.short.payload_of(seq).unwrap_or(self.config.payload) + self.config.header
    }

    #[inline]
    pub(crate) fn restart_timer(&mut self, now: Instant) {
        if self.has_rack() {
            return self.restart_loss_timer(now);
        }
        self.retransmission_at = match self.config.timer_tick {
            Span::ZERO => now + self.rtt.timeout(),
            _ => self.cold.wheel.after(now, self.rtt.timeout()),
        };
    }

    pub(crate) fn restart_timer_and_stop_timing(&mut self, now: Instant) {
        self.restart_timer(now);
        self.rtt.stop_timing();
    }
}
