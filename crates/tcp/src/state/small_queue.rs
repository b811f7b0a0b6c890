//! TCP small queues: what a connection keeps in the queue of its own host.
//!
//! *Idea.* A packet that waits in the host's own queue is sent as far as TCP knows, and makes the round trip longer. So Linux counts what a connection has
//! there, buffer by buffer, and sends no more while that is above a millisecond of its rate, or two buffers if they are more; a buffer counts whole until its
//! last packet is on the wire, and the first that has left lets the connection go on. A window that small queues leave unused does not grow ([`Usage`]).
//! *Parameters.* `tsq` of [`Config`](crate::Config): the most that a connection has there, whatever its rate.
//! *Where it breaks.* Linux retransmits no packet that is still in the host's queue (`skb_still_in_host_queue`); here it does, which only a timeout shorter than the wait in
//! that queue shows.
//! *References.* Linux 6.18 net/ipv4/tcp_output.c `tcp_small_queue_check`, `tcp_wfree`, `tcp_cwnd_validate`; include/net/tcp.h `tcp_is_cwnd_limited`;
//! E. Dumazet, "tcp: TCP Small Queues" (46d3ceabd8d9, 2012).

use paceline_core::Instant;
use std::collections::VecDeque;

/// What a buffer takes beside its payload, bytes: `SKB_TRUESIZE` of a small head, as `ss -m` shows it.
const OVERHEAD: u64 = 832;
/// A millisecond of the rate is that shifted by so many bits (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;

/// A buffer that has been handed to the host.
#[derive(Debug, Clone, Copy)]
struct Buffer {
    bytes: u64,
    /// Packets of which the host has not said yet when they will be on the wire.
    unknown: u32,
    /// When the last of the others will be.
    leaves: Instant,
}

/// What a connection has in its host's queue.
#[derive(Debug, Clone)]
pub(crate) struct SmallQueue {
    /// In the order in which they leave.
    buffers: VecDeque<Buffer>,
    /// Their sum, bytes.
    bytes: u64,
    /// The connection waits for the first of them to leave (`TSQ_THROTTLED`).
    waits: bool,
    pub(crate) usage: Usage,
}

/// What would be sent next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Next {
    /// Bytes of payload of the buffer.
    pub(crate) payload: u64,
    pub(crate) is_retransmission: bool,
    /// No more than one buffer has been sent and not acknowledged: it is sent whatever the queue holds.
    pub(crate) is_alone: bool,
    /// Payload, byte/s.
    pub(crate) rate: u64,
    /// [`Config::tsq`](crate::Config::tsq), bytes.
    pub(crate) most: u64,
}

impl SmallQueue {
    pub(crate) const EMPTY: SmallQueue =
        SmallQueue { buffers: VecDeque::new(), bytes: 0, waits: false, usage: Usage::NONE };

    /// A packet of so many bytes of payload is handed to the host, as a buffer of its own.
    pub(crate) fn push(&mut self, payload: u64) {
        let bytes = OVERHEAD + payload;
        self.buffers.push_back(Buffer { bytes, unknown: 1, leaves: Instant::ZERO });
        self.bytes += bytes;
    }

    /// So many buffers of one packet each, pushed last, are one.
    pub(crate) fn join(&mut self, packets: u32) {
        for _ in 1..packets {
            let (Some(last), Some(before)) = (self.buffers.pop_back(), self.buffers.back_mut()) else {
                return;
            };
            before.bytes += last.bytes - OVERHEAD;
            before.unknown += last.unknown;
            self.bytes -= OVERHEAD;
        }
    }

    /// Of the packets of which that is not known, the first will be on the wire then.
    pub(crate) fn leaves(&mut self, at: Instant) {
        let place = self.buffers.partition_point(|buffer| buffer.unknown == 0);
        if let Some(buffer) = self.buffers.get_mut(place) {
            (buffer.unknown, buffer.leaves) = (buffer.unknown - 1, at);
        }
    }

    /// Whether the connection has to wait with what comes next (`tcp_small_queue_check`).
    pub(crate) fn holds_back(&mut self, next: Next, now: Instant) -> bool {
        while let Some(first) = self.buffers.front().filter(|first| first.unknown == 0 && first.leaves <= now)
        {
            self.bytes -= first.bytes;
            self.buffers.pop_front();
        }
        let Next { payload, is_retransmission, is_alone, rate, most } = next;
        let limit =
            (2 * (OVERHEAD + payload)).max(rate >> PACING_SHIFT).min(most) << u32::from(is_retransmission);
        // The socket itself counts as a byte (`sk_wmem_alloc` begins with 1).
        self.waits = self.bytes + 1 > limit && !is_alone;
        self.waits
    }

