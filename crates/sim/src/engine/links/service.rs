//! Ordered links at work: each serves what has come to it within an epoch, in one loop.
//!
//! *Idea.* All that will reach the link in its epoch waits already, in lists: what hosts and other links have sent. It is sorted
//! (`merge_buffer.rs`) and served; what leaves waits for the next ordered link, goes to hosts in a parcel, or goes by the slow path where
//! it may go to several places.

use super::Links;
use super::fastpath::cache_blocking::Blocks;
use super::fastpath::uncongested_downstream::{MANY, TOGETHER};
use super::merge_buffer::AtLink;
use super::queue_sampler::look;
use super::workspace::{Destination, Epoch, Passing, Served, Workspace};
use crate::engine::mailbox::{Mailbox, Post};
use crate::kernel::packet::Event;
use crate::model::link::BoundedLink;
use crate::model::link::batch::{Note, Notes, Service};
use paceline_core::Instant;

impl<'a> Links<'a> {
    /// Serves an ordered link, and those that are served with it, up to the end of its epoch: how many packets.
    pub(crate) fn serve(&mut self, position: usize, epoch: Epoch, post: &mut impl Post<'a>) -> u64 {
        let how = self.how_served(position);
        let end = epoch.hosts_until + self.ordered[position].offset;
        if let Some(backlog) = self.backlogs.get_mut(position) {
            backlog.keep(&mut post.mail().to_links[position], (end, epoch.length));
        }
        if how == Served::WithNext {
            return 0;
        }
        let onward = Destination::of(&self.ordered[position]);
        let isolated = self.serve_isolated((position, how), epoch, post.mail());
        isolated.unwrap_or_else(|| self.serve_usual((position, how), epoch, onward, post))
    }

    /// The same where packets are not isolated.
    pub(super) fn serve_usual(
        &mut self,
        (position, how): (usize, Served),
        epoch: Epoch,
        onward: Destination,
        post: &mut impl Post<'a>,
    ) -> u64 {
        match how {
            Served::WithNext => 0,
            Served::WithSources => self.serve_fan_in(position, epoch, onward, post),
            Served::Alone => self.serve_by_itself(position, epoch, onward, post),
        }
    }

    /// The same of a link alone.
    fn serve_by_itself(
        &mut self,
        position: usize,
        epoch: Epoch,
        onward: Destination,
        post: &mut impl Post<'a>,
    ) -> u64 {
        let until = epoch.until.min(self.fed_until(position));
        let mut workspace = std::mem::take(&mut self.workspace);
        let link = &mut self.ordered[position];
        let (bounds, in_order) = (link.advance((epoch.hosts_until, until)), !link.is_mixed);
        let (number, service) = (link.link, link.service);
        let sources = std::mem::take(&mut link.sources);
        let mut sent = std::mem::take(&mut self.sent);
        let mut out = std::mem::take(&mut sent[position]);
        let lists = sources.iter().map(|source| &sent[*source as usize][..]);
        let Workspace { sorter, due, later, .. } = &mut workspace;
        due.clear();
        std::mem::swap(due, &mut post.mail().to_links[position]);
        let mut blocks = Blocks::of(due, lists, bounds, in_order);
        let mut served = 0;
        let order = AtLink { link: number, precedence: self.precedence };
        while let Some(end) = blocks.sort(sorter, order) {
            served += self.pass_batch((number, service, onward), (sorter.due(), end), &mut out, post.mail());
            post.deliver_full_parcel();
        }
        blocks.keep(sorter, later);
        let waiting = &mut post.mail().to_links[position];
        later.append(waiting); // sent meanwhile
        waiting.append(later);
        sources.iter().for_each(|source| sent[*source as usize].clear());
        sent[position] = out;
        self.sent = sent;
        self.ordered[position].sources = sources;
        self.workspace = workspace;
        self.hand_back(position, post.mail());
        served
    }

    /// What leaves an ordered link for the next waits with what reaches that, if that has been served before it.
    pub(super) fn hand_back(&mut self, position: usize, mail: &mut Mailbox<'a>) {
        if let Some(next) = self.ordered[position].next.filter(|next| *next as usize <= position) {
            mail.to_links[next as usize].append(&mut self.sent[position]);
        }
    }

