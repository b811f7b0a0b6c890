//! Receive offload: packets that arrive close together are handed to TCP as one, which answers them once.
//!
//! *Idea.* A packet waits for the next one of its flow. One that continues it, in number, with the same headers, is joined to it and the
//! wait begins anew; what does not continue it sends what waits on its way first. What waits goes on at the end of the wait, with the
//! last packet of a train or a write (PSH), when it is as large as an IP packet may be, or with the first packet after a tick of the host's clock
//! (`napi_gro_flush` of what is older than a jiffy). TCP then acknowledges all of it by the rules of one
//! arrival: at once where it is more than one segment, and beyond a gap with one selective acknowledgement.
//! *Parameters.* `gro`, the wait (`gro_flush_timeout` of the interface, with `napi_defer_hard_irqs`; with its default, 0, only what one
//! interrupt brings is joined).
//! *Where it breaks.* Only acknowledgements wait: packets count as delivered when they arrive, less than `gro` before TCP has them.
//! Packets of all flows of an interface share the wait in Linux, here each flow has its own. The timestamp that a packet echoes has to be that of the
//! one before too: it is not known here, and changes once a millisecond where acknowledgements come that often.
//! *References.* Linux 6.18 net/core/gro.c `dev_gro_receive`, net/ipv4/tcp_offload.c `tcp_gro_receive`, net/core/dev.c
//! `napi_complete_done`.

use crate::config::Config;
use crate::wheel::Wheel;
use paceline_core::{Instant, Span};

/// Bytes joined at most (`GRO_LEGACY_MAX_SIZE`).
const MOST_BYTES: u32 = 65_536;
/// Timestamps count milliseconds (`tcp_clock_ts`); those of joined packets are equal.
const TIMESTAMP_NS: u64 = 1_000_000;

/// What of a packet's headers has to be equal, but for its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Headers {
    /// Of congestion: ECN field, CWR.
    signals: u8,
    /// The timestamp that it carries.
    stamp: u64,
}

/// The packets of a connection that wait to be handed to TCP.
#[derive(Debug, Clone)]
pub(super) struct Gro {
    wait: Span,
    /// Most packets joined.
    most: u32,
    timestamps: bool,
    /// The last packet of a write is among them.
    pushed: bool,
    /// Packets that wait, and one more than the number of the last; none where `packets` is 0.
    packets: u32,
    end: u32,
    headers: Headers,
    /// When the first of them came.
    since: Instant,
    /// Of the receiver's host, if it has ticks.
    wheel: Option<Wheel>,
    /// When they go on.
    pub(super) due: Option<Instant>,
}

impl Gro {
    /// `seed` draws the phase of the host's ticks.
    pub(super) fn of(config: &Config, seed: u64) -> Option<Self> {
        Some(Gro {
            wait: config.gro?,
            most: (MOST_BYTES / config.payload.max(1)).max(1),
            timestamps: config.timestamps,
            pushed: false,
            packets: 0,
            end: 0,
            headers: Headers { signals: 0, stamp: 0 },
            since: Instant::ZERO,
            wheel: (config.timer_tick > Span::ZERO).then(|| Wheel::of(config, seed)),
            due: None,
        })
    }

    /// Packet `seq`, sent then, arrives with these signals: whether those that wait have to go on before.
    pub(super) fn ends_before(&mut self, seq: u32, sent: Instant, signals: u8) -> bool {
        let stamp = if self.timestamps { sent.as_nanos() / TIMESTAMP_NS } else { 0 };
        let headers = Headers { signals, stamp };
        let continues = seq == self.end && headers == self.headers;
        self.headers = headers;
        self.packets > 0 && !continues
    }

    /// Packet `seq` has arrived: it waits with the others. Returns whether they go on now.
    pub(super) fn join(&mut self, seq: u32, now: Instant) -> bool {
        if self.packets == 0 {
            self.since = now;
        }
        self.packets += 1;
        self.end = seq + 1;
        self.due = Some(now + self.wait);
        let has_ticked = self.wheel.is_some_and(|wheel| wheel.between(self.since, now) > Span::ZERO);
        self.pushed || self.packets >= self.most || has_ticked
    }

    /// The packet that arrives next is the last of a write.
    pub(super) fn on_push(&mut self) {
        self.pushed = true;
    }

    /// What waits goes on: the number of its last packet, and how many it is.
    pub(super) fn take(&mut self) -> Option<(u32, u32)> {
        self.due = None;
        self.pushed = false;
        let packets = std::mem::take(&mut self.packets);
        (packets > 0).then(|| (self.end - 1, packets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Profile;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    /// Packets by number, sending time and arrival, us, and signals; returns what goes on together, by last packet and number.
    fn joined(config: Config, packets: &[(u32, u64, u64, u8)]) -> Vec<(u32, u32)> {
        let config = Config { gro: Some(Span::from_nanos(100_000)), tick_phase: Some(Span::ZERO), ..config };
        let mut gro = Gro::of(&config, 1).expect("it is on");
        let mut gone = Vec::new();
        for (seq, sent, arrives, signals) in packets {
            if gro.due.is_some_and(|due| due < at(*arrives)) || gro.ends_before(*seq, at(*sent), *signals) {
                gone.extend(gro.take());
            }
            let _ = gro.ends_before(*seq, at(*sent), *signals);
            if gro.join(*seq, at(*arrives)) {
                gone.extend(gro.take());
            }
        }
        gone.extend(gro.take());
        gone
    }

    #[test]
    fn what_follows_within_the_wait_is_joined() {
        let config = Config::new(Profile::Linux);
        let train = |arrivals: &[u64]| {
            let packets: Vec<_> = (1..).zip(arrivals).map(|(seq, at)| (seq, 0, *at, 0)).collect();
            joined(config.clone(), &packets)
        };
        assert_eq!(train(&[0, 90, 180, 270]), [(4, 4)], "each within the wait of the one before");
        assert_eq!(train(&[0, 100, 201, 300]), [(2, 2), (4, 2)], "at its end still, a microsecond later not");
        let long: Vec<u64> = (0..100).collect();
        assert_eq!(train(&long), [(45, 45), (90, 45), (100, 10)], "64 KB at most");
    }

    #[test]
    fn the_first_packet_after_a_tick_is_the_last() {
        let packets: Vec<_> =
            (1..).zip([3_930, 3_990, 4_050, 4_100]).map(|(seq, at)| (seq, 0, at, 0)).collect();
        let linux = Config::new(Profile::Linux);
        assert_eq!(joined(linux.clone(), &packets), [(3, 3), (4, 1)]);
        assert_eq!(joined(Config { timer_tick: Span::ZERO, ..linux }, &packets), [(4, 4)]);
    }

    #[test]
    fn what_differs_is_not_joined() {
        let config = Config::new(Profile::Linux);
        let missing = [(1, 0, 0, 0), (2, 0, 10, 0), (4, 0, 20, 0), (5, 0, 30, 0)];
        assert_eq!(joined(config.clone(), &missing), [(2, 2), (5, 2)], "beyond a gap a train of its own");
        let marked = [(1, 0, 0, 2), (2, 0, 10, 3), (3, 0, 20, 3), (4, 0, 30, 2)];
        assert_eq!(joined(config.clone(), &marked), [(1, 1), (3, 2), (4, 1)]);
        let stamps = [(1, 900, 2_000, 0), (2, 999, 2_010, 0), (3, 1_000, 2_020, 0)];
        assert_eq!(joined(config.clone(), &stamps), [(2, 2), (3, 1)], "another millisecond");
        assert_eq!(joined(Config { timestamps: false, ..config }, &stamps), [(3, 3)]);
    }
}
