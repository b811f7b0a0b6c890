//! Fan-in merge: one sort for several lossless links that all feed one other.
//!
//! *Idea.* Each of these links must see its packets in order, and so must the link that they feed. The order in which packets would reach
//! that one if none had to wait is an order for each of them too, as the delay over one link is the same for all its packets. So packets
//! are sorted once, by that; each passes its link; and the few that had to wait are moved.
//! *Where it breaks.* Packets that leave a link in the same nanosecond have no order by time: such links are served by themselves. So is
//! each for some epochs, where many packets wait long.
//! *What it buys.* Without it 1000 flows take 19 % more time (`benches/ablation.py --path fan-in-merge`).

mod cut;
pub(crate) mod feeds;

use self::feeds::FanIn;
use crate::engine::links::Links;
use crate::engine::links::merge_buffer::{AtLink, Feed};
use crate::engine::links::workspace::{Destination, Epoch, Served};
use crate::engine::mailbox::{Mailbox, Post};
use crate::engine::plan::ordered_links::OrderedLink;
use paceline_core::Instant;

/// For so many epochs, where one has shown that it is not worth it.
const ISOLATED_FOR: u32 = 64;

impl Links<'_> {
    /// How this ordered link is served in this epoch: asked once, of each in their order.
    pub(crate) fn how_served(&mut self, position: usize) -> Served {
        let OrderedLink { next, may_join_next, .. } = self.ordered[position];
        if next.is_some_and(|next| may_join_next && self.ordered[next as usize].isolated_for == 0) {
            return Served::WithNext;
        }
        let ordered_link = &mut self.ordered[position];
        match ordered_link.isolated_for {
            0 if ordered_link.may_be_joined => Served::WithSources,
            epochs => {
                ordered_link.isolated_for = epochs.saturating_sub(1);
                Served::Alone
            }
        }
    }
}

impl<'a> Links<'a> {
    /// Serves a link and those that are served with it up to the ends of their epochs: how many packets.
    pub(in crate::engine::links) fn serve_fan_in(
        &mut self,
        position: usize,
        epoch: Epoch,
        onward: Destination,
        post: &mut impl Post<'a>,
    ) -> u64 {
        let mut fan_in = std::mem::take(&mut self.fan_in);
        self.gather(&mut fan_in, position, (epoch.hosts_until, epoch.until), post.mail());
        let OrderedLink { link, service, mut isolated_for, .. } = self.ordered[position];
        let (mut out, mut served, mut from) = (std::mem::take(&mut self.sent[position]), 0, fan_in.cut.from);
        let order = AtLink { link, precedence: self.precedence };
        for block in 0..fan_in.cut.blocks {
            let (origin, to) = fan_in.sort(block, from, self.precedence);
            let is_worth_it = if fan_in.all_run_alike() {
                fan_in.pass_all_alike(origin, order)
            } else if fan_in.all_run() {
                self.pass_all_counted(&mut fan_in, origin, order)
            } else {
                self.pass_each(&mut fan_in, origin, order)
            };
            isolated_for = if is_worth_it { isolated_for } else { ISOLATED_FOR };
            let due = fan_in.keep_later(block, to);
            served += self.pass_batch((link, service, onward), (due, to), &mut out, post.mail());
            post.deliver_full_parcel();
            from = to;
        }
        self.ordered[position].isolated_for = isolated_for;
        self.sent[position] = out;
        self.hand_back(position, post.mail());
        served += self.end_fan_in(&mut fan_in, position, post.mail());
        self.fan_in = fan_in;
        served
    }

    /// Collects what reaches the links in their epochs.
    fn gather(
        &mut self,
        fan_in: &mut FanIn,
        position: usize,
        times: (Instant, Instant),
        mail: &mut Mailbox<'a>,
    ) {
        let others = std::mem::take(&mut mail.to_links[position]);
        fan_in.begin(self.ordered[position].advance(times), others);
        for place in 0..self.ordered[position].sources.len() {
            let source = self.ordered[position].sources[place] as usize;
            let ordered_link = &mut self.ordered[source];
            if ordered_link.may_join_next {
                let spec = &self.network.links[ordered_link.link as usize];
                let (bounds, number) = (ordered_link.advance(times), fan_in.feeds.len());
                fan_in.lists.push((number, std::mem::take(&mut mail.to_links[source])));
                if let Some(partitions) = &mut mail.partitions {
                    fan_in.lists.extend(partitions.lists[source].drain(..).map(|(_, list)| (number, list)));
                }
                let (packets, ahead) = fan_in.add((ordered_link.link, spec), bounds);
                let link = &mut self.table[ordered_link.link as usize];
                let alike =
                    fan_in.alike_at(number).and_then(|one| link.begin_alike_batch(packets, one, bounds));
                fan_in.alike.extend(alike.map(|alike| (ahead, alike)));
                let service = link.begin_batch(packets, bounds);
                fan_in.service.extend(service.map(|service| (ahead, service)));
            } else {
                fan_in.late.append(&mut self.sent[source]);
            }
        }
        fan_in.cut();
    }

