//! Packets that meet no other at a link, nor before it or behind: they pass in place, and nobody puts them in order.
//!
//! *Idea.* Most acknowledgements have the links that they share with others to themselves, as these are far from full. What happens to a
//! packet depends on the order of all where it meets others; who comes alone is through in a time that is known, whoever was there
//! before. The few that are not alone ([`super::slots`]) go the usual way, and come back to their places. Then the list in which
//! hosts have sent goes to hosts as it is: flow by flow already, with nothing to deal out.
//!
//! *Why they are alone.* Links before the common one ([`super::fan`]) and behind are no slower than that. So while packets wait before
//! it, it is busy all the time; and all that have come are gone after what each takes there, added up. Behind it nobody waits.
//! *Where it breaks.* Where a quarter is not alone the link is served as usual for some windows. So are windows in which packets are
//! of several sizes, or some count and others not.
//! *What it buys.* Without it a thousand flows take 16 % more instructions, 100,000 flows 8 % more time (`make
//! bench-ablation`).

mod feed;

use self::feed::LoneFeed;
use super::Engine;
use super::fan::Served;
use super::slots::Slots;
use super::stage::Stage;
use super::windows::Onward;
use crate::kernel::packet::Event;
use crate::model::link::window::Service;
use crate::network::Network;
use paceline_core::{Instant, Span};

/// Fewer packets are not worth it. In tests a few are.
const FEW: usize = if cfg!(debug_assertions) { 4 } else { 500 };
/// For so many windows, where one has shown that it is not worth it.
const USUAL_FOR: u32 = if cfg!(debug_assertions) { 2 } else { 64 };
/// Of a packet's number in a list, below the list's.
const NUMBER: u32 = 40;

/// Room for it.
#[derive(Debug, Default)]
pub(super) struct Lone {
    feeds: Vec<LoneFeed>,
    slots: Slots,
    /// For the numbers of those that are not alone.
    room: Vec<u32>,
}

/// What is known of a window before it is served.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// The common link, and its window.
    link: u32,
    window: (Instant, Instant),
    /// All are like this one.
    like: Event,
}

impl Stage {
    /// Whether packets may be found alone here: nothing is refused here or before, all go to hosts by tails, and no link next to this is
    /// slower.
    pub(super) fn may_find_lone(&self, stages: &[Stage], network: &Network) -> bool {
        let rate = |link: u32| network.links[link as usize].rate;
        let sources = || self.sources.iter().map(|source| &stages[*source as usize]);
        let Some(ends) = &self.ends else { return false };
        let mut others = sources().map(|source| source.link).chain(ends.iter().copied());
        let is_fan = self.service == Service::All && sources().all(|source| source.may_join_next);
        is_fan && self.feeders.is_empty() && others.all(|link| rate(link) >= rate(self.link))
    }
}

