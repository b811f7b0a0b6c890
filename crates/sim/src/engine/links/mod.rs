//! The links' half of the engine. It knows no flow and no host, and reaches them through the [`Mailbox`].
//!
//! A driver calls [`Links::handle`] with events in the total order and [`Links::forward`] with what hosts send on the slow path; or
//! [`Links::serve`] with the ordered links one after another, an epoch at a time.

mod backlog;
mod forwarding;
mod merge_buffer;
mod queue_sampler;
mod service;
mod workspace;

pub(crate) mod fastpath {
    //! Fast paths of links, one a file: its header says what it buys.

    pub(crate) mod cache_blocking;
    pub(crate) mod fan_in_merge;
    pub(crate) mod isolated_packets;
    pub(crate) mod uncongested_downstream;
}

use self::backlog::Backlog;
use self::fastpath::fan_in_merge::feeds::FanIn;
use self::fastpath::isolated_packets::feed::IsolatedPackets;
use self::fastpath::uncongested_downstream::Downstream;
use self::queue_sampler::{Sample, look};
pub(crate) use self::workspace::Epoch;
use self::workspace::{Passing, Workspace};
use super::mailbox::Mailbox;
use super::plan::Forwarding;
use super::plan::ordered_links::OrderedLink;
use crate::instrument::SeriesRow;
use crate::kernel::packet::{Event, Kind};
use crate::kernel::precedence::Precedence;
use crate::model::link::{Link, LinkTable};
use crate::model::memory::Memories;
use crate::network::Network;
use crate::observe::instruments::Instruments;
use crate::observe::trace::TraceRows;
use paceline_core::Instant;

/// The links of a network, but for those that lie with hosts; or some of them.
pub(crate) struct Links<'a> {
    network: &'a Network,
    /// Of packets that reach a link at one instant.
    precedence: Precedence<'a>,
    table: LinkTable,
    memories: Memories,
    forwarding: Forwarding,
    series: Vec<SeriesRow>,
    samples: Vec<Sample>,
    instruments: Instruments,
    trace: Option<TraceRows>,
    /// Those that are served an epoch at a time, each after those that feed it, but for the edges that lead back in a ring.
    ordered: Vec<OrderedLink>,
    /// By ordered link: what it has sent to the next, where that is served after it.
    sent: Vec<Vec<Event>>,
    backlogs: Vec<Backlog>,
    downstream: Vec<Downstream>,
    workspace: Workspace,
    passing: Passing,
    fan_in: FanIn,
    isolated: IsolatedPackets,
}

impl<'a> Links<'a> {
    /// These links of a network, over which packets go by `forwarding`.
    pub(crate) fn new(
        network: &'a Network,
        precedence: Precedence<'a>,
        (table, forwarding): (LinkTable, Forwarding),
        ordered: Vec<OrderedLink>,
        (instruments, is_traced): (Instruments, bool),
    ) -> Self {
        let backlogs = ordered.iter().map(|_| Backlog::default()).collect();
        let samples = Sample::all(network);
        let trace = is_traced.then(TraceRows::default);
        let links = Links::bare(network, precedence, table, ordered);
        let memories = Memories::of(network);
        Links { memories, forwarding, samples, instruments, trace, backlogs, ..links }
    }

    /// These, of which nothing is observed.
    fn bare(
        network: &'a Network,
        precedence: Precedence<'a>,
        table: LinkTable,
        ordered: Vec<OrderedLink>,
    ) -> Self {
        Links {
            network,
            precedence,
            table,
            memories: Memories::default(),
            forwarding: Forwarding::default(),
            series: Vec::new(),
            samples: Vec::new(),
            instruments: Instruments::none(),
            trace: None,
            sent: vec![Vec::new(); ordered.len()],
            backlogs: Vec::new(),
            downstream: Downstream::all(&ordered, network),
            ordered,
            workspace: Workspace::default(),
            passing: Passing::default(),
            fan_in: FanIn::default(),
            isolated: IsolatedPackets::default(),
        }
    }

    /// An event at a link: nothing before it happens any more.
    #[inline]
    pub(crate) fn handle(&mut self, event: Event, mail: &mut Mailbox<'a>) {
        match event.kind() {
            Kind::LinkWakeup => self.on_wakeup(event.place, event.at, mail),
            _ => self.travel(event, mail),
        }
    }

