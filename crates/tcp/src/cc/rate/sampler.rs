//! Samples of the delivery rate: how fast packets arrived between two points of the connection's life.
//!
//! *Idea.* A packet remembers how much had been delivered, and when, as it was sent. Its acknowledgement shows how much has been
//! delivered since, and in which time: the longer of that between acknowledgements and that between transmissions, since
//! acknowledgements may come in bunches. Packets that leave at one instant share what they remember. Samples taken while the application
//! had too little to send are marked until what was in flight then has arrived.
//! *Parameters.* None.
//! *Where it breaks.* A sample shorter than the least round trip is no sample: where a retransmission was needless, the interval is that
//! of the wrong transmission.
//! *References.* Linux net/ipv4/tcp_rate.c (the code names its functions), tcp_input.c `tcp_ack_update_rtt`; draft-ietf-ccwg-bbr
//! section 4.1; Y. Cheng, N. Cardwell, S. Hassas Yeganeh, V. Jacobson, draft-cheng-iccrg-delivery-rate-estimation.

use crate::cc::congestion_control::{Acked, RateAck};
use paceline_core::Instant;
use std::collections::VecDeque;

/// Microseconds, which Linux's clock counts (`tcp_mstamp`).
pub(crate) fn micros(at: Instant) -> u64 {
    at.as_nanos() / 1000
}

/// What a transmission remembers of its start (Linux `struct tcp_skb_cb` `tx`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transmission {
    /// One more than the packet's number; of a group, than its last.
    end: u32,
    at: Instant,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    is_app_limited: bool,
    /// Packets in flight, this one included.
    pub(crate) in_flight: u32,
    /// Packets lost so far.
    pub(crate) lost: u64,
}

impl Transmission {
    /// The packet's number.
    pub(crate) fn seq(&self) -> u32 {
        self.end - 1
    }

    pub(crate) fn is_app_limited(&self) -> bool {
        self.is_app_limited
    }

    /// That of packet `seq`, for tests of a model alone.
    #[cfg(test)]
    pub(crate) fn lost(seq: u32, in_flight: u32, lost: u64, is_app_limited: bool) -> Self {
        let at = Instant::ZERO;
        let (delivered, delivered_at, first_sent_at) = (0, at, at);
        Transmission {
            end: seq + 1,
            at,
            delivered,
            delivered_at,
            first_sent_at,
            is_app_limited,
            in_flight,
            lost,
        }
    }

    /// Nothing was delivered, lost or sent again since it left.
    fn starts_like(&self, next: &Transmission) -> bool {
        (self.at, self.delivered, self.lost) == (next.at, next.delivered, next.lost)
            && self.in_flight + 1 == next.in_flight
            && self.is_app_limited == next.is_app_limited
            && self.first_sent_at == next.first_sent_at
    }
}

/// What an acknowledgement shows of the path (Linux `struct rate_sample`).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RateSample {
    /// Packets delivered when the newest of the packets acknowledged was sent.
    pub(crate) prior_delivered: u64,
    /// Packets delivered since then; `None` where nothing new has arrived.
    pub(crate) delivered: Option<u64>,
    /// The time that took, us; `None` where it is not reliable.
    pub(crate) interval_us: Option<u64>,
    pub(crate) is_app_limited: bool,
    /// Round trip of the packet that was sent last, us.
    pub(crate) rtt_us: Option<u64>,
    /// Packets in flight when the newest was sent, and lost since.
    pub(crate) sent_in_flight: u32,
    pub(crate) lost_since: u64,
}

/// The newest packet of an acknowledgement so far, and the round trips it shows.
#[derive(Debug, Clone, Copy, Default)]
struct Arrived {
    newest: Option<Transmission>,
    /// One in order was retransmitted: the round trip of the others means nothing (`FLAG_RETRANS_DATA_ACKED`).
    resent: bool,
    in_order: bool,
    /// When the last one that was sent once only was sent, in order and beyond a hole.
    acked: Option<Instant>,
    held: Option<Instant>,
}

/// The counts of one connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sampler {
    /// Packets delivered and lost so far, retransmissions included (`tp->delivered`, `tp->lost`).
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    /// When something was last delivered.
    pub(crate) delivered_at: Instant,
    /// When the newest delivered packet was sent (`first_tx_mstamp`).
    first_sent_at: Instant,
    /// Samples are limited by the application until more than this is delivered; 0 where they are not.
    app_limited: u64,
    /// Packets before this are acknowledged.
    una: u32,
    in_flight: u32,
    /// First transmissions that are not acknowledged, in groups, and a few before.
    groups: VecDeque<Transmission>,
    /// The last retransmission of each packet that has not arrived.
    again: Vec<Transmission>,
    arrived: Arrived,
    least_us: Option<u64>,
}

impl Sampler {
    /// Packet `seq` is sent for the first time (`tcp_rate_skb_sent`). Returns how many are in flight then.
    #[inline]
    pub(super) fn send(&mut self, seq: u32, now: Instant) -> u32 {
        if seq == self.una {
            (self.first_sent_at, self.delivered_at) = (now, now); // nothing was outstanding
        }
        self.in_flight += 1;
        let one = self.transmission(seq, now);
        match self.groups.back_mut() {
            Some(group) if group.end == seq && group.starts_like(&one) => *group = one,
            _ => {
                for _ in 0..2 {
                    if self.groups.front().is_some_and(|first| first.end <= self.una) {
                        self.groups.pop_front();
                    }
                }
                self.groups.push_back(one);
            }
        }
        self.in_flight
    }

