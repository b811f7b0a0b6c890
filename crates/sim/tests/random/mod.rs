//! Scenarios at random, as TOML: every template, kind of traffic, pacer, loss and probe of the language, drawn in parts
//! that shrink on their own.
//!
//! *Lattice* scenarios have one packet size, rates that divide each other, delays in whole milliseconds and flows that
//! start together: many things happen at the same nanosecond.

#![allow(dead_code, reason = "each test takes what it needs")]

pub(crate) mod fast;
mod links;
mod listed;
mod networks;
mod pacing;
mod probes;
mod traffic;

pub(crate) use networks::{Family, Layout};
use paceline_sim::Scenario;
use probes::Probes;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::Union;
use std::ops::Range;

/// A scenario of one family, of any length and with probes.
pub(crate) fn scenario(family: Family) -> BoxedStrategy<String> {
    let times = |most: u32| {
        (1..=most, 0..10_u32).prop_map(|(tenths, warmup)| {
            let warmup = tenths * warmup * 10; // up to nine tenths of the run
            format!("duration = \"{}00 ms\"\nwarmup = \"{warmup} ms\"\n", tenths)
        })
    };
    let any = (times(30), body(family, false, probes::probes().boxed()));
    let lattice = (times(20), body(family, true, probes::probes().boxed()));
    prop_oneof![2 => any, 1 => lattice].prop_map(|(times, body)| times + &body).boxed()
}

/// A dumbbell where each flow has hosts of its own, under any control and pacer: its flows can be shared out among threads,
/// and if all go one way, epochs are as long as round trips. Many, for most networks to have links that results do not name.
pub(crate) fn of_separate_flows() -> BoxedStrategy<String> {
    dumbbells(Just(1).boxed(), 1..16, false)
}

/// The same where several flows share a host, and links with flows that go the other way.
pub(crate) fn of_shared_hosts() -> BoxedStrategy<String> {
    dumbbells((1..4_u32).boxed(), 1..8, true)
}

/// A dumbbell with so many flows from each of so many hosts an edge; those back come from every second host, or from all.
fn dumbbells(count: BoxedStrategy<u32>, hosts: Range<u32>, all_cross: bool) -> BoxedStrategy<String> {
    let network = (1..5_u32, hosts, 1..40_u32, 0..15_u32).prop_map(|(edges, hosts, rate, delay)| {
        let network = format!(
            r#"[network]
template = "dumbbell"
core = {{ rate = "{rate} Mbit/s", delay = "{delay} ms", buffer = BUFFER }}
edge = {{ count = {edges}, rate = "20 Mbit/s", delay = "1 ms .. 3 ms" }}
access = {{ per_edge = {hosts}, rate = "2 Mbit/s .. 40 Mbit/s", delay = "0 ms .. 2 ms" }}
"#
        );
        (edges * hosts, network)
    });
    let buffer = select(vec!["\"5 KB\"", "\"3 packets\"", "\"20 KB\"", "\"8 packets\", drop = \"front\""]);
    let variants =
        vec!["tahoe", "reno", "newreno", "sack1", "rfc6675", "fack", "bic", "cubic", "bbr", "bbr3"];
    let queues = vec!["", "", ", tsq = \"4 MB\"", ", tsq = \"3 KB\"", ", tsq = \"4 MB\", gso = \"64 KB\""];
    let settings = (select(variants), select(vec!["ns2", "rfc", "linux"]), select(queues));
    let tcp = settings.prop_map(|(variant, profile, queue)| {
        format!("kind = \"bulk\"\ntcp = {{ variant = \"{variant}\", profile = \"{profile}\"{queue} }}\n")
    });
    let cbr = Just("kind = \"cbr\"\nrate = \"800 kbit/s\"\npacket = \"500 B\"\n".to_owned());
    let traffic = prop_oneof![5 => tcp, 1 => cbr];
    let pacing = select(vec![
        "method = \"none\"",
        "method = \"host\"",
        "method = \"edge\"\ndelay = \"5 ms\"",
        "method = \"token-bucket\"\nrate = \"2 Mbit/s\"\nburst = \"3 KB\"",
        "method = \"qlbp\"\nload = 0.2\nmax_delay = \"5 ms\"",
    ]);
    let loss = select(vec!["", "[[drop]]\nlink = \"core\"\nprobability = 0.02\n"]);
    let crosses = prop::bool::weighted(0.25);
    (1..1000_u32, 3..30_u32, network, buffer, (traffic, count), crosses, pacing, loss)
        .prop_map(move |(seed, tenths, (pairs, network), buffer, (traffic, count), crosses, pacing, loss)| {
            let traffic = format!("{traffic}start = \"0 s .. 200 ms\"\ncount = {count}\n");
            // Every second pair of hosts the other way.
            let from = |side: &str, first: u32| -> Vec<String> {
                let step = if all_cross { 1 } else { 2 };
                (first..pairs).step_by(step).map(|pair| format!("{side}.{pair}")).collect()
            };
            let traffic = if crosses && pairs > 1 {
                let (there, back) = (from("left", 0), from("right", 1));
                format!("{traffic}from = {there:?}\n\n[[traffic]]\nname = \"back\"\n{traffic}from = {back:?}\n")
            } else {
                traffic
            };
            let pacing = if traffic.contains("cbr") && pacing.contains("host") { "method = \"none\"" } else { pacing };
            let network = network.replace("BUFFER", buffer);
            format!(
                "seed = {seed}\nduration = \"{tenths}00 ms\"\nwarmup = \"200 ms\"\n\n{network}\n[[traffic]]\n{traffic}\n[pacing]\n{pacing}\n\n{loss}"
            )
        })
        .boxed()
}

