//! Links that feed each other, at work on any thread: an engine without flows.
//!
//! *Idea.* Links serve their epochs as they do on one thread, by the same code. What differs is who brings packets and takes them: they
//! come in lists, as hosts of one host partition (`parallel/host_partition.rs`) have sent them, and go into that part's parcel.

use crate::engine::batched::epoch::Epochs;
use crate::engine::fastpath::uncongested_downstream::Downstream;
use crate::engine::parallel::host_partition::bare;
use crate::engine::{Engine, FlowTable, LinkTable};
use crate::kernel::packet::Event;
use crate::model::link::window::{Note, Notes};
use paceline_core::Instant;
use std::collections::BTreeMap;

/// Groups to a thread, at most. In tests few.
const LINK_PARTITIONS_A_THREAD: usize = if cfg!(debug_assertions) { 1 } else { 4 };

/// Ordered links between which packets go, and their links; or several such.
pub(crate) struct LinkPartition<'a> {
    engine: Engine<'a>,
    /// Of each ordered link: its position among all the network's.
    positions: Vec<usize>,
    /// Packets in the last epoch.
    pub(crate) served: u64,
}

/// What comes from hosts that are elsewhere, and goes there.
pub(crate) struct Exchange {
    /// log2 of the flows in a host partition.
    shift: u32,
    /// By ordered link: lists, each with the host partition whose hosts have sent it.
    pub(crate) lists: Vec<Vec<(usize, Vec<Event>)>>,
    /// By part.
    pub(crate) parcels: Vec<Parcel>,
    /// What has been noted of packets at links.
    pub(crate) notes: Vec<(u32, Notes)>,
    /// Lists in which nothing is.
    empty: Vec<Vec<Event>>,
}

/// What an epoch brings to the hosts of a host partition.
#[derive(Default)]
pub(crate) struct Parcel {
    /// What has been dropped: known before what else has come.
    pub(crate) losses: Vec<Event>,
    /// In the order in which links have let it go.
    pub(crate) packets: Vec<Event>,
    /// Downstream of these: flow by flow, as it had been sent (`fastpath/isolated_packets.rs`).
    pub(crate) lists: Vec<Vec<Event>>,
    /// Lists that have been taken.
    pub(crate) empty: Vec<Vec<Event>>,
}

impl Exchange {
    /// Hosts of a host partition have sent these to an ordered link; an empty list takes their place.
    pub(crate) fn take(&mut self, stage: usize, part: usize, list: &mut Vec<Event>) {
        let empty = self.parcels[part].empty.pop().or_else(|| self.empty.pop()).unwrap_or_default();
        self.lists[stage].push((part, std::mem::replace(list, empty)));
    }

    /// Some packets have left the last links that flows share.
    pub(crate) fn deal(&mut self, packets: &mut Vec<Event>) {
        for event in packets.drain(..) {
            self.parcels[(event.flow >> self.shift) as usize].packets.push(event);
        }
    }

    /// Something has been noted of packets at a link.
    pub(crate) fn note(&mut self, link: u32, notes: &mut Notes) {
        for (event, note) in &*notes {
            if let Note::Refused | Note::Dropped = note {
                self.parcels[(event.flow >> self.shift) as usize].losses.push(*event);
            }
        }
        if !notes.is_empty() {
            self.notes.push((link, std::mem::take(notes)));
        }
    }

    /// All that has come to this ordered link is put together.
    pub(crate) fn gather(&mut self, stage: usize, packets: &mut Vec<Event>) {
        for (_, mut list) in self.lists[stage].drain(..) {
            packets.append(&mut list);
            self.empty.push(list);
        }
    }

    /// This list has been emptied.
    pub(crate) fn take_empty(&mut self, list: Vec<Event>) {
        self.empty.push(list);
    }

    /// The packets of this list have passed in place: it goes back to where it came from, and an empty one takes its place.
    pub(crate) fn give_back(&mut self, part: usize, list: &mut Vec<Event>) {
        let empty = self.empty.pop().unwrap_or_default();
        self.parcels[part].lists.push(std::mem::replace(list, empty));
    }
}

