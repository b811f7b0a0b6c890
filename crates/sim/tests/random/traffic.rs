//! Traffic at random: every kind, in any direction.

use super::keys;
use super::networks::Layout;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// One `[[traffic]]`.
#[derive(Debug, Clone)]
pub(crate) struct Traffic {
    /// Its own keys.
    lines: String,
    class: u32,
    direction: Direction,
    pub(crate) is_tcp: bool,
}

#[derive(Debug, Clone)]
enum Direction {
    /// All of the left, each to its partner; in a graph the first host to the second.
    Default,
    /// All of the right likewise.
    Back,
    /// Any host to any other.
    Between(Index, Index),
}

impl Traffic {
    /// From one side to the other.
    pub(crate) fn is_through(&self) -> bool {
        matches!(self.direction, Direction::Default | Direction::Back)
    }

    /// The table, its flows named by its number.
    pub(crate) fn text(&self, number: usize, layout: &Layout) -> String {
        let hosts = &layout.hosts;
        let between = |from: &str, to: &str| format!("from = \"{from}\"\nto = \"{to}\"\n");
        let ends = match &self.direction {
            Direction::Default if layout.has_sides => String::new(),
            Direction::Default => between(&hosts[0], &hosts[1]),
            Direction::Back => between(&hosts[1], &hosts[0]),
            Direction::Between(from, to) => {
                let from = from.index(hosts.len());
                let step = 1 + to.index(hosts.len() - 1);
                between(&hosts[from], &hosts[(from + step) % hosts.len()])
            }
        };
        let class = if self.class > 0 { format!("class = {}\n", self.class) } else { String::new() };
        format!("[[traffic]]\nname = \"t{number}\"\n{class}{}{ends}\n", self.lines)
    }
}

pub(crate) fn traffic(lattice: bool) -> impl Strategy<Value = Traffic> {
    let direction = prop_oneof![
        2 => Just(Direction::Default),
        1 => Just(Direction::Back),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Direction::Between(from, to)),
    ];
    let lines = prop_oneof![
        3 => bulk(lattice).prop_map(|lines| (lines, true)),
        4 => dialogue(lattice).prop_map(|lines| (lines, true)),
        2 => steady(lattice).prop_map(|lines| (lines, false)),
        1 => modulated().prop_map(|lines| (lines, false)),
    ];
    let class = prop_oneof![2 => Just(0), 1 => 1..4_u32];
    (lines, direction, class).prop_map(|((lines, is_tcp), direction, class)| Traffic {
        lines,
        class,
        direction,
        is_tcp,
    })
}

/// Settings of TCP beside variant and profile: any few of them.
const TCP: &[&str] = &[
    "delayed_ack = \"40 ms\"",
    "quick_acks = 3",
    "adaptive_delay = true",
    "sack_compression = \"1 ms\"",
    "sack_compression = \"10 us\"",
    "push = 3",
    "read_delay = \"100 us\"",
    "delayed_syn_ack = true",
    "timestamps = true",
    "limited_transmit = false",
    "rack = true",
    "recovery = \"rfc6675\"",
    "recovery = \"rate-halving\"",
    "data_with_syn = true",
    "constants = \"linux-2007\"",
    "timer_tick = \"4 ms\"",
    "count_packets = true",
    "max_burst = \"3 packets\"",
    "gso = \"64 KB\"",
    "gso = \"3 packets\"",
    "gro = \"100 us\"",
    "gro = \"5 ms\"",
    "ack_every = 4",
    "overhead = \"1 us\"",
    "overhead = \"30 ms\"",
    "syn = false",
    "initial_window = \"10 packets\"",
    "initial_ssthresh = \"8 packets\"",
    "max_window = \"6 packets\"",
    "idle_restart = \"one\"",
    "idle_restart = \"paced\"",
    "ecn = \"rfc3168\"",
    "ecn = \"dctcp\"",
    "ecn = \"accecn\"",
    "ecn_rule = \"ns2\"",
    "ecn_rule = \"rfc3168\"",
    "timer_fix = false",
    "hystart = true",
    "hystart = \"rfc9406\"",
    "constants = \"rfc9438\"",
    "min_rto = \"50 ms\"",
    "initial_rto = \"300 ms\"",
    "tick = \"0 s\"",
    "tick_phase = \"0 s\"",
    "halving = \"flight-size\"",
    "duplicate_threshold = 2",
    "careful = false",
    "sack_header = \"4 B\"",
    "sack_blocks = 1",
];

/// A `tcp` table.
fn tcp(lattice: bool) -> impl Strategy<Value = String> {
    let variant = select(vec![
        "reno", "newreno", "tahoe", "sack1", "rfc6675", "fack", "bic", "cubic", "dctcp", "prague", "bbr",
        "bbr3",
    ]);
    let profile = select(vec!["rfc", "ns2", "linux", "ns2-2.28", "ns2-validation"]);
    (variant, profile, keys(TCP, 5)).prop_map(move |(variant, profile, more)| {
        let sizes = if lattice { ", payload = \"1000 B\", header = \"0 B\", ack = \"500 B\"" } else { "" };
        let key = |setting: &'static str| setting.split(" =").next();
        let firsts = more
            .iter()
            .enumerate()
            .filter(|(place, one)| more[..*place].iter().all(|other| key(other) != key(one)));
        let more: String = firsts.map(|(_, setting)| format!(", {setting}")).collect();
        format!("tcp = {{ variant = \"{variant}\", profile = \"{profile}\"{sizes}{more} }}\n")
    })
}