impl Engine<'_> {
    /// Serves a link, and those that are served with it, where nearly all packets are alone, and lets hosts take them: how many.
    pub(super) fn run_lone(&mut self, stage: (usize, Served), hosts_until: Instant) -> Option<u64> {
        if stage.1 == Served::WithNext {
            return None;
        }
        let mut served = None;
        if let Some(packets) = self.enough_to_be_alone(stage.0) {
            let windows = self.windows.as_mut();
            let mut lone = windows.map_or(Lone::default(), |windows| std::mem::take(&mut windows.lone));
            let plan = self.plan(&mut lone, stage, hosts_until, packets);
            served = plan.and_then(|plan| self.pass_lone(&mut lone, stage, hosts_until, plan));
            if let Some(windows) = &mut self.windows {
                windows.lone = lone;
            }
        }
        if let (None, Some(post)) = (served, &mut self.post) {
            post.gather(stage.0, &mut self.staged[stage.0]); // all of them, to be served as usual
        }
        served
    }

    /// How many have come to a stage at which packets may be found alone, and to those before it; `None` where these are not worth it.
    fn enough_to_be_alone(&self, position: usize) -> Option<usize> {
        let stage = self.windows.as_ref()?.stages.get(position).filter(|stage| stage.finds_lone)?;
        let waiting = |place: usize| {
            let lists = self.post.iter().flat_map(|post| &post.lists[place]);
            self.staged[place].len() + lists.map(|(_, list)| list.len()).sum::<usize>()
        };
        let before = stage.sources.iter().map(|source| waiting(*source as usize)).sum::<usize>();
        Some(waiting(position) + before).filter(|packets| *packets >= FEW)
    }

    /// What is known before; `None` where it is not worth it.
    fn plan(
        &mut self,
        lone: &mut Lone,
        stage: (usize, Served),
        hosts_until: Instant,
        packets: usize,
    ) -> Option<Plan> {
        let (position, served) = stage;
        let stages = &mut self.windows.as_mut()?.stages;
        let Stage { may_be_joined, usual_for, .. } = &mut stages[position];
        if *may_be_joined != (served == Served::WithSources) || !self.shared.are_none() {
            return None;
        }
        if *usual_for > 0 {
            *usual_for -= 1;
            return None;
        }
        let stage = &stages[position];
        let (link, window) = (stage.link, (stage.served_until, hosts_until + stage.offset));
        let places = || [position].into_iter().chain(stage.sources.iter().map(|source| *source as usize));
        let lists = |place: usize| {
            let of_parts = self.post.iter().flat_map(move |post| &post.lists[place]).map(|(_, list)| list);
            [&self.staged[place]].into_iter().chain(of_parts)
        };
        if window.1 <= window.0 || window.1 >= self.until {
            return None;
        }
        let first = places().flat_map(lists).find_map(|list| list.first())?;
        let plan = Plan { link, window, like: *first };
        let specs = &self.network.links;
        let takes = specs[link as usize].takes(plan.like.bytes);
        // All of them have left by then.
        let latest = window.1 + specs[link as usize].delay + takes + takes + takes + takes;
        // By then nobody waits of those that have come before, who may have been larger: in the common link's time.
        let mut free_at = self.links[link as usize].free_at();
        let mut count_alike = latest < Instant::MAX;
        lone.feeds.resize_with(places().flat_map(lists).count(), LoneFeed::default);
        let mut feeds = lone.feeds.iter_mut();
        for place in places() {
            let Stage { link: before, served_until: from, .. } = stages[place];
            let at_work = &self.links[before as usize];
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
                let lists = self.post.iter().flat_map(|post| &post.lists[place]);
                feed.sent_by = number
                    .checked_sub(1)
                    .and_then(|number| lists.map(|(part, _)| *part).zip(0..).nth(number));
            }
        }
        for &end in stage.ends.iter().flatten() {
            let at_work = &self.links[end as usize];
            free_at = free_at.max(at_work.free_at() - specs[link as usize].latency(plan.like.bytes));
            count_alike &= at_work.count_alike(window.0, latest);
            count_alike &= latest + specs[end as usize].latency(plan.like.bytes) < Instant::MAX; // Event::pass
        }
        let is_worth_it = count_alike && lone.slots.cut(window, (takes, free_at), packets);
        is_worth_it.then_some(plan)
    }

    /// Lets all pass: those that are not alone as usual, the others in place; `None` where too many are not, nothing having passed then.
    fn pass_lone(
        &mut self,
        lone: &mut Lone,
        stage: (usize, Served),
        hosts_until: Instant,
        plan: Plan,
    ) -> Option<u64> {
        let Lone { feeds, slots, room } = lone;
        let mut are_alike = true;
        for feed in feeds.iter_mut() {
            self.exchange_list(feed);
            are_alike &= feed.mark_all(slots, plan);
        }
        if !are_alike || !slots.find_crowd() {
            for feed in feeds {
                feed.list.append(&mut feed.later);
                self.exchange_list(feed);
            }
            if let Some(windows) = &mut self.windows {
                windows.stages[stage.0].usual_for = USUAL_FOR;
            }
            return None;
        }
        if let Some(post) = &mut self.post {
            feeds.iter().for_each(|feed| post.lists[feed.place].clear());
        }
        let mut served = self.pass_in_place(feeds, (slots, room), plan);
        served += self.pass_crowd(feeds, stage, hosts_until);
        self.tell_losses();
        for feed in feeds.iter_mut() {
            self.take_list(feed);
            feed.list.clear();
            // What has stayed, in its order; behind it what is there by now: sent since, or held up behind others.
            let staged = &mut self.staged[feed.place];
            if feed.sent_by.is_none() {
                feed.later.append(staged);
            }
            staged.append(&mut feed.later);
            if let Some(windows) = &mut self.windows {
                let served_until = &mut windows.stages[feed.place].served_until;
                *served_until = (plan.window.1 - feed.ahead).max(feed.from).min(*served_until);
            }
        }
        Some(served)
    }

    /// What waits goes to a feed, or back.
    fn exchange_list(&mut self, feed: &mut LoneFeed) {
        let list = match (&mut self.post, feed.sent_by) {
            (Some(post), Some((_, number))) => &mut post.lists[feed.place][number].1,
            _ => &mut self.staged[feed.place],
        };
        std::mem::swap(&mut feed.list, list);
    }

    /// Hosts take what has passed; or it goes where they are.
    fn take_list(&mut self, feed: &mut LoneFeed) {
        match (&mut self.post, feed.sent_by) {
            (None, _) => self.take_all(&mut feed.list),
            (Some(post), None) => post.deal(&mut feed.list),
            (Some(post), Some((part, _))) => post.give_back(part, &mut feed.list),
        }
    }

    /// All pass as if each were alone: how many, at all links. Those that are not go back to where they wait, each with its place for
    /// the time at which it was sent.
    fn pass_in_place(
        &mut self,
        feeds: &mut [LoneFeed],
        (slots, room): (&Slots, &mut Vec<u32>),
        plan: Plan,
    ) -> u64 {
        let (specs, mut passed) = (&self.network.links, 0);
        for (which, feed) in (0..).zip(feeds.iter_mut()) {
            let to_tail = feed.ahead + specs[plan.link as usize].latency(plan.like.bytes);
            let crowd = slots.crowd_of(feed.ahead, feed.list.iter().map(|event| event.at), room);
            let staged = &mut self.staged[feed.place];
            for &number in crowd {
                staged.push(feed.list[number as usize]); // whole: see `Event::goes_on`
                if let Some(event) = staged.last_mut() {
                    event.sent = Instant::from_nanos(which << NUMBER | u64::from(number));
                }
            }
            let (mut rest, mut end, mut all) = (&mut feed.list[..], 0, 0);
            while let Some(Event { place: tail, .. }) = rest.first().copied() {
                let (packets, others) = rest.split_at_mut(that_go_on_together(rest));
                (rest, end) = (others, end + packets.len());
                let behind = specs.get(tail as usize).map_or(Span::ZERO, |end| end.latency(plan.like.bytes));
                packets.iter_mut().for_each(|event| event.pass(to_tail + behind, feed.links));
                let alone = end - crowd.partition_point(|number| (*number as usize) < end);
                self.count(tail, alone - all, plan.window.0, plan);
                all = alone;
            }
            self.count(plan.link, all, plan.window.0, plan);
            if feed.link != plan.link {
                self.count(feed.link, all, feed.from, plan);
            }
            passed += u64::from(feed.links) * all as u64;
        }
        passed
    }

    /// So many have passed this link, if it is one, none before this time.
    fn count(&mut self, link: u32, packets: usize, from: Instant, plan: Plan) {
        if let Some(link) = self.links.get_mut(link as usize) {
            let packets = packets as u64;
            let data = if plan.like.is_ack() { 0 } else { packets };
            link.count(from, (packets, packets * u64::from(plan.like.bytes), data));
        }
    }

    /// Those that are not alone are served, and go back to their places: how many times. Some may come to the common link too late.
    fn pass_crowd(&mut self, feeds: &mut [LoneFeed], stage: (usize, Served), hosts_until: Instant) -> u64 {
        let served = self.serve_stage(stage, hosts_until, Onward::Stage);
        let (position, _) = stage;
        let Some(windows) = &mut self.windows else { return served };
        for event in windows.sent[position].drain(..) {
            let link = self.links.get_mut(event.place as usize);
            let at = link.map_or(event.at, |link| link.pass(event.bytes, event.is_ack(), event.at).arrival);
            place_of(&event, feeds).at = at;
        }
        for event in &mut self.staged[position] {
            let place = place_of(event, feeds);
            event.sent = place.sent;
            place.bytes = 0;
        }
        if !self.staged[position].is_empty() {
            feeds.iter_mut().for_each(|feed| feed.list.retain(|event| event.bytes > 0));
        }
        served
    }
}

