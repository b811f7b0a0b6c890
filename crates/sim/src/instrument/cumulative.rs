//! Cumulative throughput: bytes that a link has carried, and payload that flows have delivered, since the time watched began.
//!
//! *Idea.* A link's bytes flow out evenly while a packet is on its wire, so a packet that a sample cuts counts in part, as in
//! the link's own throughput. What flows deliver in order is read at the times of the samples.
//! *Parameters.* `every`, a sample each, and one where the time watched ends; links, or flows in classes.
//! *Where it breaks.* A slope is only as fine as the samples.
//! *References.* The arrival and departure curves of network calculus: J.-Y. Le Boudec and P. Thiran 2001.

use super::classes::Classes;
use super::observer::Observer;
use super::rows::{Curve, FlowRow, Point, SeriesRow};
use super::sampling::next_of;
use crate::kernel::ids::FlowId;
use crate::kernel::packet::Packet;
use paceline_core::{Instant, Span};

/// One link.
#[derive(Debug)]
pub(crate) struct Carried {
    from: Instant,
    to: Instant,
    every: Span,
    next: Option<Instant>,
    /// Bytes of packets that were whole on the wire since `from`, and of the one that was on it then.
    bytes: u64,
    cut: f64,
    points: Vec<Point>,
}

impl Carried {
    pub(crate) fn new(from: Instant, to: Instant, every: Span) -> Self {
        Carried { from, to, every, next: Some(from), bytes: 0, cut: 0.0, points: Vec::new() }
    }

    /// A packet is on the wire from `start` to `finish`; they come in order.
    fn add(&mut self, bytes: u32, start: Instant, finish: Instant) {
        if finish <= self.from || start >= self.to {
            return;
        }
        let part = |until: Instant| {
            let within = until.since(start.max(self.from)).as_seconds();
            f64::from(bytes) * within / finish.since(start).as_seconds()
        };
        while let Some(at) = self.next.filter(|next| *next < finish) {
            let here = if at > start { part(at) } else { 0.0 };
            self.points.push(Point { x: at.as_seconds(), y: self.bytes as f64 + self.cut + here, count: 1 });
            self.next = next_of(at, self.every, self.to);
        }
        if start >= self.from {
            self.bytes += u64::from(bytes);
        } else {
            self.cut += part(finish);
        }
    }
}

impl Observer for Carried {
    fn on_departure(&mut self, packet: &Packet, (start, finish): (Instant, Instant), _: &mut Vec<SeriesRow>) {
        self.add(u32::from(packet.bytes), start, finish);
    }

    fn curves(mut self: Box<Self>, link: &str, _: &[FlowRow], curves: &mut Vec<Curve>) {
        while let Some(at) = self.next {
            self.points.push(Point { x: at.as_seconds(), y: self.bytes as f64 + self.cut, count: 1 });
            self.next = next_of(at, self.every, self.to);
        }
        curves.push(Curve::at_link("carried", link, ("s", "B"), self.points));
    }
}

/// Flows, in classes.
#[derive(Debug)]
pub(crate) struct Delivered {
    classes: Classes,
    /// What each class had delivered as the time watched began, bytes.
    before: Vec<u64>,
    points: Vec<Vec<Point>>,
}

impl Delivered {
    pub(crate) fn new(classes: Classes) -> Self {
        let points = vec![Vec::new(); classes.names.len()];
        Delivered { classes, before: Vec::new(), points }
    }
}

impl Observer for Delivered {
    fn sample(&mut self, at: Instant, of_flow: &dyn Fn(FlowId) -> u64) {
        let mut delivered = vec![0; self.classes.names.len()];
        for (flow, class) in self.classes.members() {
            delivered[class] += of_flow(flow);
        }
        if self.before.is_empty() {
            self.before.clone_from(&delivered);
        }
        for ((points, now), before) in self.points.iter_mut().zip(&delivered).zip(&self.before) {
            points.push(Point { x: at.as_seconds(), y: (now - before) as f64, count: 1 });
        }
    }

    fn curves(self: Box<Self>, _: &str, _: &[FlowRow], curves: &mut Vec<Curve>) {
        for (name, points) in self.classes.names.iter().zip(self.points) {
            curves.push(Curve::of_flow("delivered", name, ("s", "B"), points));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::observer::found;
    use super::*;

    #[test]
    fn a_packet_counts_while_it_is_on_the_wire() {
        let at = |seconds: u64| Instant::from_nanos(seconds * 1_000_000_000);
        let mut carried = Carried::new(at(2), at(9), Span::from_millis(2000));
        for (bytes, start, finish) in [(100, 0, 1), (400, 1, 5), (300, 5, 8), (200, 8, 10), (100, 11, 12)] {
            carried.add(bytes, at(start), at(finish));
        }
        let found: Vec<(f64, f64)> = found(carried)[0].points.iter().map(|p| (p.x, p.y)).collect();
        assert_eq!(found, [(2.0, 0.0), (4.0, 200.0), (6.0, 400.0), (8.0, 600.0), (9.0, 700.0)]);
    }
}