fn start(lattice: bool) -> impl Strategy<Value = &'static str> {
    let at = if lattice { vec!["0 s", "20 ms"] } else { vec!["0 s", "0 s .. 200 ms", "31 ms"] };
    select(at)
}

fn bulk(lattice: bool) -> impl Strategy<Value = String> {
    let size = prop_oneof![
        3 => Just(String::new()),
        1 => (1..90_u32).prop_map(|packets| format!("size = \"{packets} packets\"\n")),
    ];
    (size, 1..4_u32, start(lattice), tcp(lattice)).prop_map(|(size, count, start, tcp)| {
        format!("kind = \"bulk\"\n{size}count = {count}\nstart = \"{start}\"\n{tcp}")
    })
}

/// Applications over TCP.
fn dialogue(lattice: bool) -> impl Strategy<Value = String> {
    let size = prop_oneof![
        (1..40_u32).prop_map(|packets| format!("\"{packets}000 B\"")),
        (1..40_000_u32).prop_map(|bytes| format!("\"{bytes} B\"")),
        (1..40_u32).prop_map(|kb| format!("{{ exponential = \"{kb} KB\" }}")),
        (1..40_u32).prop_map(|kb| format!("{{ pareto = {{ mean = \"{kb} KB\", shape = 1.3 }} }}")),
        (1..20_u32).prop_map(|kb| format!("{{ uniform = \"1 KB .. {} KB\" }}", kb + 1)),
    ];
    let think = prop_oneof![
        1 => Just("\"0 s\"".to_owned()),
        1 => Just("\"10 ms\"".to_owned()),
        2 => (1..300_u32).prop_map(|ms| format!("{{ exponential = \"{ms} ms\" }}")),
    ];
    (size, think, 0..6_u32, 1..4_u32, start(lattice), tcp(lattice)).prop_map(
        |(size, think, kind, count, start, tcp)| {
            let what = match kind {
                0 => format!("kind = \"closed-loop\"\nsize = {size}\nthink = {think}\ncount = {count}"),
                1 => format!("kind = \"closed-loop\"\nconnection = \"kept\"\nsize = {size}\nthink = {think}\ncount = {count}"),
                2 => format!("kind = \"closed-loop\"\nsize = {size}\nthink = {think}\nfiles = {count}"),
                3 => format!("kind = \"rpc\"\nrequest = \"300 B\"\nresponse = {size}\nthink = {think}\ncount = {count}"),
                4 => format!("kind = \"rpc\"\nrequest = {size}\nresponse = {size}\nthink = {think}\ncalls = {}", count * 3),
                _ => format!("kind = \"cvec\"\nfile = \"{}/tests/small.cvec\"\nspeed = {count}", env!("CARGO_MANIFEST_DIR")),
            };
            format!("{what}\nstart = \"{start}\"\n{tcp}")
        },
    )
}

/// Sources without feedback whose rate stays.
fn steady(lattice: bool) -> impl Strategy<Value = String> {
    let packets = if lattice { vec!["1000 B", "500 B"] } else { vec!["200 B", "1500 B", "999 B"] };
    let rates = if lattice {
        vec!["1 Mbit/s", "4 Mbit/s", "8 Mbit/s"]
    } else {
        vec!["700 kbit/s", "3 Mbit/s", "9 Mbit/s"]
    };
    let kind = select(vec!["cbr", "poisson"]);
    let ends =
        select(vec!["", "stop = \"700 ms\"\n", "ecn = \"ect0\"\n", "ecn = \"ect1\"\nstop = \"900 ms\"\n"]);
    (kind, select(packets), select(rates), start(lattice), 1..3_u32, ends).prop_map(
        |(kind, packet, rate, start, count, ends)| {
            format!("kind = \"{kind}\"\npacket = \"{packet}\"\nrate = \"{rate}\"\nstart = \"{start}\"\ncount = {count}\n{ends}")
        },
    )
}

/// Sources whose rate changes.
fn modulated() -> impl Strategy<Value = String> {
    let time = |ms: u32, shape: u32| match shape {
        0 => format!("\"{ms} ms\""),
        1 => format!("{{ exponential = \"{ms} ms\" }}"),
        _ => format!("{{ pareto = {{ mean = \"{ms} ms\", shape = 1.{shape} }} }}"),
    };
    prop_oneof![
        (1..200_u32, 1..200_u32, 0..5_u32, any::<bool>()).prop_map(move |(on, off, shape, full)| {
            let rate = if full { "8 Mbit/s" } else { "1 Mbit/s" };
            let (on, off) = (time(on, shape), time(off, shape));
            format!("kind = \"on-off\"\npacket = \"500 B\"\nrate = \"{rate}\"\non = {on}\noff = {off}\n")
        }),
        (1..99_u32, 1..50_u32).prop_map(move |(h, slot)| format!(
            "kind = \"self-similar\"\npacket = \"300 B\"\nmean = \"500 kbit/s\"\nmax = \"2 Mbit/s\"\nhurst = 0.{h:02}\nslot = \"{slot} ms\"\n"
        )),
    ]
}
