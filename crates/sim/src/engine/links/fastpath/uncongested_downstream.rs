//! Uncongested downstream links: no queue forms at them.
//!
//! *Idea.* Packets leave a link one service time apart. So at a link that it alone feeds, and that is no slower, packets of one size find
//! the wire idle: each takes a fixed time.
//! *Where it breaks.* Rates that vary, and jitter. Sizes whose service is no whole number of nanoseconds carry fractions; and a packet of another size may still occupy
//! the wire. Such links are asked packet by packet.
//! *What it buys.* Without it short round trips take 7 % more instructions (`benches/ablation.py --path uncongested-downstream`).

use crate::engine::plan::ordered_links::OrderedLink;
use crate::kernel::packet::Event;
use crate::model::link::LinkTable;
use crate::network::Network;
use paceline_core::{Instant, Span};

/// Packets handled together: they stay in the closest cache.
pub(crate) const TOGETHER: usize = 512;
/// So many are worth it.
pub(crate) const MANY: usize = if cfg!(debug_assertions) { 2 } else { 32 };

/// The links downstream of one ordered link, none of which is slower.
#[derive(Debug)]
pub(crate) struct Downstream {
    /// The ordered link's.
    link: u32,
    /// The number of the first of them, and what has passed each, by number; some between may be none of them.
    first: u32,
    passed: Vec<Passed>,
    links: Vec<u32>,
}

/// What passes one of the links.
#[derive(Debug, Clone, Copy, Default)]
struct Passed {
    latency: Span,
    packets: u64,
    /// When the last of them is through.
    last: Instant,
}

impl Downstream {
    /// Downstream of all those ordered links where there are such links, and their numbers lie close together.
    pub(crate) fn all(ordered_links: &[OrderedLink], network: &Network) -> Vec<Self> {
        let downstream = ordered_links.iter().filter_map(|ordered_link| {
            let links: Vec<u32> = ordered_link.ends.iter().flatten().copied().collect();
            let (first, last) = (*links.first()?, *links.last()?);
            let spec = |link: u32| &network.links[link as usize];
            let are_close = (last - first) as usize <= 8 * links.len();
            let passed = vec![Passed::default(); (last - first) as usize + 1];
            let feeder = spec(ordered_link.link);
            let is_fast = feeder.is_steady()
                && links.iter().all(|link| spec(*link).is_steady() && spec(*link).rate >= feeder.rate);
            (are_close && is_fast).then_some(Downstream { link: ordered_link.link, first, passed, links })
        });
        downstream.collect()
    }

    /// Whether these are the links downstream of this one.
    pub(crate) fn serves(&self, link: u32) -> bool {
        self.link == link
    }

    /// Packets that have left the ordered link pass these links, if it is known that none waits. Else returns `false`, and none has passed.
    #[inline(never)]
    pub(crate) fn pass(&mut self, packets: &mut [Event], links: &mut LinkTable, network: &Network) -> bool {
        let (Some(first), Some(last)) = (packets.first().copied(), packets.last()) else { return true };
        let are_many = crate::ablation::FastPath::UncongestedDownstream.is_on() && packets.len() >= MANY;
        if !are_many
            || !Event::all_are_like(&first, &*packets)
            || !self.begin(&first, last.at, links, network)
        {
            return false;
        }
        for event in packets {
            if let Some(passed) = self.passed.get_mut(event.place.wrapping_sub(self.first) as usize) {
                event.at = event.at.later_by(passed.latency);
                passed.packets += 1;
                passed.last = event.at;
            }
        }
        for &link in &self.links {
            let Passed { latency, packets, last } = self.passed[(link - self.first) as usize];
            if packets > 0 {
                // The last one by itself, for the link to know when it is free.
                let link = &mut links[link as usize];
                link.pass(first.bytes, first.is_ack(), last - latency);
                let more = packets - 1;
                link.count(
                    first.at,
                    (more, more * u64::from(first.bytes), if first.is_ack() { 0 } else { more }),
                );
            }
        }
        true
    }

