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
//! that it puts below the envelope; each vertex is pushed once and popped once, so an arrival costs O(1) amortised.
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
//! *Where it breaks.* It holds 2 GiB at most and refuses more, so that a rise fits 64 bits. It spends nearly all of d, at any load. Smoothing is of the aggregate: one flow among many keeps its
//! own burstiness. It cannot know that more is coming, so it is less smooth than the offline optimum.
//!
//! *References.* V. Sivaraman, H. ElGindy, D. Moreland, D. Ostry, "Packet pacing in small buffer optical packet
//! switched networks", IEEE/ACM Transactions on Networking 17(4), 2009. H. Habibi Gharakheili, A. Vishwanath,
//! V. Sivaraman, "Edge versus host pacing of TCP traffic in small buffer networks", IFIP Networking 2013. J. Salehi, Z. Zhang, J. Kurose, D. Towsley,
//! "Supporting stored video", IEEE/ACM Transactions on Networking 6(4), 1998, for the offline optimum.

use std::collections::VecDeque;
use std::fmt;

use super::parameters::{Kind, Parameter, ParameterError, Reader};
use super::{Backlog, Envelope, Tuned};
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
    /// Envelope of the deadline points, slopes falling.
    hull: VecDeque<Vertex>,
    /// Where the service curve's present line begins.
    anchor: Anchor,
    /// Bytes that have arrived since the pacer was last empty.
    arrived_bytes: u64,
    /// Bytes that have left since then; where the head begins.
    released_bytes: u64,
    /// When the head leaves, if there is one.
    release: Instant,
    arrivals: u64,
    pops: u64,
}

/// A deadline: by `at`, `bytes` have been served.
#[derive(Debug, Clone, Copy)]
struct Vertex {
    at: Instant,
    bytes: u64,
}

/// A point of the service curve.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    at: Instant,
    /// Bytes served, in units of 2^-32.
    served: u128,
}

impl<P: Packet> Edge<P> {
    /// The link's rate makes no difference: a curve steeper than the link fills the queue before it.
    pub fn new(parameters: &Parameters, _: Rate) -> Self {
        Edge {
            parameters: *parameters,
            queue: VecDeque::new(),
            hull: VecDeque::new(),
            anchor: Anchor { at: Instant::ZERO, served: 0 },
            arrived_bytes: 0,
            released_bytes: 0,
            release: Instant::ZERO,
            arrivals: 0,
            pops: 0,
        }
    }

    /// How many packets have arrived.
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// How many vertices arrivals have popped; with those that time popped, never more than [`Edge::arrivals`].
    pub fn pops(&self) -> u64 {
        self.pops
    }

    /// Moves the anchor over the vertices that the curve has reached.
    #[inline]
    fn advance(&mut self, now: Instant) -> bool {
        let mut moved = false;
        while let Some(&vertex) = self.hull.front().filter(|vertex| vertex.at <= now) {
            self.anchor = Anchor { at: vertex.at, served: fixed(vertex.bytes) };
            self.hull.pop_front();
            moved = true;
        }
        moved
    }

    /// Adds a deadline to the envelope. Whether the line that the curve is on has changed.
    #[inline]
    fn push(&mut self, deadline: Vertex, now: Instant) -> bool {
        let mut moved = self.hull.is_empty();
        while let Some(&back) = self.hull.back() {
            let before = match self.hull.len().checked_sub(2).and_then(|index| self.hull.get(index)) {
                Some(vertex) => Anchor { at: vertex.at, served: fixed(vertex.bytes) },
                None => self.anchor,
            };
            if steeper(before, back, deadline) {
                break;
            }
            if self.hull.len() == 1 {
                self.anchor = Anchor { at: now, served: self.served(now, back) };
                moved = true;
            }
            self.hull.pop_back();
            self.pops += 1;
        }
        self.hull.push_back(deadline);
        moved
    }

    /// The service curve at `now`, on the line from the anchor to `vertex`, rounded up.
    #[inline]
    fn served(&self, now: Instant, vertex: Vertex) -> u128 {
        let rise = rise(self.anchor, vertex);
        let run = vertex.at.since(self.anchor.at).as_nanos();
        let part = now.since(self.anchor.at).as_nanos();
        self.anchor.served + u128::from(scale_up(rise, part, run))
    }

    /// Computes when the curve reaches the head's byte, `now` at the earliest.
    #[inline]
    fn schedule(&mut self, now: Instant) {
        let Some(head) = self.queue.front() else { return };
        let due = match self.parameters.release {
            Release::Start => self.released_bytes,
            Release::Finish => self.released_bytes + u64::from(head.bytes()),
        };
        let due = fixed(due);
        let mut from = self.anchor;
        // The first vertex is never below the head's byte while the caller is in time.
        for vertex in &self.hull {
            if due <= from.served {
                break;
            }
            let to = fixed(vertex.bytes);
            if due <= to {
                let run = vertex.at.since(from.at).as_nanos();
                let part = scale_up(run, (due - from.served) as u64, rise(from, *vertex));
                self.release = now.max(from.at + Span::from_nanos(part));
                return;
            }
            from = Anchor { at: vertex.at, served: to };
        }
        self.release = now;
    }
}

impl<P: Packet> Stage<P> for Edge<P> {
    #[inline]
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        let first = self.queue.is_empty();
        if self.arrived_bytes - self.released_bytes + u64::from(packet.bytes()) > MOST_HELD && !first {
            return Verdict::Refused(packet);
        }
        let mut moved = self.advance(now);
        if self.hull.is_empty() && first {
            // All is served and all has left: the curve starts anew, from zero.
            self.anchor = Anchor { at: now, served: 0 };
            (self.arrived_bytes, self.released_bytes) = (0, 0);
        } else if self.hull.is_empty() {
            self.anchor.at = now;
        }
        self.arrivals += 1;
        self.arrived_bytes += u64::from(packet.bytes());
        let deadline = Vertex { at: now + self.parameters.delay, bytes: self.arrived_bytes };
        self.queue.push_back(packet);
        moved |= self.push(deadline, now);
        if first || moved {
            self.schedule(now);
        }
        Verdict::Queued
    }

    #[inline]
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
        self.queue.front().map(|_| self.release)
    }
}

/// A number of bytes in units of 2^-32.
#[inline]
fn fixed(bytes: u64) -> u128 {
    u128::from(bytes) << 32
}

/// Bytes from one point of the curve to the next, in units of 2^-32; less than what the pacer may hold.
#[inline]
fn rise(from: Anchor, to: Vertex) -> u64 {
    (fixed(to.bytes) - from.served) as u64
}

/// Whether the line from `before` to `back` is steeper than the one from there to `after`: whether `back` stays.
#[inline]
fn steeper(before: Anchor, back: Vertex, after: Vertex) -> bool {
    let run = back.at.since(before.at).as_nanos();
    let next_rise = (after.bytes - back.bytes) << 32;
    let next_run = after.at.since(back.at).as_nanos();
    u128::from(rise(before, back)) * u128::from(next_run) > u128::from(next_rise) * u128::from(run)
}

/// whole part / of, rounded up, where `part` is at most `of`.
#[inline]
fn scale_up(whole: u64, part: u64, of: u64) -> u64 {
    if part >= of {
        return whole;
    }
    (u128::from(whole) * u128::from(part)).div_ceil(u128::from(of)) as u64 // at most `whole`
}
