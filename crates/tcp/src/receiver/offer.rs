//! The window that a receiver offers: while it grows, packets are acknowledged at once.
//!
//! *Idea.* A receiver has room for what its application has read in a round trip, twice, so that the sender may double its rate, and more
//! where that has grown. What it offers grows to that by two packets with each that arrives.
//! *Where it breaks.* Only when it grows is modelled: what a sender may send is `max_window` from the start. Room is counted in packets of
//! 1448 B, as an Ethernet has them.
//! *References.* Linux 6.18 net/ipv4/tcp_input.c `tcp_grow_window`, `tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`.

use super::delay::Arrival;
use paceline_core::{Instant, Span};

/// Bytes of a packet, and those of the buffer's room that it takes while it waits (2304 B of memory, of which 160 in 256 count).
const PACKET: u32 = 1448;
const WAITING: u32 = 1440;
/// Bytes offered at first (Linux `tcp_select_initial_window`: 65535, in whole packets).
const FIRST: u32 = 45 * PACKET;
/// Bytes that a receive buffer of 128 KiB has room for (net.ipv4.tcp_rmem).
const ROOM: u32 = 81_920;
/// Packets that a round trip is taken to have brought before any has been measured (Linux `tcp_init_buffer_space`).
const BEGIN: u32 = 10;

#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    /// Bytes offered, those that there is room for, and `max_window`.
    offered: u32,
    room: u32,
    most: u32,
    /// Most packets that were read in a round trip (Linux `rcvq_space`).
    most_read: u32,
    /// What is read is counted from this packet, and time, on.
    from: u32,
    since: Option<Instant>,
}

impl Offer {
    /// What a receiver offers whose window is `most` packets.
    pub(super) fn new(most: u32) -> Self {
        let most = most.saturating_mul(PACKET);
        Offer { offered: FIRST.min(most), room: ROOM.min(most), most, most_read: BEGIN, from: 0, since: None }
    }

    /// A packet has arrived: whether the window grows. The application reads what is in order.
    pub(super) fn on_packet(&mut self, arrival: Arrival, round_trip: Option<Span>) -> bool {
        let Arrival { before, next, held, now, .. } = arrival;
        let waiting = (held + u32::from(next > before)).saturating_mul(WAITING);
        let limit = self.room.saturating_sub(waiting);
        let grows = self.offered < limit;
        if grows {
            self.offered = limit.min(self.offered.saturating_add(2 * PACKET));
        }
        if next > before {
            self.read(before, next, now, round_trip.unwrap_or(Span::MAX));
        } else {
            self.grow_to(2 * u64::from(self.most_read) + u64::from(arrival.reach));
        }
        grows
    }

    /// Until then packets in order do not make the window grow.
    pub(super) fn steady_until(&self, round_trip: Option<Span>) -> Instant {
        let is_settled = self.offered >= self.room.saturating_sub(WAITING);
        match self.since.filter(|_| is_settled) {
            Some(since) => round_trip.map_or(Instant::MAX, |rtt| since + rtt),
            None => Instant::ZERO,
        }
    }

    /// Most packets that were read in a round trip.
    pub(super) fn most_read(&self) -> u32 {
        self.most_read
    }

    /// A packet is read; those that follow it wait, and mean that the application is behind (`tcp_rcv_space_adjust`).
    fn read(&mut self, before: u32, next: u32, now: Instant, round_trip: Span) {
        let Some(since) = self.since else {
            (self.from, self.since) = (before, Some(now));
            return;
        };
        if now.since(since) < round_trip {
            return;
        }
        let upto = before + 1;
        let read = (upto - self.from).saturating_sub(next - upto);
        (self.from, self.since) = (upto, Some(now));
        if read > self.most_read {
            let (read, earlier) = (u64::from(read), u64::from(self.most_read));
            self.most_read = read as u32;
            self.grow_to(2 * read + 2 * (2 * read * (read - earlier) / earlier));
        }
    }

    /// There is room for so many packets (`tcp_rcvbuf_grow`).
    fn grow_to(&mut self, packets: u64) {
        let bytes = packets.saturating_mul(u64::from(PACKET)).min(u64::from(self.most));
        self.room = self.room.max(bytes as u32);
    }
}