    /// Nothing has passed yet; whether none will wait, and all count alike, from the first packet to one like it that comes then.
    fn begin(&mut self, first: &Event, last: Instant, links: &LinkTable, network: &Network) -> bool {
        self.links.iter().all(|&number| {
            let (link, spec) = (&links[number as usize], &network.links[number as usize]);
            let latency = spec.latency(first.bytes);
            self.passed[(number - self.first) as usize] = Passed { latency, ..Passed::default() };
            spec.takes_whole_nanoseconds(first.bytes)
                && link.free_at() <= first.at
                && !link.owes()
                && link.count_alike(first.at, last + latency)
                && last + latency < Instant::MAX
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use super::*;
    use crate::kernel::packet::Packet;
    use crate::kernel::signals::Signals;
    use crate::model::link::Link;
    use crate::{Engine, Method, Scenario};

    /// Packets of these sizes leave the core as soon as one is over, for one of two links downstream of it alternately. How many of the lists
    /// of `together` pass without a question; all pass as if each were asked for.
    fn passes(core: &str, edge: &str, sizes: impl Iterator<Item = u16>, together: usize) -> usize {
        let text = format!(
            "duration = \"2 s\"\n[network]\ntemplate = \"dumbbell\"\n\
            core = {{ rate = \"{core}\", delay = \"15 ms\", buffer = \"20 KB\" }}\n\
            edge = {{ count = 2, rate = \"{edge}\", delay = \"2 ms .. 3 ms\" }}\n\
            access = {{ per_edge = 2, rate = \"10 Mbit/s\", delay = \"2 ms\" }}\n\
            [[traffic]]\nkind = \"bulk\"\ntcp = {{ profile = \"ns2\" }}\n"
        );
        let network = Scenario::from_toml(&text).unwrap().network(1).unwrap();
        let number = |name: &str| network.links.iter().position(|link| *link.name == *name).unwrap();
        let (core, edges) = (number("core"), [number("edge.r.0"), number("edge.r.1")]);
        let mut engine = Engine::with_method(&network, Method::Windowed, None);
        let mut others = Engine::with_method(&network, Method::Windowed, None).links.table;
        let mut packets: Vec<Event> = Vec::new();
        for (number, bytes) in sizes.enumerate() {
            let packet = Packet {
                sent: Instant::ZERO,
                flow: 0,
                seq: 0,
                bytes,
                hop: 0,
                is_ack: false,
                signals: Signals::NONE,
            };
            let at = packets.last().map_or(Instant::ZERO, |last| last.at) + network.links[core].takes(bytes);
            packets.push(Event::of_packet(at, edges[number % 2] as u32, packet));
        }
        let Some(downstream) =
            engine.links.downstream.iter_mut().find(|downstream| downstream.serves(core as u32))
        else {
            return 0;
        };
        let mut known = 0;
        for list in packets.chunks_mut(together) {
            let mut asked: Vec<Instant> = Vec::new();
            for event in &*list {
                asked.push(others[event.place as usize].pass(event.bytes, false, event.at).arrival);
            }
            if downstream.pass(list, &mut engine.links.table, &network) {
                known += 1;
                assert_eq!(list.iter().map(|event| event.at).collect::<Vec<_>>(), asked);
            } else {
                list.iter().for_each(|event| {
                    engine.links.table[event.place as usize].pass(event.bytes, false, event.at);
                });
            }
        }
        for edge in edges {
            let (one, other) = (&engine.links.table[edge], &others[edge]);
            assert_eq!((one.free_at(), one.owes()), (other.free_at(), other.owes()));
            let counted =
                |link: &Link| link.bounded().map(|link| (link.counters.arrived, link.counters.left_bytes()));
            assert_eq!(counted(one), counted(other));
        }
        known
    }

    #[test]
    fn packets_of_one_size_pass_without_a_question() {
        assert_eq!(passes("10 Mbit/s", "10 Mbit/s", (0..200).map(|_| 1000), 10), 20);
        assert_eq!(passes("10 Mbit/s", "100 Mbit/s", (0..200).map(|_| 1000), 10), 20);
    }

    #[test]
    fn others_are_asked_for() {
        assert_eq!(passes("10 Mbit/s", "9 Mbit/s", (0..200).map(|_| 1000), 10), 0, "slower");
        assert_eq!(
            passes("10 Mbit/s", "30 Mbit/s", (0..200).map(|_| 1000), 10),
            0,
            "fractions of a nanosecond"
        );
        assert_eq!(passes("10 Mbit/s", "10 Mbit/s", (0..200).map(|packet| 40 + packet % 2), 10), 0, "sizes");
        let large_first = |packet: u16| if packet < 12 { 1500 } else { 40 };
        assert_eq!(
            passes("10 Mbit/s", "10 Mbit/s", (0..48).map(large_first), 12),
            1,
            "large ones are before them"
        );
    }
}
