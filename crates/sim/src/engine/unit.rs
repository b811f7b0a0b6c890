//! A link that runs in windows, at work on any thread, with the links behind it that it alone feeds.
//!
//! *Idea.* All packets of a run may pass one link, where nothing is done side by side. So as little as can be is done there: each
//! of its pieces ([`super::pieces`]) is put in order while the link serves the one before; and what leaves is passed on by the
//! links behind, side by side.

use super::Engine;
use super::line::Sorter;
use super::pieces::Pieces;
use super::pool::Pool;
use super::samples::{Sample, look};
use super::stage::Stage;
use super::threads::Mail;
use super::windows::Windows;
use crate::link::window::{Notes, Service};
use crate::link::{Fitted, Link};
use crate::output::SeriesRow;
use crate::packet::Event;
use paceline_core::Instant;
use rayon::prelude::*;

/// A stage and all that its packets need up to the next one, or up to the links that only one flow uses.
pub(super) struct Unit {
    pub(super) stage: Stage,
    /// Its position among the stages.
    pub(super) position: usize,
    pub(super) desk: Desk,
    /// What has come for later windows, and room for that.
    arrivals: Vec<Event>,
    later: Vec<Event>,
    pub(super) from_hosts: Mail,
    pub(super) from_links: Mail,
}

/// The link at work, and what becomes of its packets.
pub(super) struct Desk {
    number: u32,
    link: Link,
    service: Service,
    samples: Vec<Sample>,
    series: Vec<SeriesRow>,
    pub(super) notes: Notes,
    room: Vec<Event>,
    /// Whether there is a next stage, and what goes there.
    has_next: bool,
    pub(super) onward: Vec<Event>,
    /// Else the links behind this one; the last stands for no link.
    pub(super) behind: Vec<Behind>,
    /// Packets in the last window.
    pub(super) served: u64,
}

/// Packets in order, and room to put them so.
#[derive(Default)]
pub(super) struct Line {
    sorter: Sorter,
    /// No other packet comes before this time.
    end: Instant,
}

/// A link behind a stage that alone feeds it.
pub(super) struct Behind {
    link: Option<(u32, Link)>,
    packets: Vec<Event>,
    /// What goes to hosts, by part.
    pub(super) out: Vec<Vec<Event>>,
}

impl Behind {
    fn new(link: Option<(u32, Link)>, parts: usize) -> Self {
        let mut out = Vec::new();
        out.resize_with(parts, Vec::new);
        Behind { link, packets: Vec::new(), out }
    }

    fn run(&mut self, shift: u32) {
        for mut event in self.packets.drain(..) {
            if let Some((_, link)) = &mut self.link {
                event.at = link.pass(event.bytes, event.is_ack(), event.at).arrival;
            }
            self.out[(event.flow >> shift) as usize].push(event);
        }
    }
}

impl Desk {
    fn serve(&mut self, line: &Line, place_in_unit: &[u32]) {
        let packets = line.sorter.due();
        self.served += packets.len() as u64;
        let (samples, series, number) = (&mut self.samples, &mut self.series, self.number);
        let look = |link: &mut Fitted, time| look(samples, number, link, time, series);
        let out = if self.has_next { &mut self.onward } else { &mut self.room };
        self.link.serve(self.service, packets, line.end, out, &mut self.notes, look);
        let no_link = self.behind.len() - 1;
        for event in self.room.drain(..) {
            let place = place_in_unit.get(event.place as usize).map_or(no_link, |place| *place as usize);
            self.behind[place].packets.push(event);
        }
    }
}

impl Unit {
    /// The stages of a network with their links, in their order; and by link its place behind its stage.
    pub(super) fn all(whole: &mut Engine<'_>, windows: &mut Windows, parts: usize) -> (Vec<Unit>, Vec<u32>) {
        let mut take = |link: u32| std::mem::replace(&mut whole.links[link as usize], Link::stand_in());
        let mut place_in_unit = vec![u32::MAX; whole.network.links.len()];
        let stages = std::mem::take(&mut windows.stages).into_iter().zip(&mut whole.staged);
        let units = stages.enumerate().map(|(position, (stage, arrivals))| {
            let mut behind = Vec::new();
            for &number in stage.ends.iter().flatten() {
                place_in_unit[number as usize] = behind.len() as u32;
                behind.push(Behind::new(Some((number, take(number))), parts));
            }
            behind.push(Behind::new(None, parts));
            let desk = Desk {
                number: stage.link,
                link: take(stage.link),
                service: stage.service,
                samples: whole.samples.extract_if(.., |sample| sample.link() == stage.link).collect(),
                series: Vec::new(),
                notes: Notes::new(),
                room: Vec::new(),
                has_next: stage.next.is_some(),
                onward: Vec::new(),
                behind,
                served: 0,
            };
            Unit {
                desk,
                arrivals: std::mem::take(arrivals),
                later: Vec::new(),
                from_hosts: Mail::default(),
                from_links: Mail::default(),
                position,
                stage,
            }
        });
        let units = units.collect();
        (units, place_in_unit)
    }

    /// Serves the link up to the end of its window.
    pub(super) fn run(
        &mut self,
        times: (Instant, Instant),
        place_in_unit: &[u32],
        shift: u32,
        free: &Pool<[Line; 2]>,
    ) {
        let mut lines = free.take(); // one that is served, and one that is being made
        let [now, next] = &mut lines;
        let Unit { stage, desk, arrivals, later, from_hosts, from_links, .. } = self;
        let (window, in_order) = (stage.advance(times), from_hosts.is_empty());
        desk.served = 0;
        let hosts_and_links = from_hosts.lists().chain(from_links.lists());
        let mut pieces = Pieces::of(arrivals, hosts_and_links, window, in_order);
        let mut line_up = |line: &mut Line| {
            let end = pieces.line_up(&mut line.sorter);
            end.map(|end| line.end = end).is_some()
        };
        let (mut now, mut next) = (now, next);
        line_up(now);
        while rayon::join(|| desk.serve(now, place_in_unit), || line_up(next)).1 {
            std::mem::swap(&mut now, &mut next);
        }
        pieces.keep(&now.sorter, later);
        free.give_back(lines);
        std::mem::swap(arrivals, later);
        from_hosts.clear();
        from_links.clear();
        self.desk.behind.par_iter_mut().for_each(|behind| behind.run(shift));
    }

    /// Where the hosts stand when something next happens here.
    pub(super) fn next_window(&self) -> Option<Instant> {
        self.stage.next_window(&self.arrivals, &self.desk.link)
    }

    /// All that it has becomes the network's again; units are given back in the order of stages.
    pub(super) fn give_back(mut self, whole: &mut Engine<'_>, windows: &mut Windows) {
        for (number, link) in self.desk.behind.into_iter().filter_map(|behind| behind.link) {
            whole.links[number as usize] = link;
        }
        whole.links[self.desk.number as usize] = self.desk.link;
        whole.samples.append(&mut self.desk.samples);
        whole.series.append(&mut self.desk.series);
        let staged = &mut whole.staged[windows.stages.len()];
        staged.append(&mut self.arrivals);
        self.from_hosts.empty_into(staged);
        self.from_links.empty_into(staged);
        windows.stages.push(self.stage);
    }
}
