//! Edge pacing: the smoothest output that holds no packet longer than a given delay.
//!
//! *Idea.* A packet of length L that arrives at t must be out by t + d: it adds L at t + d to the deadline curve. What has
//! been served, S, follows the smoothest curve that stays above every deadline known so far: from (now, S) along the first
//! edge of the concave upper envelope of the deadline points. Its slope there is the least rate that meets them all,
//!
//! ```text
//! rate = max over pending packets i of (D_i - S) / (t_i + d - now)
//! ```
//!
//! The envelope is a queue of vertices with falling slopes. An arrival is pushed at its end, after popping the vertices
//! that it puts below the envelope; each vertex is pushed once and popped once, so an arrival costs O(1) amortised. Many
//! arrivals put the whole envelope below them, so each is compared with its first line first.
//! S is a straight line from an anchor to the first vertex. The anchor moves when that vertex is reached, when nothing is
//! left to serve, and when an arrival pops the first vertex (else S would jump); at no other time.
//!
//! *Exactness.* Vertices are whole bytes at whole nanoseconds. S at an anchor has a fraction of 32 bits, rounded up, so no
//! rounding ever makes a packet late, nor early by more than d / 2^32 for each byte of it; slopes are compared as
//! products. S lies above every deadline point, so a packet leaves neither before it arrives nor after its deadline, and no
//! clamp is needed.
//!
//! *Parameters.* `delay` d (time; no default) is the bound at release: where S is steeper than the link, released packets
//! wait once more before the wire. `release` (default `"start"`): a packet leaves when S reaches its first byte, so a lone
//! packet leaves at once, or with `"finish"` its last, so a lone packet is held for the whole of d. d = 0 is no pacing.
//!
//! *Where it breaks.* It holds 2 GiB at most and refuses more, so that a rise fits 64 bits. It spends nearly all of d, at any
//! load. Smoothing is of the aggregate: one flow among many keeps its own burstiness. It cannot know that more is coming, so
//! it is less smooth than the offline optimum.
//!
//! *References.* V. Sivaraman, H. ElGindy, D. Moreland, D. Ostry, "Packet pacing in small buffer optical packet
//! switched networks", IEEE/ACM Transactions on Networking 17(4), 2009. H. Habibi Gharakheili, A. Vishwanath,
//! V. Sivaraman, "Edge versus host pacing of TCP traffic in small buffer networks", IFIP Networking 2013. J. Salehi, Z. Zhang, J. Kurose, D. Towsley,
//! "Supporting stored video", IEEE/ACM Transactions on Networking 6(4), 1998, for the offline optimum.

use std::collections::VecDeque;
use std::fmt;

use super::{Backlog, Envelope, Tuned};
use crate::parameters::{Kind, Parameter, ParameterError, Reader};
use crate::stage::{Packet, Stage, Verdict};
use crate::units::{Instant, Rate, Span};

/// The delay bound, and which end of a packet it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// The longest that a packet is held.
    pub delay: Span,
    /// When a packet leaves.
    pub release: Release,
}

/// Which byte of a packet the service curve must have reached for it to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Release {
    /// Its first.
    #[default]
    Start,
    /// Its last.
    Finish,
}

/// Bytes held at most: with one packet more, of any size, below 2^32.
const MOST_HELD: u64 = 1 << 31;

const RELEASES: &[&str] = &["start", "finish"];

impl Tuned for Parameters {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter { name: "delay", kind: Kind::Span, default: None, doc: "longest that a packet is held" },
        Parameter {
            name: "release",
            kind: Kind::Choice(RELEASES),
            default: Some("\"start\""),
            doc: "whether a packet leaves when its first byte is due, or its last",
        },
    ];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParameterError> {
        let delay = reader.span("delay")?;
        let release = match reader.choice("release", RELEASES, 0)? {
            0 => Release::Start,
            _ => Release::Finish,
        };
        Ok(Parameters { delay, release })
    }

    fn delay_bound(&self, _: Rate, _: Backlog) -> Option<Span> {
        Some(self.delay)
    }

    fn envelope(&self, _: Rate, _: u32) -> Option<Envelope> {
        None
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let release = match self.release {
            Release::Start => RELEASES[0],
            Release::Finish => RELEASES[1],
        };
        write!(f, " delay = {}, release = {release}", self.delay)
    }
}

/// The packets held, and the envelope of their deadlines.
#[derive(Debug, Clone)]
pub struct Edge<P> {
    parameters: Parameters,
    queue: VecDeque<P>,
    /// The line that the service curve is on: from the anchor to the first vertex of the envelope. One that has ended is the
    /// last: all is served.
    from: Point,
    to: Point,
    /// The vertices behind it, slopes falling, from the place `next` on; what is before is spent.
    later: Vec<Point>,
    next: usize,
    /// Bytes that have arrived since the pacer was last empty.
    arrived_bytes: u64,
    /// Bytes that have left since then; where the head begins.
    released_bytes: u64,
    /// When the head leaves, if there is one.
    release: Instant,
    arrivals: u64,
    pops: u64,
}

