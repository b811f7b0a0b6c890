//! Links that feed each other, at work on any thread: an engine without flows.
//!
//! *Idea.* Links serve their windows as they do on one thread, by the same code. What differs is who brings packets and takes them: they
//! come in lists, as hosts of one part ([`super::part`]) have sent them, and go into that part's bag.

use super::behind::Behind;
use super::part::bare;
use super::windows::Windows;
use super::{Engine, Flows, Links};
use crate::kernel::packet::Event;
use crate::model::link::window::{Note, Notes};
use paceline_core::Instant;
use std::collections::BTreeMap;

/// Groups to a thread, at most. In tests few.
const GROUPS_A_THREAD: usize = if cfg!(debug_assertions) { 1 } else { 4 };

/// Stages between which packets go, and their links; or several such.
pub(super) struct Group<'a> {
    engine: Engine<'a>,
    /// Of each stage: its position among all the network's.
    positions: Vec<usize>,
    /// Packets in the last window.
    pub(super) served: u64,
}

/// What comes from hosts that are elsewhere, and goes there.
pub(super) struct Post {
    /// log2 of the flows in a part.
    shift: u32,
    /// By stage: lists, each with the part whose hosts have sent it.
    pub(super) lists: Vec<Vec<(usize, Vec<Event>)>>,
    /// By part.
    pub(super) bags: Vec<Bag>,
    /// What has been noted of packets at links.
    pub(super) notes: Vec<(u32, Notes)>,
    /// Lists in which nothing is.
    empty: Vec<Vec<Event>>,
}

/// What a window brings to the hosts of a part.
#[derive(Default)]
pub(super) struct Bag {
    /// What has been dropped: known before what else has come.
    pub(super) losses: Vec<Event>,
    /// In the order in which links have let it go.
    pub(super) packets: Vec<Event>,
    /// Behind these: flow by flow, as it had been sent ([`super::lone`]).
    pub(super) lists: Vec<Vec<Event>>,
    /// Lists that have been taken.
    pub(super) empty: Vec<Vec<Event>>,
}

impl Post {
    /// Hosts of a part have sent these to a stage; an empty list takes their place.
    pub(super) fn take(&mut self, stage: usize, part: usize, list: &mut Vec<Event>) {
        let empty = self.bags[part].empty.pop().or_else(|| self.empty.pop()).unwrap_or_default();
        self.lists[stage].push((part, std::mem::replace(list, empty)));
    }

    /// Some packets have left the last links that flows share.
    pub(super) fn deal(&mut self, packets: &mut Vec<Event>) {
        for event in packets.drain(..) {
            self.bags[(event.flow >> self.shift) as usize].packets.push(event);
        }
    }

    /// Something has been noted of packets at a link.
    pub(super) fn note(&mut self, link: u32, notes: &mut Notes) {
        for (event, note) in &*notes {
            if let Note::Refused | Note::Dropped = note {
                self.bags[(event.flow >> self.shift) as usize].losses.push(*event);
            }
        }
        if !notes.is_empty() {
            self.notes.push((link, std::mem::take(notes)));
        }
    }

    /// All that has come to this stage is put together.
    pub(super) fn gather(&mut self, stage: usize, packets: &mut Vec<Event>) {
        for (_, mut list) in self.lists[stage].drain(..) {
            packets.append(&mut list);
            self.empty.push(list);
        }
    }

    /// This list has been emptied.
    pub(super) fn take_empty(&mut self, list: Vec<Event>) {
        self.empty.push(list);
    }

    /// The packets of this list have passed in place: it goes back to where it came from, and an empty one takes its place.
    pub(super) fn give_back(&mut self, part: usize, list: &mut Vec<Event>) {
        let empty = self.empty.pop().unwrap_or_default();
        self.bags[part].lists.push(std::mem::replace(list, empty));
    }
}