    /// Where links go that have lain with hosts.
    pub(crate) fn table_mut(&mut self) -> &mut LinkTable {
        &mut self.table
    }

    pub(crate) fn ordered(&self) -> &[OrderedLink] {
        &self.ordered
    }

    /// All links are as far as hosts can let them be that run up to this time, in a run up to `until`.
    pub(crate) fn skip_to(&mut self, hosts_until: Instant, until: Instant) {
        self.ordered.iter_mut().for_each(|link| {
            link.advance((hosts_until, until));
        });
    }

    /// Ordered links are no more: what waits for them goes to the calendar, and each packet passes link by link.
    /// Those that lie with hosts have come here before.
    pub(crate) fn leave_epochs(&mut self, mail: &mut Mailbox<'a>) {
        self.clear_backlogs(mail);
        let ordered = std::mem::take(&mut self.ordered);
        self.forwarding.leave_epochs(&ordered, self.network, &self.table);
        for (link, arrivals) in ordered.iter().zip(std::mem::take(&mut mail.to_links)) {
            for event in arrivals {
                mail.calendar.push(event.at_place(link.link));
            }
            if let Some(at) = self.table[link.link as usize].bounded().and_then(|bounded| bounded.wakeup_at) {
                mail.calendar.push(Event::of_flow(at, link.link, Kind::LinkWakeup, 0));
            }
        }
    }

    pub(crate) fn trace(&mut self) -> Option<&mut TraceRows> {
        self.trace.as_mut()
    }

    /// When a queue is next sampled.
    pub(crate) fn next_sample(&self) -> Option<Instant> {
        self.samples.iter().filter_map(Sample::next).min()
    }

    /// Takes the samples of queues that fall before `time`.
    pub(crate) fn sample_before(&mut self, time: Instant) {
        for place in 0..self.samples.len() {
            let (link, next) = (self.samples[place].link(), self.samples[place].next);
            if next < time {
                self.look_at(link, time);
            }
        }
    }

    /// Takes the samples of a link's queue that fall before `time`.
    fn look_at(&mut self, link: u32, time: Instant) {
        if let Some(at_work) = self.table[link as usize].bounded_mut() {
            look(&mut self.samples, link, at_work, time, &mut self.series);
        }
    }

    /// Packets dropped, and packets that are held or far from due.
    pub(crate) fn census(&self) -> (u64, u64) {
        let held: u64 = self.table.iter().map(Link::held_packets).sum();
        let far = self.backlogs.iter().flat_map(Backlog::events).count() as u64;
        let bounded = self.table.iter().filter_map(Link::bounded);
        (bounded.map(|link| link.counters.dropped_ever).sum(), held + far)
    }

    /// The run is over: the links, rows and instruments that are left.
    pub(crate) fn into_record(self) -> (LinkTable, Vec<SeriesRow>, Instruments) {
        (self.table, self.series, self.instruments)
    }

    /// These ordered links, with all links that each alone feeds: a part of the network for itself.
    pub(crate) fn split_off(&mut self, ordered: Vec<OrderedLink>) -> Links<'a> {
        let table = LinkTable::away(self.table.len());
        let mut links = Links::bare(self.network, self.precedence, table, ordered);
        for number in links.ordered.iter().flat_map(OrderedLink::links) {
            self.table.move_to(number, &mut links.table);
            links.samples.extend(self.samples.extract_if(.., |one| one.link() as usize == number));
        }
        links
    }

    /// Its ordered links, to be split off or after that has come to an end.
    pub(crate) fn ordered_mut(&mut self) -> &mut Vec<OrderedLink> {
        &mut self.ordered
    }

    /// All that some links have is this one's again, but for the ordered ones, which are returned.
    pub(crate) fn join(&mut self, mut other: Links<'a>) -> Vec<OrderedLink> {
        for number in other.ordered.iter().flat_map(OrderedLink::links) {
            other.table.move_to(number, &mut self.table);
        }
        self.samples.append(&mut other.samples);
        self.series.append(&mut other.series);
        other.ordered
    }
}
