//! The window that a receiver offers (Linux's receive buffer auto-tuning): while it grows, packets are acknowledged at once.
//!
//! *Idea.* The receive buffer has room for twice what the application has read in a round trip, so that the sender may double its rate,
//! and for more where that has grown. With each packet that arrives, the offered window grows by two packets up to that room.
//! *Where it breaks.* Only the times of growth are modelled: a sender may send `max_window` from the start. Room is counted in packets
//! of 1448 B, as on an Ethernet.
//! *References.* Linux 6.18 net/ipv4/tcp_input.c `tcp_grow_window`, `tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`.

use super::arrival::Arrival;
use paceline_core::{Instant, Span};

/// Bytes of a packet, and the room that it takes in the buffer until it is read (2304 B of memory, of which 160 in 256 count).
const PACKET: u32 = 1448;
const WAITING: u32 = 1440;
/// Bytes offered at first (Linux `tcp_select_initial_window`: 65535, in whole packets).
const FIRST: u32 = 45 * PACKET;
/// Bytes that a receive buffer of 128 KiB has room for (net.ipv4.tcp_rmem).
const ROOM: u32 = 81_920;
/// Packets assumed to be read in a round trip before any has been measured (Linux `tcp_init_buffer_space`).
const BEGIN: u32 = 10;

#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiveWindow {
    /// Bytes: offered, in the buffer, and `max_window`.
    offered: u32,
    room: u32,
    most: u32,
    /// Most packets that were read in a round trip (Linux `rcvq_space`).
    most_read: u32,
    /// Reading is counted from this packet and this time on.
    from: u32,
    since: Option<Instant>,
}

impl ReceiveWindow {
    /// The window of a receiver whose `max_window` is `most` packets.
    pub(super) fn new(most: u32) -> Self {
        let most = most.saturating_mul(PACKET);
        ReceiveWindow {
            offered: FIRST.min(most),
            room: ROOM.min(most),
            most,
            most_read: BEGIN,
            from: 0,
            since: None,
        }
    }

    /// A packet has arrived, and the application reads what is in order. Returns whether the window grows.
    pub(super) fn on_packet(&mut self, arrival: Arrival, round_trip: Option<Span>) -> bool {
        let Arrival { packets, before, next, held, now, .. } = arrival;
        let in_order = if next > before { packets } else { 0 };
        let waiting = (held + in_order).saturating_mul(WAITING);
        let limit = self.room.saturating_sub(waiting);
        let grows = self.offered < limit;
        if grows {
            self.offered = limit.min(self.offered.saturating_add(2 * PACKET * packets));
        }
        if next > before {
            self.read((before, packets), next, now, round_trip.unwrap_or(Span::MAX));
        } else {
            self.grow_to(2 * u64::from(self.most_read) + u64::from(arrival.reach));
        }
        grows
    }

    /// Until when packets in order do not make the window grow.
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

    /// `packets` are read that have arrived as one. Packets behind them that were held are not read yet (`tcp_rcv_space_adjust`).
    fn read(&mut self, (before, packets): (u32, u32), next: u32, now: Instant, round_trip: Span) {
        let Some(since) = self.since else {
            (self.from, self.since) = (before, Some(now));
            return;
        };
        if now.since(since) < round_trip {
            return;
        }
        let upto = (before + packets).min(next);
        let read = (upto - self.from).saturating_sub(next - upto);
        (self.from, self.since) = (upto, Some(now));
        if read > self.most_read {
            let (read, earlier) = (u64::from(read), u64::from(self.most_read));
            self.most_read = read as u32;
            self.grow_to(2 * read + 2 * (2 * read * (read - earlier) / earlier));
        }
    }

    /// Makes room for `packets` (`tcp_rcvbuf_grow`).
    fn grow_to(&mut self, packets: u64) {
        let bytes = packets.saturating_mul(u64::from(PACKET)).min(u64::from(self.most));
        self.room = self.room.max(bytes as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(before: u32, next: u32, ms: u64) -> Arrival {
        let now = Instant::ZERO + Span::from_millis(ms);
        Arrival { seq: before, packets: 1, before, next, held: 0, reach: 0, selective: true, now }
    }

    /// `tcp_grow_window`: by two packets with each that arrives, from 45 to what 80 KiB hold beside those that wait to be read: 1440 B
    /// each, the one that has just come in order among them.
    #[test]
    fn the_window_grows_by_two_packets_with_each_to_the_room_that_is_left() {
        let mut offer = ReceiveWindow::new(10_000);
        let grown: Vec<bool> = (1..=7).map(|seq| offer.on_packet(arrival(seq, seq + 1, 0), None)).collect();
        assert_eq!(grown, [true, true, true, true, true, true, false]);
        assert_eq!(offer.offered, 81_920 - 1_440);
        let held = Arrival { held: 1, ..arrival(8, 8, 0) };
        assert!(!offer.on_packet(held, None), "it takes as much while it is held");
        assert!(offer.on_packet(arrival(8, 8, 0), None), "one that came twice takes none");
        assert_eq!(offer.offered, 81_920);
    }

    /// `tcp_rcvbuf_grow`: there is room for what is read in a round trip, twice, and for what is beyond a gap.
    #[test]
    fn what_is_beyond_a_gap_makes_room() {
        let mut offer = ReceiveWindow::new(10_000);
        offer.on_packet(Arrival { held: 39, reach: 40, ..arrival(1, 1, 0) }, None);
        assert_eq!(offer.room, 60 * PACKET);
        let mut small = ReceiveWindow::new(30);
        small.on_packet(Arrival { held: 39, reach: 40, ..arrival(1, 1, 0) }, None);
        assert_eq!((small.room, small.offered), (30 * PACKET, 30 * PACKET));
    }

    /// `tcp_rcv_space_adjust`: once in a round trip; the four packets behind the one that fills a gap are not read yet.
    #[test]
    fn what_is_read_in_a_round_trip_makes_room_for_twice_as_much_and_more_where_it_grows() {
        let rtt = Some(Span::from_millis(100));
        let mut offer = ReceiveWindow::new(10_000);
        offer.on_packet(arrival(1, 2, 0), rtt);
        offer.on_packet(arrival(60, 61, 99), rtt);
        assert_eq!(offer.most_read(), 10);
        offer.on_packet(arrival(61, 66, 100), rtt);
        assert_eq!(offer.most_read(), 57); // packets 1 to 61, less 62 to 65
        assert_eq!(offer.room, (2 * 57 + 2 * (2 * 57 * 47 / 10)) * PACKET);
        offer.on_packet(arrival(90, 91, 200), rtt); // 62 to 90: no more
        assert_eq!(offer.most_read(), 57);
    }

    /// Steady until the end of the round trip, where the whole buffer is offered.
    #[test]
    fn it_is_steady_where_it_cannot_grow() {
        let rtt = Span::from_millis(100);
        let mut offer = ReceiveWindow::new(10_000);
        for seq in 1..=6 {
            assert_eq!(offer.steady_until(Some(rtt)), Instant::ZERO);
            offer.on_packet(arrival(seq, seq + 1, 5), Some(rtt));
        }
        assert_eq!(offer.steady_until(Some(rtt)), Instant::ZERO + Span::from_millis(105));
        assert_eq!(offer.steady_until(None), Instant::MAX);
    }
}
