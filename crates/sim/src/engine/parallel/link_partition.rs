//! Link partition: links that feed each other, at work on any thread.
//!
//! *Idea.* Links serve their epochs by the code of one thread. Packets come in lists, as host partitions have sent them, and go into those
//! partitions' parcels.

use crate::engine::links::{Epoch, Links};
use crate::engine::mailbox::{Mailbox, Parcel, Partitions};
use crate::engine::plan::ordered_links::OrderedLink;
use paceline_core::Instant;
use std::collections::BTreeMap;

/// Partitions to a thread, at most. In tests few.
const PARTITIONS_A_THREAD: usize = if cfg!(debug_assertions) { 1 } else { 4 };

/// Ordered links between which packets go, and their links; or several such.
pub(super) struct LinkPartition<'a> {
    pub(super) links: Links<'a>,
    mail: Mailbox<'a>,
    /// Of each ordered link: its position among all the network's.
    positions: Vec<usize>,
    /// Packets in the last epoch.
    pub(super) served: u64,
}

impl<'a> LinkPartition<'a> {
    /// The ordered links of a network with their links, those together that feed each other; for so many threads, and so many host
    /// partitions of 2^`shift` flows.
    pub(super) fn split(
        whole: &mut Links<'a>,
        mail: &mut Mailbox<'a>,
        threads: usize,
        (host_partitions, shift): (usize, u32),
    ) -> Vec<Self> {
        let ordered = std::mem::take(whole.ordered_mut());
        let last = |mut position: usize| {
            while let Some(next) = ordered[position].next {
                position = next as usize;
            }
            position
        };
        let ends: Vec<usize> = (0..ordered.len()).map(last).collect();
        // Where there are many such, several make a partition: each takes room for the network's links.
        let most = threads.saturating_mul(PARTITIONS_A_THREAD);
        let (mut numbers, mut groups) = (BTreeMap::new(), Vec::<(Vec<usize>, Vec<OrderedLink>)>::new());
        for ((position, link), end) in ordered.into_iter().enumerate().zip(ends) {
            let next = numbers.len();
            let group = *numbers.entry(end).or_insert(next) % most;
            if group == groups.len() {
                groups.push((Vec::new(), Vec::new()));
            }
            groups[group].0.push(position);
            groups[group].1.push(link);
        }
        let partitions = groups.into_iter().map(|(positions, mut ordered)| {
            let place = |position: &mut u32| {
                *position = positions.partition_point(|known| *known < *position as usize) as u32;
            };
            for link in &mut ordered {
                debug_assert!(link.feeders.is_empty(), "no ring is shared out");
                link.next.iter_mut().chain(&mut link.sources).for_each(place);
            }
            let mut own = Mailbox::new(mail.calendar.precedence(), 0);
            own.to_links = positions.iter().map(|at| std::mem::take(&mut mail.to_links[*at])).collect();
            own.partitions = Some(Box::new(Partitions {
                shift,
                lists: positions.iter().map(|_| Vec::new()).collect(),
                parcels: (0..host_partitions).map(|_| Parcel::default()).collect(),
                notes: Vec::new(),
                empty: Vec::new(),
            }));
            LinkPartition { links: whole.split_off(ordered), mail: own, positions, served: 0 }
        });
        partitions.collect()
    }

    /// By position among all the network's ordered links: which partition has it, and where.
    pub(super) fn places(partitions: &[Self]) -> Vec<(usize, usize)> {
        let places = partitions.iter().enumerate().flat_map(|(number, LinkPartition { positions, .. })| {
            positions.iter().enumerate().map(move |(place, position)| (*position, (number, place)))
        });
        let mut places: Vec<_> = places.collect();
        places.sort_unstable();
        places.into_iter().map(|(_, place)| place).collect()
    }

    /// What comes and goes.
    pub(super) fn mail(&mut self) -> Option<&mut Partitions> {
        self.mail.partitions.as_deref_mut()
    }

    /// Serves the links up to the end of their epochs.
    pub(super) fn run(&mut self, epoch: Epoch) {
        let LinkPartition { links, mail, served, .. } = self;
        *served = (0..links.ordered().len()).map(|position| links.serve(position, epoch, mail)).sum();
    }

    /// Where the hosts stand when something next happens here, in a run up to `until`.
    pub(super) fn next_epoch(&self, until: Instant) -> Option<Instant> {
        self.links.next_epoch(until, &self.mail)
    }

    /// All that partitions have becomes the network's again.
    pub(super) fn join(partitions: Vec<Self>, whole: &mut Links<'a>, mail: &mut Mailbox<'a>) {
        let mut all = Vec::new();
        for LinkPartition { links, mail: mut own, positions, .. } in partitions {
            for (place, mut link) in whole.join(links).into_iter().enumerate() {
                let position = |place: &mut u32| *place = positions[*place as usize] as u32;
                link.next.iter_mut().chain(&mut link.sources).for_each(position);
                own.gather(place);
                mail.to_links[positions[place]].append(&mut own.to_links[place]);
                all.push((positions[place], link));
            }
        }
        all.sort_by_key(|(position, _)| *position);
        whole.ordered_mut().extend(all.into_iter().map(|(_, link)| link));
    }
}
