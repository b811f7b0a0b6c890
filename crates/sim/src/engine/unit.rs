//! A link that runs in windows, at work on any thread, with the links behind it that it alone feeds.

use super::Engine;
use super::samples::{Sample, look};
use super::stage::Stage;
use super::threads::Mail;
use super::windows::{Desk, Windows};
use crate::link::{Fitted, Link};
use crate::output::SeriesRow;
use crate::packet::Event;
use paceline_core::Instant;

/// A stage and all that its packets need up to the next one, or up to the links that only one flow uses.
pub(super) struct Unit {
    pub(super) stage: Stage,
    /// Its position among the stages.
    pub(super) position: usize,
    link: Link,
    /// The links behind it, and their numbers in the network.
    behind: Vec<(u32, Link)>,
    samples: Vec<Sample>,
    series: Vec<SeriesRow>,
    pub(super) desk: Desk,
    arrivals: Vec<Event>,
    pub(super) incoming: Mail,
    /// What goes to hosts, by part.
    pub(super) out: Vec<Vec<Event>>,
    /// Packets in the last window.
    pub(super) served: u64,
}

impl Unit {
    /// The stages of a network with their links, in their order; and by link its place behind its stage.
    pub(super) fn all(whole: &mut Engine<'_>, windows: &mut Windows, parts: usize) -> (Vec<Unit>, Vec<u32>) {
        let mut take = |link: u32| std::mem::replace(&mut whole.links[link as usize], Link::stand_in());
        let mut place_in_unit = vec![u32::MAX; whole.network.links.len()];
        let stages = std::mem::take(&mut windows.stages).into_iter().zip(&mut whole.staged);
        let units = stages.enumerate().map(|(position, (stage, arrivals))| {
            let numbers = stage.ends.iter().flatten();
            let behind: Vec<(u32, Link)> = numbers.map(|&number| (number, take(number))).collect();
            for (place, (number, _)) in (0..).zip(&behind) {
                place_in_unit[*number as usize] = place;
            }
            let mut out = Vec::new();
            out.resize_with(parts, Vec::new);
            Unit {
                link: take(stage.link),
                behind,
                samples: whole.samples.extract_if(.., |sample| sample.link() == stage.link).collect(),
                series: Vec::new(),
                desk: Desk::default(),
                arrivals: std::mem::take(arrivals),
                incoming: Mail::default(),
                out,
                served: 0,
                position,
                stage,
            }
        });
        let units = units.collect();
        (units, place_in_unit)
    }

    /// Serves the link up to the end of its window.
    pub(super) fn run(&mut self, times: (Instant, Instant), place_in_unit: &[u32], shift: u32) {
        self.incoming.empty_into(&mut self.arrivals);
        let Desk { sorter, line, room, notes } = &mut self.desk;
        let end = self.stage.line_up(&mut self.arrivals, times, sorter, line);
        self.served = line.len() as u64;
        let (samples, series, number) = (&mut self.samples, &mut self.series, self.stage.link);
        let look = |link: &mut Fitted, time| look(samples, number, link, time, series);
        self.link.serve(self.stage.service, (line, room), end, notes, look);
        if self.stage.next.is_none() {
            for event in line.iter() {
                let place =
                    place_in_unit.get(event.place as usize).map_or(usize::MAX, |place| *place as usize);
                let link = self.behind.get_mut(place).map(|(_, link)| link);
                let mut event = *event;
                if let Some(link) = link {
                    event.at = link.pass(event.bytes, event.is_ack(), event.at).arrival;
                }
                self.out[(event.flow >> shift) as usize].push(event);
            }
        }
    }

    /// Where the hosts stand when something next happens here.
    pub(super) fn next_window(&self) -> Option<Instant> {
        self.stage.next_window(&self.arrivals, &self.link)
    }

    /// All that it has becomes the network's again; units are given back in the order of stages.
    pub(super) fn give_back(mut self, whole: &mut Engine<'_>, windows: &mut Windows) {
        for (number, link) in self.behind.drain(..) {
            whole.links[number as usize] = link;
        }
        let number = self.stage.link as usize;
        whole.links[number] = self.link;
        whole.samples.append(&mut self.samples);
        whole.series.append(&mut self.series);
        let staged = &mut whole.staged[windows.stages.len()];
        staged.append(&mut self.arrivals);
        self.incoming.empty_into(staged);
        windows.stages.push(self.stage);
    }
}
