//! Isolated packets: packets with zero queueing delay keep their place in the list, and are not sorted.
//!
//! *Idea.* Most acknowledgements meet no other packet at a link, as links are far from full. A packet that meets others depends on their
//! order; an isolated one takes a time that is known. The few that are not isolated (`isolated_packets/occupancy.rs`) are served as usual,
//! and return to their places. The list that hosts have sent then goes to hosts as it is: it is grouped by flow already.
//! *Why.* The links before the common one (`fan_in_merge.rs`) and after it are no slower. So while packets wait before it, it is busy all
//! the time, and all that have come are gone after the sum of their service times. After it none waits.
//! *Where it breaks.* Where half are not isolated, the link is served as usual for some epochs; so are epochs with packets of several
//! sizes, or of which some count and others do not.
//! *What it buys.* Without it 1000 flows take 16 % more instructions, 100,000 flows 8 % more time (`benches/ablation.py --path
//! isolated-packets`).

pub(crate) mod feed;
mod occupancy;

use self::feed::{Foreseen, IsolatedPackets, WaitingList};
use self::occupancy::Occupancy;
use crate::engine::links::Links;
use crate::engine::links::workspace::{Destination, Epoch, Served};
use crate::engine::mailbox::Mailbox;
use crate::engine::plan::ordered_links::OrderedLink;
use crate::kernel::packet::Event;
use paceline_core::{Instant, Span};

/// Fewer packets are not worth it. In tests a few are.
const FEW: usize = if cfg!(debug_assertions) { 4 } else { 100 };
/// For so many epochs, where one has shown that it is not worth it.
const SKIPPED_FOR: u32 = if cfg!(debug_assertions) { 2 } else { 64 };
/// Of a packet's number in a list, below the list's.
const NUMBER: u32 = 40;

impl<'a> Links<'a> {
    /// Serves a link, and those that are served with it, where nearly all packets are isolated: how many.
    pub(crate) fn serve_isolated(
        &mut self,
        link: (usize, Served),
        epoch: Epoch,
        mail: &mut Mailbox<'a>,
    ) -> Option<u64> {
        let mut served = None;
        if let Some(packets) = self.enough_to_be_isolated(link.0, mail) {
            let mut isolated = std::mem::take(&mut self.isolated);
            let plan = self.foresee(&mut isolated, link, epoch, packets, mail);
            served = plan.and_then(|known| self.pass_isolated(&mut isolated, link, epoch, known, mail));
            self.isolated = isolated;
        }
        if served.is_none() {
            mail.gather(link.0); // all of them, to be served as usual
        }
        served
    }

    /// How many have come to an ordered link at which packets may be found isolated, and to those before it; `None` where these are not
    /// worth it.
    fn enough_to_be_isolated(&self, position: usize, mail: &Mailbox<'a>) -> Option<usize> {
        let ordered = self.ordered.get(position).filter(|one| one.finds_isolated)?;
        let waiting = |place: usize| {
            let lists = mail.partitions.iter().flat_map(|partitions| &partitions.lists[place]);
            mail.to_links[place].len() + lists.map(|(_, list)| list.len()).sum::<usize>()
        };
        let before = ordered.sources.iter().map(|source| waiting(*source as usize)).sum::<usize>();
        Some(waiting(position) + before).filter(|packets| *packets >= FEW)
    }

    /// What is known before; `None` where it is not worth it.
    fn foresee(
        &mut self,
        isolated: &mut IsolatedPackets,
        (position, served): (usize, Served),
        Epoch { hosts_until, until, .. }: Epoch,
        packets: usize,
        mail: &Mailbox<'a>,
    ) -> Option<Foreseen> {
        let ordered_links = &mut self.ordered;
        let OrderedLink { may_be_joined, skipped_for, .. } = &mut ordered_links[position];
        if *may_be_joined != (served == Served::WithSources) {
            return None;
        }
        if *skipped_for > 0 {
            *skipped_for -= 1;
            return None;
        }
        let ordered_link = &ordered_links[position];
        let (link, bounds) =
            (ordered_link.link, (ordered_link.served_until, hosts_until + ordered_link.offset));
        let places =
            || [position].into_iter().chain(ordered_link.sources.iter().map(|source| *source as usize));
        let lists = |place: usize| {
            let of_parts =
                mail.partitions.iter().flat_map(move |all| &all.lists[place]).map(|(_, list)| list);
            [&mail.to_links[place]].into_iter().chain(of_parts)
        };
        if bounds.1 <= bounds.0 || bounds.1 >= until {
            return None;
        }
        let first = places().flat_map(lists).find_map(|list| list.first())?;
        let plan = Foreseen { link, bounds, like: *first };
        let specs = &self.network.links;
        let takes = specs[link as usize].takes(plan.like.bytes);
        // All of them have left by then.
        let latest = bounds.1 + specs[link as usize].delay + takes + takes + takes + takes;
        // By then none waits that has come before, and may have been larger: in the common link's time.
        let mut free_at = self.table[link as usize].free_at();
        let mut count_alike = latest < Instant::MAX;
        isolated.feeds.resize_with(places().flat_map(lists).count(), WaitingList::default);
        let mut feeds = isolated.feeds.iter_mut();
        for place in places() {
            let OrderedLink { link: before, served_until: from, .. } = ordered_links[place];
            let at_work = &self.table[before as usize];
            let (ahead, links) = if place == position {
                (Span::ZERO, 1)
            } else {
                (specs[before as usize].latency(plan.like.bytes), 2)
            };
            free_at = free_at.max(at_work.free_at() + ahead);
            count_alike &= at_work.count_alike(from, latest);
            for (number, feed) in (0..lists(place).count()).zip(feeds.by_ref()) {
                (feed.place, feed.link, feed.from) = (place, before, from);
                (feed.ahead, feed.links) = (ahead, links);
                let lists = mail.partitions.iter().flat_map(|all| &all.lists[place]);
                feed.sent_by = number
                    .checked_sub(1)
                    .and_then(|number| lists.map(|(part, _)| *part).zip(0..).nth(number));
            }
        }
        for &end in ordered_link.ends.iter().flatten() {
            let at_work = &self.table[end as usize];
            free_at = free_at.max(at_work.free_at() - specs[link as usize].latency(plan.like.bytes));
            count_alike &= at_work.count_alike(bounds.0, latest);
            count_alike &= latest + specs[end as usize].latency(plan.like.bytes) < Instant::MAX; // Event::pass
        }
        let is_worth_it = count_alike && isolated.slots.cut(bounds, (takes, free_at), packets);
        is_worth_it.then_some(plan)
    }