/// A point of the service curve: a deadline, or where a line begins.
#[derive(Debug, Clone, Copy)]
struct Point {
    at: Instant,
    /// Bytes served by then, in units of 2^-32; whole ones at a deadline.
    served: u128,
}

impl<P: Packet> Edge<P> {
    /// The link's rate makes no difference: a curve steeper than the link fills the queue before it.
    pub fn new(parameters: &Parameters, _: Rate) -> Self {
        Edge {
            parameters: *parameters,
            queue: VecDeque::new(),
            from: Point { at: Instant::ZERO, served: 0 },
            to: Point { at: Instant::ZERO, served: 0 },
            later: Vec::new(),
            next: 0,
            arrived_bytes: 0,
            released_bytes: 0,
            release: Instant::ZERO,
            arrivals: 0,
            pops: 0,
        }
    }

    /// How many packets have arrived.
    ///
    /// ```
    /// # use paceline_core::{Instant, Packet, Rate, Span, Stage, pacer::edge::{Edge, Parameters, Release}};
    /// # struct Frame;
    /// # impl Packet for Frame { fn bytes(&self) -> u32 { 1500 } }
    /// let parameters = Parameters { delay: Span::from_millis(10), release: Release::Start };
    /// let mut edge = Edge::new(&parameters, Rate::from_bits_per_second(100_000_000));
    /// let _ = edge.enqueue(Frame, Instant::ZERO);
    /// assert_eq!((edge.arrivals(), edge.pops()), (1, 0));
    /// ```
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// How many vertices arrivals have popped; with those that time popped, never more than [`Edge::arrivals`].
    pub fn pops(&self) -> u64 {
        self.pops
    }

    /// Begins the next line at each vertex that the curve has reached. Whether all is served.
    #[inline(always)]
    fn advance(&mut self, now: Instant) -> bool {
        self.to.at <= now && self.begin_next_line(now)
    }

    #[inline(never)]
    fn begin_next_line(&mut self, now: Instant) -> bool {
        while self.to.at <= now {
            let Some(vertex) = self.later.get(self.next) else { return true };
            (self.from, self.to) = (self.to, *vertex);
            self.next += 1;
        }
        false
    }

    /// Adds a deadline to the envelope. Whether the line that the curve is on has changed.
    #[inline(always)]
    fn push(&mut self, deadline: Point, now: Instant) -> bool {
        if !steeper(&self.from, &self.to, &deadline) {
            // Above that line, it is above all those behind, which are less steep.
            self.pops += (1 + self.later.len() - self.next) as u64;
            (self.from, self.to) = (Point { at: now, served: self.served(now) }, deadline);
            self.forget_later();
            return true;
        }
        let later = &self.later[self.next..];
        let mut kept = later.len();
        while let Some(back) = later[..kept].last() {
            let before = later[..kept - 1].last().unwrap_or(&self.to);
            if steeper(before, back, &deadline) {
                break;
            }
            kept -= 1;
        }
        self.pops += (later.len() - kept) as u64;
        self.later.truncate(self.next + kept);
        if self.later.len() == self.later.capacity() {
            self.forget_spent();
        }
        self.later.push(deadline);
        false
    }

    fn forget_later(&mut self) {
        self.later.clear();
        self.next = 0;
    }

    /// Makes room, where there is much to forget.
    #[cold]
    fn forget_spent(&mut self) {
        if self.next >= self.later.len() / 2 {
            self.later.drain(..self.next);
            self.next = 0;
        }
    }

    /// The curve at `now`, on the present line, rounded up.
    #[inline]
    fn served(&self, now: Instant) -> u128 {
        let part = now.since(self.from.at).as_nanos();
        self.from.served + u128::from(scale_up(rise(&self.from, &self.to), part, run(&self.from, &self.to)))
    }

    /// Computes when the curve reaches the head's byte, `now` at the earliest.
    #[inline(always)]
    fn schedule(&mut self, now: Instant) {
        let Some(head) = self.queue.front() else { return };
        let due = match self.parameters.release {
            Release::Start => self.released_bytes,
            Release::Finish => self.released_bytes + u64::from(head.bytes()),
        };
        // Never above the end of the line: what is before it has left, and the curve has passed every vertex up to there.
        let due_at = match u64::try_from(fixed(due).wrapping_sub(self.from.served)) {
            Ok(above) if above > 0 => reached(&self.from, &self.to, above),
            _ => now,
        };
        self.release = now.max(due_at);
    }
}