    /// A link serves sorted packets, none of which comes after `end`. Returns how many. What leaves goes to `sent` if it goes to the next one.
    pub(super) fn pass_batch(
        &mut self,
        (number, service, onward): (u32, Service, Destination),
        (line, end): (&[Event], Instant),
        sent: &mut Vec<Event>,
        mail: &mut Mailbox<'a>,
    ) -> u64 {
        let Passing { mut room, mut notes } = std::mem::take(&mut self.passing);
        let out = match onward {
            Destination::OrderedLink => sent,
            Destination::Hosts => &mut mail.parcel.packets,
            Destination::Anywhere => &mut room,
        };
        let before = out.len();
        let (samples, series) = (&mut self.samples, &mut self.series);
        let look = |at_work: &mut BoundedLink, time| look(samples, number, at_work, time, series);
        self.table[number as usize].serve(service, line, end, out, &mut notes, look);
        if let Some(jitter) = self.table[number as usize].jitter_mut() {
            out[before..].iter_mut().for_each(|event| event.at = jitter.delay(event.at));
        }
        match &mut mail.partitions {
            Some(partitions) => partitions.note(number, &mut notes),
            None => self.report(number, &mut notes, mail),
        }
        match onward {
            Destination::OrderedLink => {}
            Destination::Hosts => {
                self.pass_downstream(&mut mail.parcel.packets[before..], number);
                mail.deal_to_partitions();
            }
            Destination::Anywhere => room.drain(..).for_each(|event| self.go_anywhere(event, mail)),
        }
        self.passing = Passing { room, notes };
        line.len() as u64
    }

    /// These packets have just left this link: the suffixes of their paths begin there.
    #[inline(never)]
    fn pass_downstream(&mut self, packets: &mut [Event], link: u32) {
        let are_few = packets.len() < MANY;
        let mut downstream = self.downstream.iter_mut().find(|one| !are_few && one.serves(link));
        for packets in packets.chunks_mut(TOGETHER) {
            let links = &mut self.table;
            if downstream.as_mut().is_some_and(|one| one.pass(packets, links, self.network)) {
                continue;
            }
            for event in packets {
                if let Some(link) = links.get_mut(event.place as usize) {
                    event.at = link.pass(event.bytes, event.is_ack(), event.at).arrival;
                }
            }
        }
    }

    /// Reports what was noted of packets at a link.
    pub(crate) fn report(&mut self, link: u32, notes: &mut Notes, mail: &mut Mailbox<'a>) {
        for (event, note) in notes.drain(..) {
            let event = event.at_place(link);
            match note {
                Note::Dropped(cause) => self.drop_packet(&event, cause, mail),
                Note::DroppedWaiting(cause) => self.drop(&event, cause, mail),
                Note::Arrives => self.enter(&event),
                Note::Passes(passage) => self.record(event, passage, true),
                Note::Leaves(passage) => self.record(event, passage, false),
                Note::Marked(cause) => self.see_mark(&event, cause, event.at),
            }
        }
    }

    /// Nothing will reach a link before this time from those that feed it and may be late.
    fn fed_until(&self, position: usize) -> Instant {
        let feeders = self.ordered[position].feeders.iter();
        let until = feeders.map(|&(feeder, way)| self.ordered[feeder as usize].served_until + way);
        until.min().unwrap_or(Instant::MAX)
    }

    /// Where the hosts stand when something next happens at an ordered link, in a run up to `until`.
    pub(crate) fn next_epoch(&self, until: Instant, mail: &Mailbox<'a>) -> Option<Instant> {
        let far = self.backlogs.iter().map(super::Backlog::first).chain(std::iter::repeat(None));
        let waiting = mail.to_links.iter().zip(far);
        let next = self.ordered.iter().zip(waiting).filter_map(|(ordered, (arrivals, far))| {
            let wakeup = self.table[ordered.link as usize].bounded().and_then(|link| link.wakeup_at);
            let times = arrivals.iter().map(|event| event.at).chain(wakeup).chain(far);
            let first = times.min().filter(|at| *at < until)?;
            Some(Instant::from_nanos(first.as_nanos().saturating_sub(ordered.offset.as_nanos())))
        });
        next.min()
    }

    /// All that is far from due waits with the rest again; there are no backlogs from now on.
    pub(crate) fn clear_backlogs(&mut self, mail: &mut Mailbox<'a>) {
        for (backlog, waiting) in std::mem::take(&mut self.backlogs).iter_mut().zip(&mut mail.to_links) {
            backlog.clear(waiting);
        }
    }
}