impl<'a> LinkPartition<'a> {
    /// The ordered links of a network with their links, those together that feed each other. For so many host partitions of 2^`shift` flows.
    pub(crate) fn share(
        whole: &mut Engine<'a>,
        epochs: &mut Epochs,
        host_partitions: usize,
        shift: u32,
    ) -> Vec<Self> {
        let stages = std::mem::take(&mut epochs.stages);
        let last = |mut position: usize| {
            while let Some(next) = stages[position].next {
                position = next as usize;
            }
            position
        };
        let ends: Vec<usize> = (0..stages.len()).map(last).collect();
        // Where there are many such, several make a group: each takes room for the network's links.
        let most = whole.threads.saturating_mul(LINK_PARTITIONS_A_THREAD);
        let (mut numbers, mut link_partitions) = (BTreeMap::new(), Vec::<(Vec<usize>, Vec<_>)>::new());
        for ((position, stage), end) in stages.into_iter().enumerate().zip(ends) {
            let next = numbers.len();
            let group = *numbers.entry(end).or_insert(next) % most;
            if group == link_partitions.len() {
                link_partitions.push((Vec::new(), Vec::new()));
            }
            link_partitions[group].0.push(position);
            link_partitions[group].1.push(stage);
        }
        let link_partitions = link_partitions.into_iter().map(|(positions, mut stages)| {
            let place = |position: &mut u32| {
                *position = positions.partition_point(|known| *known < *position as usize) as u32;
            };
            for stage in &mut stages {
                debug_assert!(stage.feeders.is_empty(), "no ring is shared out");
                stage.next.iter_mut().chain(&mut stage.sources).for_each(place);
            }
            let mut engine = bare(whole, FlowTable::default());
            engine.links = LinkTable::away(whole.links.len());
            for stage in &stages {
                for link in stage.links() {
                    whole.links.give(link, &mut engine.links);
                    engine.samples.extend(whole.samples.extract_if(.., |one| one.link() as usize == link));
                }
            }
            engine.staged = positions.iter().map(|at| std::mem::take(&mut whole.staged[*at])).collect();
            engine.exchange = Some(Box::new(Exchange {
                shift,
                lists: positions.iter().map(|_| Vec::new()).collect(),
                parcels: (0..host_partitions).map(|_| Parcel::default()).collect(),
                notes: Vec::new(),
                empty: Vec::new(),
            }));
            engine.downstream = Downstream::all(&stages, engine.network);
            engine.epochs = Some(Epochs::new(stages, true));
            LinkPartition { engine, positions, served: 0 }
        });
        link_partitions.collect()
    }

    /// By position among all the network's ordered links: which group has it, and where.
    pub(crate) fn places(link_partitions: &[Self]) -> Vec<(usize, usize)> {
        let stages =
            link_partitions.iter().enumerate().flat_map(|(group, LinkPartition { positions, .. })| {
                positions.iter().enumerate().map(move |(place, position)| (*position, (group, place)))
            });
        let mut stages: Vec<_> = stages.collect();
        stages.sort_unstable();
        stages.into_iter().map(|(_, place)| place).collect()
    }

    /// What comes and goes.
    pub(crate) fn exchange(&mut self) -> Option<&mut Exchange> {
        self.engine.exchange.as_deref_mut()
    }

    /// How far hosts may run: nothing that is still to be served here reaches one before.
    pub(crate) fn next_hosts_until(&self) -> Instant {
        self.engine.epochs.as_ref().map_or(Instant::MAX, Epochs::next_hosts_until)
    }

    /// Serves the links up to the end of their epochs.
    pub(crate) fn run(&mut self, hosts_until: Instant, until: Instant) {
        self.engine.until = until;
        self.served = self.engine.serve_links(hosts_until);
    }

    /// Where the hosts stand when something next happens here.
    pub(crate) fn next_epoch(&self) -> Option<Instant> {
        self.engine.next_epoch()
    }

    /// Hosts are idle up to this time, and so are links.
    pub(crate) fn skip_to(&mut self, hosts_until: Instant) {
        let Engine { epochs, until, .. } = &mut self.engine;
        epochs.iter_mut().for_each(|epochs| epochs.skip_to(hosts_until, *until));
    }

    /// All that link partitions have becomes the network's again.
    pub(crate) fn give_back(link_partitions: Vec<Self>, whole: &mut Engine<'a>, epochs: &mut Epochs) {
        let mut all = Vec::new();
        for LinkPartition { mut engine, positions, .. } in link_partitions {
            let stages = engine.epochs.take().map_or(Vec::new(), |epochs| epochs.stages);
            for (place, mut stage) in stages.into_iter().enumerate() {
                for link in stage.links() {
                    engine.links.give(link, &mut whole.links);
                }
                let position = |place: &mut u32| *place = positions[*place as usize] as u32;
                stage.next.iter_mut().chain(&mut stage.sources).for_each(position);
                let staged = &mut whole.staged[positions[place]];
                staged.append(&mut engine.staged[place]);
                if let Some(exchange) = &mut engine.exchange {
                    exchange.gather(place, staged);
                }
                all.push((positions[place], stage));
            }
            whole.samples.append(&mut engine.samples);
            whole.series.append(&mut engine.series);
        }
        all.sort_by_key(|(position, _)| *position);
        epochs.stages.extend(all.into_iter().map(|(_, stage)| stage));
    }
}
