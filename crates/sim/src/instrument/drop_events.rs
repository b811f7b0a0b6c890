//! Drop events of a link: how many flows each hits.
//!
//! *Idea.* A drop belongs to the event of the drop before it if it comes less than `gap` after that one and less than `length`
//! after the event's first; else it begins a new event. By default an event is what RFC 5348 takes for one loss event: all
//! within a round-trip time of its first drop; a gap makes it a cluster of drops in the sense of loss-burst studies.
//! For each event the flows it hit and the packets it took are counted.
//! *Parameters.* `gap` (time; none), `length` (time; where neither is given, the mean propagation round-trip time of the flows
//! over the link).
//! *Where it breaks.* At a loss rate where drops never stop, a gap alone makes one event of the whole run. Events that the ends
//! of the time watched cut count as they are. Forced losses count; lost acknowledgements count for their flow.
//! *References.* RFC 5348, section 5.2; D. X. Wei, P. Cao and S. Low 2006 and M. Ghobadi and Y. Ganjali 2013 (flows affected by a
//! drop event).

use super::classes::LINKS;
use super::described::{Described, Measure, Placed, Placing, View};
use super::distribution::cumulative;
use super::observer::Observer;
use super::rows::{Curve, FlowRow};
use super::sampling::{FROM, TO};
use crate::input::keys::{Key, Kind, key};
use crate::input::{Field, Result, ScenarioError, Table};
use crate::kernel::cause::Cause;
use crate::kernel::ids::LinkId;
use paceline_core::{Instant, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The table `drop_events`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EventRule {
    /// Drops this far apart or farther belong to different events.
    gap: Option<Span>,
    /// An event ends this long after its first drop.
    length: Option<Span>,
}

impl Described for EventRule {
    const KEYS: &'static [Key] = &[
        LINKS,
        key("gap", Kind::Time, "an event goes on with each drop less than this after the one before"),
        key(
            "length",
            Kind::Time,
            "and less than this after its first; the mean round trip where neither is given",
        ),
        FROM,
        TO,
    ];

    fn read(table: &Table<'_>, _: (Instant, Instant)) -> Result<Self> {
        Ok(EventRule {
            gap: table.optional("gap", Field::positive_span)?,
            length: table.optional("length", Field::positive_span)?,
        })
    }

    fn place(&self, placing: &Placing<'_>) -> Result<Vec<Placed>> {
        let of_round_trip = |&link: &LinkId| -> Result<Placed> {
            let problem =
                "no flow passes a link named here, so it has no round-trip time; write gap or length";
            let length =
                (placing.round_trip)(link).ok_or_else(|| ScenarioError::at(placing.path, problem))?;
            Ok((Some(link), Arc::new(Rule { gap: Span::MAX, length })))
        };
        match (self.gap, self.length) {
            (None, None) => placing.links.iter().map(of_round_trip).collect(),
            (gap, length) => {
                Ok(placing
                    .on_links(Rule { gap: gap.unwrap_or(Span::MAX), length: length.unwrap_or(Span::MAX) }))
            }
        }
    }
}

/// When an event ends.
#[derive(Debug)]
struct Rule {
    gap: Span,
    length: Span,
}

impl Measure for Rule {
    fn view(&self) -> View {
        View::Drops
    }

    fn observer(&self, (from, to): (Instant, Instant)) -> Box<dyn Observer> {
        Box::new(DropEvents::new(from, to, self.gap, self.length))
    }
}

/// At work on one link.
#[derive(Debug)]
struct DropEvents {
    from: Instant,
    to: Instant,
    gap: Span,
    length: Span,
    first: Instant,
    last: Instant,
    /// Events so far, this one included.
    number: u32,
    /// The last event that hit each flow, as far as any was hit.
    hit_by: Vec<u32>,
    /// Flows and packets of the event under way.
    flows_hit: u64,
    packets: u64,
    /// How often each number of flows, and of packets, came.
    by_flows: BTreeMap<u64, u64>,
    by_packets: BTreeMap<u64, u64>,
}

impl DropEvents {
    fn new(from: Instant, to: Instant, gap: Span, length: Span) -> Self {
        DropEvents {
            from,
            to,
            gap,
            length,
            first: Instant::ZERO,
            last: Instant::ZERO,
            number: 0,
            hit_by: Vec::new(),
            flows_hit: 0,
            packets: 0,
            by_flows: BTreeMap::new(),
            by_packets: BTreeMap::new(),
        }
    }

    fn end(&mut self) {
        if self.packets > 0 {
            *self.by_flows.entry(std::mem::take(&mut self.flows_hit)).or_default() += 1;
            *self.by_packets.entry(std::mem::take(&mut self.packets)).or_default() += 1;
        }
    }
}

impl Observer for DropEvents {
    fn on_drop(&mut self, flow: u32, _: Cause, now: Instant) {
        if now < self.from || now >= self.to {
            return;
        }
        let goes_on = now.since(self.last) < self.gap && now.since(self.first) < self.length;
        if self.number == 0 || !goes_on {
            self.end();
            self.number += 1;
            self.first = now;
        }
        self.last = now;
        self.packets += 1;
        if self.hit_by.len() <= flow as usize {
            self.hit_by.resize(flow as usize + 1, 0);
        }
        let hit_by = &mut self.hit_by[flow as usize];
        if *hit_by != self.number {
            *hit_by = self.number;
            self.flows_hit += 1;
        }
    }

    fn curves(mut self: Box<Self>, link: &str, _: &[FlowRow], curves: &mut Vec<Curve>) {
        self.end();
        let kinds = [
            ("drop_event_flows", "flows", self.by_flows),
            ("drop_event_packets", "packets", self.by_packets),
        ];
        for (instrument, x_unit, sizes) in kinds {
            curves.push(Curve::at_link(
                instrument,
                link,
                (x_unit, "1"),
                cumulative(sizes.iter().map(|(size, count)| (*size as f64, *count))),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::observer::found;
    use super::*;

    /// Sizes in flows and in packets, with how many events are no larger.
    fn sizes(gap: Span, length: Span, drops: &[(u32, u64)]) -> [Vec<(u64, u64)>; 2] {
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let mut events = DropEvents::new(at(0), at(1000), gap, length);
        drops.iter().for_each(|(flow, millis)| events.on_drop(*flow, Cause::Overflow, at(*millis)));
        let curves = found(events);
        let of = |curve: &Curve| curve.points.iter().map(|p| (p.x as u64, p.count)).collect();
        [of(&curves[0]), of(&curves[1])]
    }

    #[test]
    fn an_event_ends_by_its_gap_or_its_length() {
        let ms = Span::from_millis;
        let drops = [(0, 0), (1, 5), (0, 9), (2, 19), (2, 100), (2, 1000)];
        // 0 5 9 | 19 | 100: 10 ms after the last is not less than 10 ms; the last is after the end.
        assert_eq!(sizes(ms(10), Span::MAX, &drops), [vec![(1, 2), (2, 3)], vec![(1, 2), (3, 3)]]);
        // 0 5 9 19 | 100
        assert_eq!(sizes(ms(11), Span::MAX, &drops), [vec![(1, 1), (3, 2)], vec![(1, 1), (4, 2)]]);
        // 0 5 | 9 | 19 | 100
        assert_eq!(sizes(Span::MAX, ms(9), &drops), [vec![(1, 3), (2, 4)], vec![(1, 3), (2, 4)]]);
    }
}