    /// Lets all pass: those that are not isolated as usual, the others in place; `None` where too many are not, nothing having passed then.
    fn pass_isolated(
        &mut self,
        isolated: &mut IsolatedPackets,
        link: (usize, Served),
        epoch: Epoch,
        plan: Foreseen,
        mail: &mut Mailbox<'a>,
    ) -> Option<u64> {
        let IsolatedPackets { feeds, slots, room } = isolated;
        let mut are_alike = true;
        for feed in feeds.iter_mut() {
            feed.exchange_list(mail);
            are_alike &= feed.mark_all(slots, plan);
        }
        if !are_alike || !slots.find_crowd() {
            for feed in feeds {
                feed.list.append(&mut feed.later);
                feed.exchange_list(mail);
            }
            self.ordered[link.0].skipped_for = SKIPPED_FOR;
            return None;
        }
        if let Some(partitions) = &mut mail.partitions {
            feeds.iter().for_each(|feed| partitions.lists[feed.place].clear());
        }
        let mut served = self.pass_in_place(feeds, (slots, room), plan, mail);
        served += self.pass_crowd(feeds, link, epoch, mail);
        for feed in feeds.iter_mut() {
            mail.deliver_list(feed.sent_by.map(|(sender, _)| sender), &mut feed.list);
            // What has stayed, in its order; after it what is there by now: held up after others.
            let waiting = &mut mail.to_links[feed.place];
            if feed.sent_by.is_none() {
                feed.later.append(waiting);
            }
            waiting.append(&mut feed.later);
            let served_until = &mut self.ordered[feed.place].served_until;
            *served_until = (plan.bounds.1 - feed.ahead).max(feed.from).min(*served_until);
        }
        Some(served)
    }

    /// All pass as if each were isolated: how many, at all links. Those that are not go back to where they wait, each with its place for
    /// the time at which it was sent.
    fn pass_in_place(
        &mut self,
        feeds: &mut [WaitingList],
        (slots, room): (&Occupancy, &mut Vec<u32>),
        plan: Foreseen,
        mail: &mut Mailbox<'a>,
    ) -> u64 {
        let (specs, mut passed) = (&self.network.links, 0);
        for (which, feed) in (0..).zip(feeds.iter_mut()) {
            let to_tail = feed.ahead + specs[plan.link as usize].latency(plan.like.bytes);
            let crowd = slots.crowd_of(feed.ahead, feed.list.iter().map(|event| event.at), room);
            let waiting = &mut mail.to_links[feed.place];
            for &number in crowd {
                waiting.push(feed.list[number as usize]); // whole: see `Event::goes_on`
                if let Some(event) = waiting.last_mut() {
                    event.sent = Instant::from_nanos(which << NUMBER | u64::from(number));
                }
            }
            let (mut rest, mut end, mut all) = (&mut feed.list[..], 0, 0);
            while let Some(Event { place: tail, .. }) = rest.first().copied() {
                let (packets, others) = rest.split_at_mut(that_go_on_together(rest));
                (rest, end) = (others, end + packets.len());
                let downstream =
                    specs.get(tail as usize).map_or(Span::ZERO, |end| end.latency(plan.like.bytes));
                packets.iter_mut().for_each(|event| event.pass(to_tail + downstream, feed.links));
                let alone = end - crowd.partition_point(|number| (*number as usize) < end);
                self.count(tail, alone - all, plan.bounds.0, plan);
                all = alone;
            }
            self.count(plan.link, all, plan.bounds.0, plan);
            if feed.link != plan.link {
                self.count(feed.link, all, feed.from, plan);
            }
            passed += u64::from(feed.links) * all as u64;
        }
        passed
    }