    /// Puts back what comes later: how many packets have passed the links before the common one.
    fn end_fan_in(&mut self, fan_in: &mut FanIn, position: usize, mail: &mut Mailbox<'a>) -> u64 {
        let gathered = |source: &&u32| self.ordered[**source as usize].may_join_next;
        let places: Vec<u32> = self.ordered[position].sources.iter().filter(gathered).copied().collect();
        let mut left = vec![None; fan_in.feeds.len()];
        for (number, mut list) in fan_in.lists.drain(..) {
            let is_first = left[number].is_none();
            *left[number].get_or_insert(0) += list.len() as u64;
            match (places.get(number), &mut mail.partitions) {
                (None, _) => {
                    list.append(&mut fan_in.late); // after those that have waited
                    fan_in.late = list;
                }
                (Some(&place), Some(partitions)) if !is_first => {
                    mail.to_links[place as usize].append(&mut list);
                    partitions.empty.push(list);
                }
                (Some(&place), _) => {
                    list.append(&mut mail.to_links[place as usize]); // sent meanwhile
                    mail.to_links[place as usize] = list;
                }
            }
        }
        let mut passed_all = 0;
        for (number, left) in left.iter().enumerate().take(fan_in.comes.len()) {
            let (first, packets) = fan_in.comes[number];
            let passed = packets - left.unwrap_or(0);
            passed_all += passed;
            let Feed { link, end, .. } = fan_in.feeds[number];
            let link = &mut self.table[link as usize];
            if fan_in.all_run_alike() {
                link.end_alike_batch(&mut fan_in.alike[number].1, (first, end), passed);
            } else if fan_in.all_run() {
                link.end_batch(&fan_in.service[number].1, first, passed);
            }
        }
        fan_in.late.append(&mut mail.to_links[position]);
        std::mem::swap(&mut mail.to_links[position], &mut fan_in.late);
        passed_all
    }

    /// Each sorted packet passes its link, and all are sorted again. Returns whether they nearly were sorted.
    fn pass_each(&mut self, FanIn { sorter, feeds, .. }: &mut FanIn, from: u64, order: AtLink<'_>) -> bool {
        sorter.pass(from, order, |number, event, next| {
            let Feed { link, ahead, .. } = feeds[number];
            if link == Feed::NO_LINK {
                return None;
            }
            Some(self.table[link as usize].pass(event.bytes, event.is_ack(), next - ahead).arrival)
        })
    }

    /// The same where all of them count alike.
    fn pass_all_counted(
        &mut self,
        FanIn { sorter, feeds, service, .. }: &mut FanIn,
        from: u64,
        order: AtLink<'_>,
    ) -> bool {
        sorter.pass(from, order, |number, event, next| {
            let (ahead, link) = service.get_mut(number)?;
            let now = next - *ahead;
            let (start, arrival) = link.pass(event, now);
            if start > now {
                self.table[feeds[number].link as usize].makes_wait(event, now, start);
            }
            Some(arrival)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use super::*;
    use crate::{Control, Engine, Method, Scenario};

    /// Names of the links that may be served with the next one, in a run of a second; and of those that have been on their own.
    fn gathered(more: &str, edge: &str) -> (Vec<String>, Vec<String>) {
        let text = format!(
            "duration = \"1 s\"\n[network]\ntemplate = \"dumbbell\"\n\
            core = {{ rate = \"10 Mbit/s\", delay = \"15 ms\", buffer = \"20 KB\" }}\n\
            edge = {{ count = 2, rate = \"{edge}\", delay = \"2 ms .. 3 ms\" }}\n\
            access = {{ per_edge = 20, rate = \"10 Mbit/s\", delay = \"2 ms\" }}\n\
            [[traffic]]\nkind = \"bulk\"\ntcp = {{ profile = \"ns2\" }}\n[probes]\n{more}"
        );
        let network = Scenario::from_toml(&text).unwrap().network(1).unwrap();
        let mut engine = Engine::with_method(&network, Method::Windowed, None);
        engine.run_until(Instant::from_nanos(1_000_000_000), &Control::default()).unwrap();
        let ordered_links = &engine.links.ordered;
        let name = |ordered_link: &OrderedLink| network.links[ordered_link.link as usize].name.to_string();
        let gathered = ordered_links.iter().filter(|ordered_link| ordered_link.may_join_next).map(name);
        (
            gathered.collect(),
            ordered_links.iter().filter(|ordered_link| ordered_link.isolated_for > 0).map(name).collect(),
        )
    }

    #[test]
    fn what_refuses_nothing_and_feeds_one_other_alone_is_served_with_it() {
        let (data, acks) =
            (["edge.l.0", "edge.l.1"].as_slice(), ["edge.r.0.reverse", "edge.r.1.reverse"].as_slice());
        assert_eq!(gathered("", "100 Mbit/s").0, [data, acks].concat());
        let paced = "[pacing]\nmethod = \"edge\"\ndelay = \"10 ms\"";
        assert_eq!(gathered(paced, "100 Mbit/s").0, acks);
        let looked_at = "departures = [{ links = \"edge.l.0\" }]";
        assert_eq!(gathered(looked_at, "100 Mbit/s").0, [&data[1..], acks].concat());
        assert!(gathered("", "2 Tbit/s").0.is_empty(), "several leave in a nanosecond");
    }

    #[test]
    fn where_many_wait_each_is_served_by_itself_for_a_while() {
        assert_eq!(gathered("", "2 Mbit/s").1, ["core"]);
        assert!(gathered("", "1 Gbit/s").1.is_empty());
    }
}
