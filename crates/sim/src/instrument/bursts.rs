//! Sizes of bursts on a link: packets back to back.
//!
//! *Idea.* A packet follows the one before back to back where the wire is idle between them for no longer than a gap. Count
//! how many follow each other so; keep how often each size came.
//! *Parameters.* `gap` (time; a twentieth of the time that the first of the two spends on the wire), and `of = "flow"`: a packet
//! of another flow ends a burst too.
//! *Where it breaks.* On a link that never idles all is one burst: look at links before a bottleneck. The first and the
//! last burst are cut where the time watched begins and ends.
//! *References.* H. Jiang and C. Dovrolis 2005, "Why is the Internet traffic bursty in short time scales?"

use super::classes::LINKS;
use super::described::{Described, Measure, Passing, Placed, Placing, View};
use super::distribution::cumulative;
use super::observer::Observer;
use super::rows::{Curve, FlowRow, SeriesRow};
use super::sampling::{FROM, TO};
use crate::input::keys::{Key, Kind, key, words};
use crate::input::{Field, Result, Table};
use crate::kernel::packet::Packet;
use paceline_core::{Instant, Span};
use std::collections::BTreeMap;

/// The table `bursts`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BurstRule {
    /// A wire idle for no longer does not end a burst; `None` is a twentieth of the last packet's time on the wire.
    gap: Option<Span>,
    /// A packet of another flow ends a burst.
    of_one_flow: bool,
}

/// Whether flows are told apart.
const OF: [(&str, bool); 2] = [("link", false), ("flow", true)];

impl Described for BurstRule {
    const KEYS: &'static [Key] = &[
        LINKS,
        key(
            "gap",
            Kind::Time,
            "packets are back to back where the wire is idle no longer; a twentieth of the first one's time on it unless given",
        ),
        key(
            "of",
            Kind::Word(|| words(&OF)),
            "with flow a packet of another flow ends a burst too; link unless given",
        ),
        FROM,
        TO,
    ];

    fn read(table: &Table<'_>, _: (Instant, Instant)) -> Result<Self> {
        let gap = table.optional("gap", Field::span)?;
        let of = table.optional("of", |field| field.choice(&OF))?;
        Ok(BurstRule { gap, of_one_flow: of.unwrap_or(false) })
    }

    fn place(&self, placing: &Placing<'_>) -> Result<Vec<Placed>> {
        Ok(placing.on_links(self.clone()))
    }
}

impl Measure for BurstRule {
    fn view(&self) -> View {
        View::Link(Passing::Departure)
    }

    fn observer(&self, _: (Instant, Instant)) -> Box<dyn Observer> {
        Box::new(Bursts::new(self.gap, self.of_one_flow))
    }
}

/// At work on one link.
#[derive(Debug)]
struct Bursts {
    gap: Option<Span>,
    of_one_flow: bool,
    /// Packets of the burst under way; 0 before the first.
    size: u64,
    last: Last,
    /// How often each size came. A size of k needs k packets, so there are few.
    sizes: BTreeMap<u64, u64>,
}

/// The packet before.
#[derive(Debug, Default)]
struct Last {
    flow: u32,
    finish: Instant,
    on_wire: Span,
}

impl Bursts {
    fn new(gap: Option<Span>, of_one_flow: bool) -> Self {
        Bursts { gap, of_one_flow, size: 0, last: Last::default(), sizes: BTreeMap::new() }
    }

    /// A packet is on the wire from `start` to `finish`.
    fn add(&mut self, flow: u32, start: Instant, finish: Instant) {
        let gap = self.gap.unwrap_or(Span::from_nanos(self.last.on_wire.as_nanos() / 20));
        let follows = start.since(self.last.finish) <= gap && (!self.of_one_flow || flow == self.last.flow);
        if !follows {
            self.end();
        }
        self.size += 1;
        self.last = Last { flow, finish, on_wire: finish.since(start) };
    }

    fn end(&mut self) {
        if self.size > 0 {
            *self.sizes.entry(std::mem::take(&mut self.size)).or_default() += 1;
        }
    }
}

impl Observer for Bursts {
    fn on_departure(&mut self, packet: &Packet, (start, finish): (Instant, Instant), _: &mut Vec<SeriesRow>) {
        self.add(packet.flow, start, finish);
    }

    fn curves(mut self: Box<Self>, link: &str, _: &[FlowRow], curves: &mut Vec<Curve>) {
        self.end();
        curves.push(Curve::at_link(
            "burst_size",
            link,
            ("packets", "1"),
            cumulative(self.sizes.iter().map(|(size, count)| (*size as f64, *count))),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::observer::found;
    use super::*;

    #[test]
    fn bursts_end_where_the_wire_idles_or_the_flow_changes() {
        // Packets of 100 ns; the third comes 5 ns late, which is still back to back, the fourth 6 ns.
        let packets = [(0, 0), (1, 100), (1, 205), (1, 311), (1, 1000)];
        let sizes = |gap, of_one_flow| {
            let mut bursts = Bursts::new(gap, of_one_flow);
            for (flow, start) in packets {
                bursts.add(flow, Instant::from_nanos(start), Instant::from_nanos(start + 100));
            }
            found(bursts)[0].points.iter().map(|p| (p.x as u64, p.count)).collect::<Vec<_>>()
        };
        assert_eq!(sizes(None, false), [(1, 2), (3, 3)]);
        assert_eq!(sizes(None, true), [(1, 3), (2, 4)]);
        assert_eq!(sizes(Some(Span::from_nanos(6)), false), [(1, 1), (4, 2)]);
        assert_eq!(sizes(Some(Span::ZERO), false), [(1, 3), (2, 4)]);
    }
}