/// How many of these, from the first on, go to one link behind the common one, or to none. Eight are compared at a time.
fn that_go_on_together(packets: &[Event]) -> usize {
    let Some(first) = packets.first() else { return 0 };
    let differ =
        |packets: &[Event]| packets.iter().fold(0, |bits, event| bits | event.place ^ first.place) != 0;
    let eights = packets.chunks_exact(8).take_while(|eight| !differ(eight)).count();
    let others = packets[8 * eights..].iter().take_while(|event| event.place == first.place);
    8 * eights + others.count()
}

/// Where a packet that is not alone has been taken from.
fn place_of<'a>(event: &Event, feeds: &'a mut [LoneFeed]) -> &'a mut Event {
    let number = event.sent.as_nanos();
    &mut feeds[(number >> NUMBER) as usize].list[(number & ((1 << NUMBER) - 1)) as usize]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use super::super::windows::Windows;
    use super::*;
    use crate::{Control, Method, Scenario};

    /// Names of the links at which packets may be found alone; and how many have come in the last window in which somebody looked,
    /// and how many of them not alone. After a second of traffic between forty pairs of hosts.
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
        let Windows { stages, lone, .. } = engine.windows.as_ref().unwrap();
        let name = |stage: &Stage| network.links[stage.link as usize].name.to_string();
        let may = stages.iter().filter(|stage| stage.finds_lone).map(name);
        (may.collect(), (lone.slots.marked, lone.slots.crowd))
    }

    #[test]
    fn most_acknowledgements_are_alone() {
        let (may, (packets, crowd)) = found("", "10 Mbit/s", "");
        assert_eq!(may, ["core.reverse"]);
        assert!(packets > 20 && (1..=packets / 4).contains(&crowd), "{crowd} of {packets}");
    }

    #[test]
    fn none_is_known_to_be_where_a_link_before_is_slower_or_somebody_looks() {
        assert!(found("", "5 Mbit/s", "").0.is_empty());
        assert!(found("", "10 Mbit/s", "[probes]\ndepartures = [{ links = \"core.reverse\" }]").0.is_empty());
    }

    #[test]
    fn packets_of_several_sizes_are_served_as_usual_and_so_are_many() {
        let (_, (packets, crowd)) = found(", variant = \"sack1\"", "10 Mbit/s", "");
        assert!(packets > 20 && crowd == 0, "not even looked for");
        let back = "[[traffic]]\nkind = \"bulk\"\nfrom = \"right.*\"\ntcp = { profile = \"rfc\" }";
        assert_eq!(found("", "10 Mbit/s", back), (vec!["core.reverse".to_owned()], (0, 0)));
    }
}
