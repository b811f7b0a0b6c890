//! Who goes first where a packet arrives as another leaves.
//!
//! *Idea.* TCP clocks itself: acknowledgements come one service time of the bottleneck apart, so that data reach it at the very
//! instants at which others leave it. In a buffer of a few packets the order of these two decides who is dropped, and a fixed
//! order locks flows in phase (Floyd and Jacobson 1992). On a real network jitter decides it. So by default
//! the queue decides as if each packet took a little longer to come in, by a time that is drawn for it, and the packets after
//! it in the same busy period were served as much later as the first of them was. Only the decision is shifted: a packet that is
//! admitted is served when it would have been, so that no time changes where nothing is dropped.
//!
//! *Parameters.* The seed of the draws, which are no longer than an instant: 64 ns, or 1/1250 of what a packet of 1000 B takes on the
//! link. Times of a simulation are whole nanoseconds, and a rate that is 0.1 % higher makes no tie.
//!
//! *Where it breaks.* Packets that are served in less than an instant: several departures may fall between a packet's arrival and its
//! drawn time, all of which the decision then counts as over. Packets that arrive at one instant from several links come in the order
//! that the network gives them: by flow, or as ns-2 schedules them.
//!
//! *Fractions.* Where packets take no whole number of nanoseconds (45 Mbit/s, a T3), ns-2's rule counts what is no more than 4 ns
//! apart as one time ([`super::ClosedDropTail::with_rounding`]); ns-2's doubles have these times equal.
//!
//! *References.* S. Floyd, V. Jacobson, "On traffic phase effects in packet-switched gateways", Internetworking 3(3), 1992;
//! ns-2 2.35, `link/delay.cc` and `common/scheduler.cc`, for [`Ties::Ns2`].

use crate::units::{Instant, NANOS_PER_SECOND, Rate, Span};
use std::hint::select_unpredictable;

/// Who goes first where a packet arrives as another leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ties {
    /// The departure: the arrival finds its place free.
    #[default]
    Departure,
    /// The arrival: it finds the other still there.
    Arrival,
    /// Whichever ns-2 scheduled first: the arrival if it was known before the service that ends now began ([`Arrival::lead`]).
    Ns2,
    /// As jitter would have it: drawn for each packet.
    Random,
}

impl Ties {
    /// Every rule and its name in a scenario.
    pub const ALL: &'static [(&'static str, Ties)] = &[
        ("random", Ties::Random),
        ("departure", Ties::Departure),
        ("arrival", Ties::Arrival),
        ("ns2", Ties::Ns2),
    ];

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Ties::Random => "random",
            Ties::Departure => "departure",
            Ties::Arrival => "arrival",
            Ties::Ns2 => "ns2",
        }
    }
}

/// A packet that comes to a queue.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Size on the wire, bytes.
    pub bytes: u32,
    /// When it comes.
    pub now: Instant,
    /// Whose it is: draws are by flow and time.
    pub flow: u32,
    /// How long before ns-2 would have scheduled its arrival: what it took on the wire before and on the way from there. For
    /// [`Ties::Ns2`] alone.
    pub lead: Span,
}

impl Arrival {
    /// A packet of flow 0 that comes out of nowhere.
    pub fn new(bytes: u32, now: Instant) -> Self {
        Arrival { bytes, now, flow: 0, lead: Span::ZERO }
    }
}

/// What is no further apart is of one instant, nanoseconds: each hop rounds to a nanosecond. No draw is longer.
const INSTANT: u64 = 64;
/// Nor further than a packet of so many bits takes, divided by so much: a rate that is 0.1 % higher makes no tie.
const BITS: u64 = 8_000;
const PARTS: u64 = 1_250;

/// How a queue decides ties.
///
/// It has two clocks: the one by which packets are served, and one by which they are decided upon. By that, each comes later by its
/// draw, and what is served in this busy period is served later by `lag`.
#[derive(Debug, Clone, Copy)]
pub(super) struct TieBreaker {
    pub(super) ties: Ties,
    seed: u64,
    /// What is no further apart is of one instant, nanoseconds.
    pub(super) instant: u64,
    /// Nanoseconds.
    lag: u64,
    /// When this busy period began, which is when the first packet that found the link idle by the second clock began to be served:
    /// by the second clock, nanoseconds.
    floor: u64,
    /// The same by the first clock.
    pub(super) busy_from: u64,
}

impl TieBreaker {
    pub(super) fn new(ties: Ties, rate: Rate) -> Self {
        let nanos =
            u128::from(BITS) * u128::from(NANOS_PER_SECOND) / u128::from(rate.bits_per_second().max(1));
        let instant = u64::try_from(nanos / u128::from(PARTS)).unwrap_or(INSTANT).min(INSTANT);
        TieBreaker { ties, seed: 0, instant, lag: 0, floor: 0, busy_from: 0 }
    }

    pub(super) fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// What is before a packet must have begun to be served by then, nanoseconds, not to be in its way: where departures go first,
    /// or the arrival.
    pub(super) fn exact(&self, arrival: &Arrival, is_arrival_first: bool) -> u64 {
        arrival.now.as_nanos().saturating_sub(is_arrival_first.into()).max(self.floor)
    }

    /// The same where it is drawn: for the packet itself, and for what is behind it.
    pub(super) fn drawn(&self, arrival: &Arrival) -> [u64; 2] {
        self.comes(arrival).map(|time| time.saturating_sub(self.lag))
    }