impl<P: Packet> Stage<P> for Edge<P> {
    #[inline(always)]
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        let bytes = u64::from(packet.bytes());
        let first = self.queue.is_empty();
        if self.arrived_bytes - self.released_bytes + bytes > MOST_HELD && !first {
            return Verdict::Refused(packet);
        }
        let is_served = self.advance(now);
        if is_served && first {
            // And all has left: the curve starts anew, from zero.
            self.to.served = 0;
            (self.arrived_bytes, self.released_bytes) = (0, 0);
        }
        self.arrivals += 1;
        self.arrived_bytes += bytes;
        let deadline = Point { at: now + self.parameters.delay, served: fixed(self.arrived_bytes) };
        self.queue.push_back(packet);
        let has_moved = if is_served {
            (self.from, self.to) = (Point { at: now, served: self.to.served }, deadline);
            self.forget_later();
            true
        } else {
            self.push(deadline, now)
        };
        if has_moved || first {
            self.schedule(now);
        }
        Verdict::Queued
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Instant) -> Option<P> {
        if now < self.release {
            return None;
        }
        let packet = self.queue.pop_front()?;
        self.released_bytes += u64::from(packet.bytes());
        self.advance(now);
        self.schedule(now);
        Some(packet)
    }

    #[inline]
    fn next_wakeup(&self) -> Option<Instant> {
        (!self.queue.is_empty()).then_some(self.release)
    }
}

/// A number of bytes in units of 2^-32.
#[inline]
fn fixed(bytes: u64) -> u128 {
    u128::from(bytes) << 32
}

/// Bytes from one point of the curve to a later one, in units of 2^-32; less than what the pacer may hold.
#[inline]
fn rise(from: &Point, to: &Point) -> u64 {
    (to.served - from.served) as u64
}

/// Time from one point of the curve to a later one, nanoseconds.
#[inline]
fn run(from: &Point, to: &Point) -> u64 {
    to.at.as_nanos() - from.at.as_nanos()
}

/// When a line of the curve is so much above its beginning, in units of 2^-32 bytes.
#[inline(always)]
fn reached(from: &Point, to: &Point, above: u64) -> Instant {
    Instant::from_nanos(from.at.as_nanos() + scale_up(run(from, to), above, rise(from, to)))
}

/// Whether the line from `before` to `back` is steeper than the one from there to `after`: whether `back` stays.
#[inline(always)]
fn steeper(before: &Point, back: &Point, after: &Point) -> bool {
    let (rise_before, rise_after) = (rise(before, back), rise(back, after));
    let (run_before, run_after) = (run(before, back), run(back, after));
    u128::from(rise_before) * u128::from(run_after) > u128::from(rise_after) * u128::from(run_before)
}

/// whole part / of, rounded up, where `part` is at most `of`.
#[inline]
fn scale_up(whole: u64, part: u64, of: u64) -> u64 {
    if part >= of {
        return whole;
    }
    let (product, of) = (u128::from(whole) * u128::from(part), u128::from(of));
    let up = of - 1; // cheaper than `div_ceil`, which needs the remainder
    ((product + up) / of) as u64 // at most `whole`
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Packet for u32 {
        fn bytes(&self) -> u32 {
            *self
        }
    }

    fn edge(delay: u64) -> Edge<u32> {
        let parameters = Parameters { delay: Span::from_nanos(delay), release: Release::Start };
        Edge::new(&parameters, Rate::from_bits_per_second(1_000_000_000))
    }

    /// The envelope of deadlines, worked out by hand: how many vertices the last arrival pops.
    #[test]
    fn an_arrival_pops_the_vertices_that_are_no_longer_on_the_envelope() {
        for (arrivals, pops) in [
            (&[(0, 1_000)][..], 0),
            (&[(0, 1_000), (10, 5)], 0), // 1 B/ns, and half of that behind: a vertex more
            (&[(0, 1_000), (10, 10)], 1), // as steep: the line goes on
            (&[(0, 1_000), (10, 5), (20, 2)], 0), // ever less steep
            (&[(0, 1_000), (10, 5), (20, 5)], 1), // as steep as the one before
            (&[(0, 1_000), (10, 5), (20, 8)], 1), // steeper than the one before, not than the first
            (&[(0, 1_000), (10, 5), (20, 5_000)], 2), // steeper than all
            (&[(0, 1_000), (10, 5), (20, 2), (1_005, 10_000)], 2), // the first is over by then
        ] {
            let mut pacer = edge(1_000);
            for (at, bytes) in arrivals {
                let _ = pacer.enqueue(*bytes, Instant::from_nanos(*at));
            }
            assert_eq!((pacer.pops(), pacer.arrivals()), (pops, arrivals.len() as u64), "{arrivals:?}");
        }
    }

    /// Ever fewer bytes at a time add a vertex each. Those that time has passed take no room.
    #[test]
    fn spent_vertices_are_forgotten() {
        let mut pacer = edge(100);
        let mut most_ahead = 0;
        for k in 0..20_000_u32 {
            let now = Instant::from_nanos(u64::from(k) * 10);
            while pacer.next_wakeup().is_some_and(|wakeup| wakeup <= now) {
                pacer.dequeue(now);
            }
            let _ = pacer.enqueue(40_000 - k, now);
            most_ahead = most_ahead.max(pacer.later.len() - pacer.next);
        }
        assert!((8..12).contains(&most_ahead), "{most_ahead}");
        assert!(pacer.later.capacity() <= 32, "{}", pacer.later.capacity());
    }
}