/// A scenario of any family without probes, of 4 s, whose statistics begin at 1 s.
pub(crate) fn unwatched() -> impl Strategy<Value = String> {
    let of = |&(_, family): &(&str, Family)| body(family, false, Just(None).boxed()).boxed();
    Union::new(Family::ALL.iter().map(of))
        .prop_map(|body| format!("duration = \"4 s\"\nwarmup = \"1 s\"\n{body}"))
}

/// All but its times.
fn body(
    family: Family,
    lattice: bool,
    probes: BoxedStrategy<Option<Probes>>,
) -> impl Strategy<Value = String> {
    let traffics = prop::collection::vec(traffic::traffic(lattice), 1..=3);
    let losses = prop::collection::vec(loss(), 0..=2);
    let counts = select(vec!["waiting", "ns2", "waiting+service"]);
    let ties = select(vec![
        "",
        "",
        "ties = \"departure\"\n",
        "ties = \"arrival\"\n",
        "ties = \"ns2\"\n",
        "ties = \"random\"\n",
    ]);
    let memory = prop::option::weighted(0.1, (any::<Index>(), networks::shared_memory()));
    let parts = (networks::network(family, lattice), traffics, pacing::pacing(), losses, memory, probes);
    let queue = prop::option::weighted(0.3, select(vec!["4 MB", "9 KB", "2 KB"]));
    (1..1000_u64, counts, ties, queue, parts).prop_map(
        |(seed, counts, ties, queue, (layout, traffics, pacing, losses, memory, probes))| {
            let mut text =
                format!("seed = {seed}\n\n[network]\ncounts = \"{counts}\"\n{ties}{}\n", layout.text);
            for (number, traffic) in traffics.iter().enumerate() {
                text += &traffic.text(number, &layout);
            }
            let tcp = traffics.iter().position(|one| one.is_tcp);
            for method in pacing.iter().flatten().filter(|method| tcp.is_some() || !method.is_of_hosts()) {
                text += &method.text(&layout);
            }
            let is_through = layout.has_sides && traffics[0].is_through();
            for loss in &losses {
                text += &loss.text(&layout, is_through);
            }
            if let Some((which, memory)) = memory.filter(|_| !layout.ports.is_empty()) {
                text += &format!("[[memory]]\nlinks = {}\n{memory}\n", which.get(&layout.ports));
            }
            text += &probes.iter().map(|probe| probe.text(&layout, tcp)).collect::<String>();
            queue.and_then(|queue| with_small_queues(&text, queue)).unwrap_or(text)
        },
    )
}

/// The same where connections have small queues: each of them, or the first, if their hosts can know what is there.
fn with_small_queues(text: &str, queue: &str) -> Option<String> {
    let is_legal = |text: &String| {
        let text = format!("duration = \"1 s\"\n{text}");
        Scenario::from_toml(&text).and_then(|scenario| scenario.network(scenario.seed())).is_ok()
    };
    let key = format!("tcp = {{ tsq = \"{queue}\", ");
    [text.replace("tcp = { ", &key), text.replacen("tcp = { ", &key, 1)].into_iter().find(is_legal)
}

/// What is lost by force.
#[derive(Debug, Clone)]
struct Loss {
    link: Index,
    reverse: bool,
    of_first: bool,
    which: String,
}

fn loss() -> impl Strategy<Value = Loss> {
    let which = prop_oneof![
        (0..30_u32).prop_map(|n| format!("arrivals = [{n}, {}]", n + 2)),
        (1..20_u32).prop_map(|percent| format!("probability = 0.{percent:02}")),
        (1..20_u32, 1..9_u32)
            .prop_map(|(percent, length)| format!("bursts = {{ loss = 0.{percent:02}, length = {length} }}")),
        (1..9_u32).prop_map(|tenths| format!(
            "bursts = {{ p = 0.0{tenths}, r = 0.{tenths}, good = 0.01, bad = 0.7 }}"
        )),
    ];
    (any::<Index>(), any::<bool>(), any::<bool>(), which).prop_map(|(link, reverse, of_first, which)| Loss {
        link,
        reverse,
        of_first,
        which,
    })
}

impl Loss {
    /// The table; `is_through` if flow 0 passes the first link.
    fn text(&self, layout: &Layout, is_through: bool) -> String {
        let of_first = self.of_first && is_through;
        let link = if of_first { &layout.links[0] } else { self.link.get(&layout.links) };
        let reverse = if self.reverse && layout.two_ways { ".reverse" } else { "" };
        let flow = if of_first { "flow = 0\n" } else { "" };
        format!("[[drop]]\nlink = \"{link}{reverse}\"\n{flow}{}\n\n", self.which)
    }
}

/// Keys with a value each, as many of them as `most`.
fn keys(all: &'static [&'static str], most: usize) -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(all, 0..=most)
}