    /// So many have passed this link, if it is one, none before this time.
    fn count(&mut self, link: u32, packets: usize, from: Instant, plan: Foreseen) {
        if let Some(link) = self.table.get_mut(link as usize) {
            let packets = packets as u64;
            let data = if plan.like.is_ack() { 0 } else { packets };
            link.count(from, (packets, packets * u64::from(plan.like.bytes), data));
        }
    }

    /// Those that are not isolated are served, and go back to their places: how many times. Some may come to the common link too late.
    fn pass_crowd(
        &mut self,
        feeds: &mut [WaitingList],
        link: (usize, Served),
        epoch: Epoch,
        mail: &mut Mailbox<'a>,
    ) -> u64 {
        let served = self.serve_usual(link, epoch, Destination::OrderedLink, mail);
        let (position, _) = link;
        for event in self.sent[position].drain(..) {
            let link = self.table.get_mut(event.place as usize);
            let at = link.map_or(event.at, |link| link.pass(event.bytes, event.is_ack(), event.at).arrival);
            place_of(&event, feeds).at = at;
        }
        let late = &mut mail.to_links[position];
        for event in late.iter_mut() {
            let place = place_of(event, feeds);
            event.sent = place.sent;
            place.bytes = 0;
        }
        if !late.is_empty() {
            feeds.iter_mut().for_each(|feed| feed.list.retain(|event| event.bytes > 0));
        }
        served
    }
}

/// How many of these, from the first on, go to one link downstream of the common one, or to none. Eight are compared at a time.
fn that_go_on_together(packets: &[Event]) -> usize {
    let Some(first) = packets.first() else { return 0 };
    let differ =
        |packets: &[Event]| packets.iter().fold(0, |bits, event| bits | event.place ^ first.place) != 0;
    let eights = packets.chunks_exact(8).take_while(|eight| !differ(eight)).count();
    let others = packets[8 * eights..].iter().take_while(|event| event.place == first.place);
    8 * eights + others.count()
}

/// Where a packet that is not isolated came from.
fn place_of<'a>(event: &Event, feeds: &'a mut [WaitingList]) -> &'a mut Event {
    let number = event.sent.as_nanos();
    &mut feeds[(number >> NUMBER) as usize].list[(number & ((1 << NUMBER) - 1)) as usize]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use super::*;
    use crate::{Control, Engine, Method, Scenario};

    /// Names of the links at which packets may be found isolated; and how many have come in the last epoch that was observed,
    /// and how many of them not isolated. After a second of traffic between forty pairs of hosts.
    fn found(tcp: &str, edge: &str, more: &str) -> (Vec<String>, (usize, usize)) {
        let text = format!(
            "duration = \"2 s\"\n[network]\ntemplate = \"dumbbell\"\n\
            core = {{ rate = \"10 Mbit/s\", delay = \"15 ms\", buffer = \"20 KB\" }}\n\
            edge = {{ count = 2, rate = \"{edge}\", delay = \"2 ms .. 3 ms\" }}\n\
            access = {{ per_edge = 20, rate = \"10 Mbit/s\", delay = \"2 ms .. 9 ms\" }}\n\
            [[traffic]]\nkind = \"bulk\"\ntcp = {{ profile = \"ns2\" {tcp} }}\n{more}"
        );
        let network = Scenario::from_toml(&text).unwrap().network(1).unwrap();
        let mut engine = Engine::with_method(&network, Method::Windowed, None);
        engine.run_until(Instant::from_nanos(1_000_000_000), &Control::default()).unwrap();
        let Links { ordered: ordered_links, isolated, .. } = &engine.links;
        let name = |ordered_link: &OrderedLink| network.links[ordered_link.link as usize].name.to_string();
        let may = ordered_links.iter().filter(|ordered_link| ordered_link.finds_isolated).map(name);
        (may.collect(), (isolated.slots.marked, isolated.slots.crowd))
    }

    #[test]
    fn most_acknowledgements_are_alone() {
        let (may, (packets, crowd)) = found("", "10 Mbit/s", "");
        assert_eq!(may, ["core.reverse"]);
        assert!(packets > 20 && (1..=packets / 4).contains(&crowd), "{crowd} of {packets}");
    }

    #[test]
    fn none_is_where_a_link_upstream_is_slower_or_observed() {
        assert!(found("", "5 Mbit/s", "").0.is_empty());
        assert!(found("", "10 Mbit/s", "[probes]\ndepartures = [{ links = \"core.reverse\" }]").0.is_empty());
    }

    #[test]
    fn packets_of_several_sizes_are_served_as_usual_and_so_are_many() {
        let (_, (packets, crowd)) = found(", variant = \"sack1\"", "10 Mbit/s", "");
        assert!(packets > 20 && crowd == 0, "not even looked for");
        let back = "[[traffic]]\nkind = \"bulk\"\nfrom = \"right.*\"\ntcp = { profile = \"rfc\" }";
        assert_eq!(found("", "10 Mbit/s", back), (Vec::new(), (0, 0)), "hosts are shared");
    }
}