    /// Packet `seq` is sent again.
    pub(super) fn resend(&mut self, seq: u32, now: Instant) -> u32 {
        self.in_flight += 1;
        self.again.retain(|one| one.seq() != seq);
        let one = self.transmission(seq, now);
        self.again.push(one);
        self.in_flight
    }

    fn transmission(&self, seq: u32, now: Instant) -> Transmission {
        Transmission {
            end: seq + 1,
            at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            is_app_limited: self.app_limited != 0,
            in_flight: self.in_flight,
            lost: self.lost,
        }
    }

    /// The first transmission of packet `seq`.
    fn first(&self, seq: u32) -> Option<Transmission> {
        let front = self.groups.front().filter(|first| first.end > seq);
        let group = front.or_else(|| {
            let place = self.groups.partition_point(|group| group.end <= seq);
            self.groups.get(place)
        })?;
        // The packets of a group were sent one after the other.
        let later = group.end - 1 - seq;
        Some(Transmission { end: seq + 1, in_flight: group.in_flight.saturating_sub(later).max(1), ..*group })
    }

    /// Packets from `start` up to `end` have arrived (`tcp_rate_skb_delivered`).
    pub(super) fn arrive(&mut self, start: u32, end: u32, beyond: bool) {
        self.delivered += u64::from(end - start);
        self.arrived.in_order |= !beyond;
        if self.again.is_empty() {
            return self.arrive_once(end - 1, beyond);
        }
        for seq in start..end {
            match self.again.iter().position(|one| one.seq() == seq) {
                Some(place) => {
                    let one = self.again.remove(place);
                    self.arrived.resent |= !beyond;
                    self.take(one);
                }
                None => self.arrive_once(seq, beyond),
            }
        }
    }

    /// Packet `seq`, which was sent once only, is the last of those that have arrived.
    fn arrive_once(&mut self, seq: u32, beyond: bool) {
        let Some(one) = self.first(seq) else { return };
        let last = if beyond { &mut self.arrived.held } else { &mut self.arrived.acked };
        *last = Some(one.at);
        self.take(one);
    }

    fn take(&mut self, one: Transmission) {
        let is_newer = self.arrived.newest.is_none_or(|newest| (one.at, one.end) > (newest.at, newest.end));
        if is_newer {
            self.arrived.newest = Some(one);
        }
    }

    /// The last transmission of a packet is lost.
    pub(super) fn lose(&mut self) {
        self.lost += 1;
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// The last transmission of packet `seq`, which has not arrived.
    pub(super) fn last(&self, seq: u32) -> Option<Transmission> {
        self.again.iter().find(|one| one.seq() == seq).copied().or_else(|| self.first(seq))
    }

    /// The sample of an acknowledgement whose packets have been reported by [`Sampler::arrive`] (`tcp_rate_gen`).
    pub(super) fn sample(&mut self, ack: &RateAck) -> RateSample {
        let arrived = std::mem::take(&mut self.arrived);
        self.una = ack.next;
        self.in_flight = ack.in_flight;
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if ack.delivered > 0 {
            self.delivered_at = ack.now;
        }
        let rtt_us = self.round_trip(&arrived, ack);
        let Some(newest) = arrived.newest else { return RateSample { rtt_us, ..RateSample::default() } };
        self.first_sent_at = newest.at;
        let sent_us = micros(newest.at).saturating_sub(micros(newest.first_sent_at));
        let acked_us = micros(ack.now).saturating_sub(micros(newest.delivered_at));
        let interval = sent_us.max(acked_us);
        let least = self.least_us.unwrap_or(u64::MAX); // `tcp_min_rtt`
        RateSample {
            prior_delivered: newest.delivered,
            delivered: Some(self.delivered - newest.delivered),
            interval_us: Some(interval).filter(|interval| *interval >= least && *interval > 0),
            is_app_limited: newest.is_app_limited,
            rtt_us,
            sent_in_flight: newest.in_flight,
            lost_since: self.lost - newest.lost,
        }
    }

    /// `tcp_clean_rtx_queue`, `tcp_ack_update_rtt`
    fn round_trip(&mut self, arrived: &Arrived, ack: &RateAck) -> Option<u64> {
        let acked = arrived.acked.filter(|_| !arrived.resent);
        let last = arrived.held.or(acked).map(|at| micros(ack.now) - micros(at));
        // By timestamps, which count milliseconds (`tcp_rtt_tsopt_us`).
        let millis = |at: Instant| micros(at) / 1000;
        let echoed = ack.echo.filter(|_| arrived.in_order);
        let rtt = last.or_else(|| echoed.map(|at| (millis(ack.now) - millis(at)).max(1) * 1000))?;
        self.least_us = Some(self.least_us.map_or(rtt, |least| least.min(rtt)));
        Some(rtt)
    }

    /// The SYN is acknowledged, which counts as delivered.
    pub(super) fn end_handshake(&mut self, acked: &Acked) {
        self.arrived = Arrived::default();
        (self.una, self.in_flight) = (acked.next, 0);
        self.delivered_at = acked.now;
        self.least_us = acked.sample.map(|sample| sample.as_nanos() / 1000);
    }

    pub(super) fn set_in_flight(&mut self, in_flight: u32) {
        self.in_flight = in_flight;
    }

    /// From now on the application has too little to send.
    pub(crate) fn limit(&mut self, in_flight: u32) {
        self.app_limited = (self.delivered + u64::from(in_flight)).max(1);
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.app_limited != 0
    }

    /// The least round trip so far, us.
    pub(crate) fn least_us(&self) -> Option<u64> {
        self.least_us
    }
}