impl<'a> Group<'a> {
    /// The stages of a network with their links, those together that feed each other. For so many parts of 2^`shift` flows.
    pub(super) fn share(
        whole: &mut Engine<'a>,
        windows: &mut Windows,
        parts: usize,
        shift: u32,
    ) -> Vec<Self> {
        let stages = std::mem::take(&mut windows.stages);
        let last = |mut position: usize| {
            while let Some(next) = stages[position].next {
                position = next as usize;
            }
            position
        };
        let ends: Vec<usize> = (0..stages.len()).map(last).collect();
        // Where there are many such, several make a group: each takes room for the network's links.
        let most = whole.threads.saturating_mul(GROUPS_A_THREAD);
        let (mut numbers, mut groups) = (BTreeMap::new(), Vec::<(Vec<usize>, Vec<_>)>::new());
        for ((position, stage), end) in stages.into_iter().enumerate().zip(ends) {
            let next = numbers.len();
            let group = *numbers.entry(end).or_insert(next) % most;
            if group == groups.len() {
                groups.push((Vec::new(), Vec::new()));
            }
            groups[group].0.push(position);
            groups[group].1.push(stage);
        }
        let groups = groups.into_iter().map(|(positions, mut stages)| {
            let place = |position: &mut u32| {
                *position = positions.partition_point(|known| *known < *position as usize) as u32;
            };
            for stage in &mut stages {
                debug_assert!(stage.feeders.is_empty(), "no ring is shared out");
                stage.next.iter_mut().chain(&mut stage.sources).for_each(place);
            }
            let mut engine = bare(whole, Flows::default());
            engine.links = Links::away(whole.links.len());
            for stage in &stages {
                for link in stage.links() {
                    whole.links.give(link, &mut engine.links);
                    engine.samples.extend(whole.samples.extract_if(.., |one| one.link() as usize == link));
                }
            }
            engine.staged = positions.iter().map(|at| std::mem::take(&mut whole.staged[*at])).collect();
            engine.post = Some(Box::new(Post {
                shift,
                lists: positions.iter().map(|_| Vec::new()).collect(),
                bags: (0..parts).map(|_| Bag::default()).collect(),
                notes: Vec::new(),
                empty: Vec::new(),
            }));
            engine.behind = Behind::all(&stages, engine.network);
            engine.windows = Some(Windows::new(stages, true));
            Group { engine, positions, served: 0 }
        });
        groups.collect()
    }

    /// By position among all the network's stages: which group has it, and where.
    pub(super) fn places(groups: &[Self]) -> Vec<(usize, usize)> {
        let stages = groups.iter().enumerate().flat_map(|(group, Group { positions, .. })| {
            positions.iter().enumerate().map(move |(place, position)| (*position, (group, place)))
        });
        let mut stages: Vec<_> = stages.collect();
        stages.sort_unstable();
        stages.into_iter().map(|(_, place)| place).collect()
    }

    /// What comes and goes.
    pub(super) fn post(&mut self) -> Option<&mut Post> {
        self.engine.post.as_deref_mut()
    }

    /// How far hosts may run: nothing that is still to be served here reaches one before.
    pub(super) fn next_hosts_until(&self) -> Instant {
        self.engine.windows.as_ref().map_or(Instant::MAX, Windows::next_hosts_until)
    }

    /// Serves the links up to the end of their windows.
    pub(super) fn run(&mut self, hosts_until: Instant, until: Instant) {
        self.engine.until = until;
        self.served = self.engine.run_stages(hosts_until);
    }

    /// Where the hosts stand when something next happens here.
    pub(super) fn next_window(&self) -> Option<Instant> {
        self.engine.next_window()
    }

    /// Hosts are idle up to this time, and so are links.
    pub(super) fn skip_to(&mut self, hosts_until: Instant) {
        let Engine { windows, until, .. } = &mut self.engine;
        windows.iter_mut().for_each(|windows| windows.skip_to(hosts_until, *until));
    }

    /// All that groups have becomes the network's again.
    pub(super) fn give_back(groups: Vec<Self>, whole: &mut Engine<'a>, windows: &mut Windows) {
        let mut all = Vec::new();
        for Group { mut engine, positions, .. } in groups {
            let stages = engine.windows.take().map_or(Vec::new(), |windows| windows.stages);
            for (place, mut stage) in stages.into_iter().enumerate() {
                for link in stage.links() {
                    engine.links.give(link, &mut whole.links);
                }
                let position = |place: &mut u32| *place = positions[*place as usize] as u32;
                stage.next.iter_mut().chain(&mut stage.sources).for_each(position);
                let staged = &mut whole.staged[positions[place]];
                staged.append(&mut engine.staged[place]);
                if let Some(post) = &mut engine.post {
                    post.gather(place, staged);
                }
                all.push((positions[place], stage));
            }
            whole.samples.append(&mut engine.samples);
            whole.series.append(&mut engine.series);
        }
        all.sort_by_key(|(position, _)| *position);
        windows.stages.extend(all.into_iter().map(|(_, stage)| stage));
    }
}
