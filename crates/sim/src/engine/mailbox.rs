//! What hosts and links have for each other: the only place where the two halves of the engine meet.
//!
//! Hosts put what they send to an ordered link into its list (`to_links`), or leave it to the slow path (`departures`). Links put what
//! reaches hosts into a [`Parcel`], or leave it to the slow path (`arrivals`). Both put into the calendar what happens later.

use crate::kernel::calendar::Calendar;
use crate::kernel::packet::Event;
use crate::kernel::precedence::Precedence;
use crate::model::link::batch::{Note, Notes};

/// Between the hosts and the links of one engine.
#[derive(Debug)]
pub(crate) struct Mailbox<'a> {
    pub(crate) calendar: Calendar<'a>,
    /// By ordered link: what will reach it, the suffix of its path in place of a place.
    pub(crate) to_links: Vec<Vec<Event>>,
    /// Packets that hosts have sent, now, and whose first links are still to be passed.
    pub(crate) departures: Vec<Event>,
    /// Packets that have passed all their links, at the time at which they reach their hosts.
    pub(crate) arrivals: Vec<Event>,
    pub(crate) parcel: Parcel,
    /// Where hosts are in several partitions: what comes from each, and goes there.
    pub(crate) partitions: Option<Box<Partitions>>,
}

/// Where ordered links leave what they let go: a mailbox, and hosts beside it that may take what has come before all of an epoch has.
pub(crate) trait Post<'a> {
    fn mail(&mut self) -> &mut Mailbox<'a>;

    /// Hosts handle what has come for them, if it is so much that what comes next would push it out of the caches.
    fn deliver_full_parcel(&mut self) {}
}

impl<'a> Post<'a> for Mailbox<'a> {
    fn mail(&mut self) -> &mut Mailbox<'a> {
        self
    }
}

/// What an epoch brings to hosts.
#[derive(Debug, Default)]
pub(crate) struct Parcel {
    /// What has been dropped: flows are notified before the rest is handled.
    pub(crate) losses: Vec<Event>,
    /// In the order in which links have sent it.
    pub(crate) packets: Vec<Event>,
    /// After these: flow by flow, as it was sent (`links/fastpath/isolated_packets.rs`).
    pub(crate) lists: Vec<Vec<Event>>,
    /// Lists that have been handled.
    pub(crate) empty: Vec<Vec<Event>>,
}

/// The mail of host partitions.
#[derive(Debug)]
pub(crate) struct Partitions {
    /// log2 of the flows in a host partition.
    pub(crate) shift: u32,
    /// By ordered link: lists, each with the host partition that has sent it.
    pub(crate) lists: Vec<Vec<(usize, Vec<Event>)>>,
    /// By host partition.
    pub(crate) parcels: Vec<Parcel>,
    /// What has been noted of packets at links.
    pub(crate) notes: Vec<(u32, Notes)>,
    /// Lists in which nothing is.
    pub(crate) empty: Vec<Vec<Event>>,
}

impl<'a> Mailbox<'a> {
    /// An empty one, for so many ordered links.
    pub(crate) fn new(precedence: Precedence<'a>, ordered_links: usize) -> Self {
        Mailbox {
            calendar: Calendar::new(precedence),
            to_links: vec![Vec::new(); ordered_links],
            departures: Vec::new(),
            arrivals: Vec::new(),
            parcel: Parcel::default(),
            partitions: None,
        }
    }

    /// Something waits that is to be passed on now.
    #[inline]
    pub(crate) fn has_some(&self) -> bool {
        self.departures.len() + self.arrivals.len() + self.parcel.losses.len() > 0
    }

    /// Some packets have left the last links that flows share: they go where their hosts are.
    pub(crate) fn deal_to_partitions(&mut self) {
        let Some(Partitions { shift, parcels, .. }) = self.partitions.as_deref_mut() else { return };
        for event in self.parcel.packets.drain(..) {
            parcels[(event.flow >> *shift) as usize].packets.push(event);
        }
    }

    /// All that waits for this ordered link is put into its one list.
    pub(crate) fn gather(&mut self, position: usize) {
        let Some(partitions) = &mut self.partitions else { return };
        for (_, mut list) in partitions.lists[position].drain(..) {
            self.to_links[position].append(&mut list);
            partitions.empty.push(list);
        }
    }

    /// The packets of this list have passed in place. It goes to the hosts that have sent it, or to those of all its packets; an empty
    /// one takes its place.
    pub(crate) fn deliver_list(&mut self, sent_by: Option<usize>, list: &mut Vec<Event>) {
        match (&mut self.partitions, sent_by) {
            (Some(partitions), Some(sender)) => {
                let empty = partitions.empty.pop().unwrap_or_default();
                partitions.parcels[sender].lists.push(std::mem::replace(list, empty));
            }
            (Some(_), None) => {
                self.parcel.packets.append(list);
                self.deal_to_partitions();
            }
            (None, _) => {
                let empty = self.parcel.empty.pop().unwrap_or_default();
                self.parcel.lists.push(std::mem::replace(list, empty));
            }
        }
    }
}

impl Partitions {
    /// Hosts of a partition have sent these to an ordered link; an empty list takes their place.
    pub(crate) fn collect(&mut self, position: usize, sender: usize, list: &mut Vec<Event>) {
        let empty = self.parcels[sender].empty.pop().or_else(|| self.empty.pop()).unwrap_or_default();
        self.lists[position].push((sender, std::mem::replace(list, empty)));
    }

    /// Something has been noted of packets at a link.
    pub(crate) fn note(&mut self, link: u32, notes: &mut Notes) {
        for (event, note) in &*notes {
            if let Note::Dropped(_) | Note::DroppedWaiting(_) = note {
                self.parcels[(event.flow >> self.shift) as usize].losses.push(*event);
            }
        }
        if !notes.is_empty() {
            self.notes.push((link, std::mem::take(notes)));
        }
    }
}