    /// When a packet comes by the second clock, nanoseconds, not before the busy period began: uniform over an instant, by flow and
    /// time. The first is a nanosecond earlier for half of the packets, so that equal draws are no order either.
    #[inline(always)]
    fn comes(&self, arrival: &Arrival) -> [u64; 2] {
        let now = arrival.now.as_nanos();
        let bits = draw(now ^ self.seed, arrival.flow);
        let comes = now.saturating_add(((u128::from(bits) * u128::from(self.instant)) >> 64) as u64);
        [comes.saturating_sub((bits >> 32) & 1).max(self.floor), comes.max(self.floor)]
    }

    /// A packet is taken that came `by` then: the wire was free at `free_at`, and its service begins at `start`.
    pub(super) fn takes(&mut self, by: u64, free_at: u64, start: u64) {
        let is_drawn = self.ties == Ties::Random;
        let begins = if is_drawn { free_at.max(by).saturating_add(self.lag) } else { start };
        self.lag = begins.saturating_sub(start);
        if free_at <= by {
            (self.floor, self.busy_from) = (begins, start);
        }
    }

    /// A departure after the first and by the second of these times, nanoseconds, is of the instant of this arrival.
    #[inline(always)]
    pub(super) fn either_side(&self, now: u64) -> (u64, u64) {
        let late = now.saturating_add(self.instant);
        (now.saturating_sub(self.instant + 1).max(self.busy_from).min(late), late)
    }
}

/// What a packet meets, by the clock of the decisions, nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meets {
    /// When the wire is free.
    pub(super) free_at: u64,
    /// When the packet comes to be decided upon, and to be served.
    pub(super) comes: [u64; 2],
}

/// [`TieBreaker`] over many packets of one size ([`super::alike`]), the rule known beforehand.
pub(super) trait Order {
    /// It goes on from there: the wire is free at `free_at`, nanoseconds.
    fn begin(ties: TieBreaker, free_at: u64) -> Self;
    /// What a packet meets.
    fn meets(&self, arrival: &Arrival, free_at: u64) -> Meets;
    /// It is taken, and its service begins at `start` and takes so long.
    fn takes(&mut self, met: Meets, start: u64, nanos: u64);
    /// How it stands.
    fn ties(&self, free_at: u64) -> TieBreaker;
}

/// Departures go first, or arrivals do.
pub(super) struct Exact<const ARRIVAL_FIRST: bool>(TieBreaker);

impl<const ARRIVAL_FIRST: bool> Order for Exact<ARRIVAL_FIRST> {
    fn begin(ties: TieBreaker, _free_at: u64) -> Self {
        Exact(ties)
    }

    #[inline(always)]
    fn meets(&self, arrival: &Arrival, free_at: u64) -> Meets {
        let now = arrival.now.as_nanos();
        // A busy period that begins now has no departure yet that the arrival could go before.
        let later = u64::from(ARRIVAL_FIRST && now > self.0.floor);
        Meets { free_at: free_at + later, comes: [now; 2] }
    }

    #[inline(always)]
    fn takes(&mut self, met: Meets, start: u64, _nanos: u64) {
        self.0.floor = select_unpredictable(met.free_at <= met.comes[1], start, self.0.floor);
    }

    fn ties(&self, _free_at: u64) -> TieBreaker {
        TieBreaker { busy_from: self.0.floor, ..self.0 }
    }
}

/// As is drawn.
pub(super) struct Drawn {
    ties: TieBreaker,
    /// When the wire is free by the second clock, nanoseconds.
    free_at: u64,
}

impl Order for Drawn {
    fn begin(ties: TieBreaker, free_at: u64) -> Self {
        Drawn { ties, free_at: free_at + ties.lag }
    }

    #[inline(always)]
    fn meets(&self, arrival: &Arrival, _free_at: u64) -> Meets {
        Meets { free_at: self.free_at, comes: self.ties.comes(arrival) }
    }

    #[inline(always)]
    fn takes(&mut self, met: Meets, start: u64, nanos: u64) {
        let comes = met.comes[1];
        let is_idle = met.free_at <= comes;
        self.ties.floor = select_unpredictable(is_idle, comes, self.ties.floor);
        self.ties.busy_from = select_unpredictable(is_idle, start, self.ties.busy_from);
        self.free_at = select_unpredictable(is_idle, comes, met.free_at) + nanos;
    }

    fn ties(&self, free_at: u64) -> TieBreaker {
        TieBreaker { lag: self.free_at.saturating_sub(free_at), ..self.ties }
    }
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): every bit of the outcome hangs on every bit.
///
/// ```
/// # use paceline_core::queue::mix;
/// assert_ne!(mix(1) ^ mix(2), mix(1 ^ 2));
/// ```
#[inline(always)]
pub fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// A number whose upper half is drawn by flow and time, if that has been keyed, with each value as likely: cheaper than [`mix`], whose
/// constants it has.
///
/// ```
/// # use paceline_core::queue::draw;
/// assert_eq!(draw(1_000, 7), draw(1_000, 7));
/// assert_ne!(draw(1_000, 7) >> 32, draw(1_000, 8) >> 32);
/// ```
#[inline(always)]
pub fn draw(time: u64, flow: u32) -> u64 {
    let bits = time.wrapping_mul(0xbf58_476d_1ce4_e5b9 + 2 * u64::from(flow));
    (bits ^ bits >> 32).wrapping_mul(0x94d0_49bb_1331_11eb)
}

#[cfg(test)]
mod tests;