    /// When what the connection waits for has left; [`Instant::MAX`] where it does not wait.
    pub(crate) fn due(&self) -> Instant {
        let first = self.buffers.front().filter(|first| self.waits && first.unknown == 0);
        first.map_or(Instant::MAX, |first| first.leaves)
    }

    /// The connection goes on.
    pub(crate) fn go_on(&mut self) {
        self.waits = false;
    }

    pub(crate) fn waits(&self) -> bool {
        self.waits
    }
}

/// How far the congestion window was used up, in the round trip that ends at `until` (`tcp_cwnd_validate`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// It was.
    is_limited: bool,
    /// Most packets that were sent and not acknowledged.
    most: u32,
    /// Packet number.
    until: u32,
}

impl Usage {
    const NONE: Usage = Usage { is_limited: false, most: 0, until: 0 };

    /// Packets from `una` up to `end` are outstanding after the connection has sent what it could; the congestion window `is_limiting`.
    pub(crate) fn note(&mut self, is_limiting: bool, una: u32, end: u32) {
        let outstanding = end - una;
        if una >= self.until || is_limiting || !self.is_limited && outstanding > self.most {
            *self = Usage { is_limited: is_limiting, most: outstanding, until: end };
        }
    }

    /// A congestion window of so many packets may grow (`tcp_is_cwnd_limited`).
    pub(crate) fn lets_grow(&self, cwnd: u32, is_slow_start: bool) -> bool {
        self.is_limited || is_slow_start && cwnd < self.most.saturating_mul(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u64 = 1448;

    fn next(rate: u64) -> Next {
        Next { payload: MTU, is_retransmission: false, is_alone: false, rate, most: 4 << 20 }
    }

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    /// Packets that a connection of this rate gets rid of at once, byte/s.
    fn fit(next: Next) -> u32 {
        let mut queue = SmallQueue::EMPTY;
        let mut packets = 0;
        while !queue.holds_back(next, at(0)) {
            queue.push(MTU);
            packets += 1;
        }
        packets
    }

    #[test]
    fn two_buffers_fit_or_a_millisecond_and_twice_that_sent_again() {
        // Of 2280 B each; 10,000 kB/s are 9765 B in 1/1024 s: the fifth finds more than that before it.
        assert_eq!([next(0), next(1_000_000), next(10_000_000)].map(fit), [2, 2, 5]);
        assert_eq!(fit(Next { is_retransmission: true, ..next(0) }), 4);
        assert_eq!(fit(Next { most: 2280, ..next(u64::MAX) }), 1);
        assert_eq!(fit(next(u64::MAX)), (4 << 20) / 2280 + 1);
    }

    #[test]
    fn the_first_to_leave_lets_the_connection_go_on() {
        let mut queue = SmallQueue::EMPTY;
        queue.push(MTU);
        queue.push(MTU);
        assert!(queue.holds_back(next(0), at(0)));
        assert_eq!(queue.due(), Instant::MAX); // the host has not said when
        queue.leaves(at(100));
        queue.leaves(at(200));
        assert_eq!(queue.due(), at(100));
        assert!(queue.holds_back(next(0), at(99)) && !queue.holds_back(next(0), at(100)));
        assert!(!queue.waits() && queue.due() == Instant::MAX);
    }

    #[test]
    fn a_train_counts_whole_until_its_last_packet_has_left() {
        let mut queue = SmallQueue::EMPTY;
        (0..6).for_each(|_| queue.push(MTU));
        queue.join(4); // the last four are one: 2280, 2280 and 832 + 4 * 1448
        (1..=6).for_each(|us| queue.leaves(at(us)));
        let train = Next { payload: 4 * MTU, ..next(0) };
        assert_eq!(queue.bytes, 2 * 2280 + 6624);
        assert!(!queue.holds_back(train, at(0))); // 11,184 of 13,248
        queue.push(MTU);
        assert!(queue.holds_back(train, at(0)) && !queue.holds_back(train, at(1)));
        assert_eq!(queue.bytes, 2 * 2280 + 6624);
        queue.holds_back(train, at(5));
        assert_eq!(queue.bytes, 6624 + 2280);
        queue.holds_back(train, at(6));
        assert_eq!(queue.bytes, 2280);
    }

    #[test]
    fn a_window_that_was_not_used_up_grows_to_twice_what_was_out_and_in_slow_start_only() {
        let mut usage = Usage::NONE;
        usage.note(true, 0, 10);
        assert!(usage.lets_grow(10, false));
        usage.note(false, 5, 12); // of the same window: it was used up
        assert!(usage.lets_grow(12, false));
        usage.note(false, 10, 18); // the next
        assert!(!usage.lets_grow(15, false) && usage.lets_grow(15, true) && !usage.lets_grow(16, true));
    }
}
