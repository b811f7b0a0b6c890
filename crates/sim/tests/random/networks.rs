//! Networks at random, and what other parts need to know of them: the names of their links and hosts.

use super::links::{access, link};
use proptest::prelude::*;
use proptest::sample::select;

/// Networks that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Dumbbell,
    Path,
    Tandem,
    ParkingLot,
    /// A ring of routers, most of them with cables both ways.
    Ring,
    /// A ring of one-way links: what goes round it depends on itself.
    OneWayRing,
    /// Rings with flows that start everywhere and go further than a hop: links feed each other all round, and time passes.
    Circuit,
    /// One-way links that all packets pass, data and acknowledgements, some of them twice: a flow meets itself there.
    Trunk,
    /// Hosts around a switch whose ports share a memory, and a few behind another; many send to one.
    Switch,
}

impl Family {
    /// Every family by its name.
    pub(crate) const ALL: [(&'static str, Family); 9] = [
        ("dumbbell", Family::Dumbbell),
        ("path", Family::Path),
        ("tandem", Family::Tandem),
        ("parking-lot", Family::ParkingLot),
        ("ring", Family::Ring),
        ("one-way-ring", Family::OneWayRing),
        ("circuit", Family::Circuit),
        ("trunk", Family::Trunk),
        ("switch", Family::Switch),
    ];
}

/// A network, and the names in it.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// The lines after `[network]`.
    pub(crate) text: String,
    /// Its links, forward.
    pub(crate) links: Vec<String>,
    /// Each of them has a way back.
    pub(crate) two_ways: bool,
    /// Its hosts: at least two.
    pub(crate) hosts: Vec<String>,
    /// Traffic needs no `from` and `to`.
    pub(crate) has_sides: bool,
    /// Links out of one node each, as a list: they may share a memory.
    pub(crate) ports: Vec<String>,
}

/// A network of a family.
pub(crate) fn network(family: Family, lattice: bool) -> BoxedStrategy<Layout> {
    match family {
        Family::Dumbbell => dumbbell(lattice).boxed(),
        Family::Path => path(lattice).boxed(),
        Family::Tandem => row(lattice, false).boxed(),
        Family::ParkingLot => row(lattice, true).boxed(),
        Family::Ring => ring(lattice, true).boxed(),
        Family::OneWayRing => ring(lattice, false).boxed(),
        Family::Circuit => circuit(lattice).boxed(),
        Family::Trunk => trunk(lattice).boxed(),
        Family::Switch => switch(lattice).boxed(),
    }
}

fn dumbbell(lattice: bool) -> impl Strategy<Value = Layout> {
    let receivers = prop::option::weighted(0.2, 1..3_usize);
    (0..4_usize, 1..4_usize, link(lattice), access(lattice), access(lattice), receivers).prop_map(
        |(edges, hosts, core, edge, access, receivers)| {
            let mut text = format!("template = \"dumbbell\"\ncore = {{ {core} }}\n");
            let mut links = vec!["core".to_owned()];
            if edges > 0 {
                text += &format!(
                    "edge = {{ count = {edges}, {edge} }}\naccess = {{ per_edge = {hosts}, {access} }}\n"
                );
                links.extend((0..edges).flat_map(|k| [format!("edge.l.{k}"), format!("edge.r.{k}")]));
            } else {
                text += &format!("access = {{ hosts = {hosts}, {access} }}\n");
            }
            let left = edges.max(1) * hosts;
            let right = receivers.unwrap_or(left).min(left);
            if right < left {
                text += &format!("receivers = {right}\n");
            }
            links.extend((0..left).map(|i| format!("access.l.{i}")));
            links.extend((0..right).map(|i| format!("access.r.{i}")));
            let hosts = (0..right).flat_map(|i| [format!("left.{i}"), format!("right.{i}")]).collect();
            let next = if edges > 0 { "edge" } else { "access" };
            let ports = vec![
                format!("[\"core\", \"{next}.l.*.reverse\"]"),
                format!("[\"core.reverse\", \"{next}.r.*\"]"),
                format!("[\"{next}.r.*\"]"),
            ];
            Layout { text, links, two_ways: true, hosts, has_sides: true, ports }
        },
    )
}

fn path(lattice: bool) -> impl Strategy<Value = Layout> {
    prop::collection::vec(link(lattice), 1..=4).prop_map(|tables| {
        // what the way back is like is its own table's to say
        let rows: Vec<String> = tables
            .iter()
            .map(|keys| keys.split(", reverse_buffer").next().unwrap_or_default())
            .map(|keys| format!("    {{ {keys} }},\n"))
            .collect();
        let links = (0..rows.len()).map(|number| format!("link.{number}")).collect();
        let text = format!("template = \"path\"\nlinks = [\n{}]\n", rows.concat());
        let ports = (1..rows.len()).map(|k| format!("[\"link.{k}\", \"link.{}.reverse\"]", k - 1));
        let ports = ports.chain(["\"link.0\"".to_owned()]).collect();
        Layout { text, links, two_ways: true, hosts: names(&["left.0", "right.0"]), has_sides: true, ports }
    })
}

/// A tandem, or with hosts at each hop a parking lot.
fn row(lattice: bool, crossed: bool) -> impl Strategy<Value = Layout> {
    let tables = prop::collection::vec(link(lattice), 1..=4);
    (tables, access(lattice), access(lattice), 1..3_usize, any::<bool>()).prop_map(
        move |(tables, access, cross, hosts, alike)| {
            let hops = tables.len();
            let mut text = if alike {
                format!("hops = {hops}\nlink = {{ {} }}\n", tables[0])
            } else {
                let rows: Vec<String> = tables.iter().map(|keys| format!("    {{ {keys} }},\n")).collect();
                format!("links = [\n{}]\n", rows.concat())
            };
            text += &format!("access = {{ hosts = {hosts}, {access} }}\n");
            let mut links: Vec<String> = (0..hops).map(|hop| format!("hop.{hop}")).collect();
            let (template, through) = if crossed { ("parking-lot", "through.") } else { ("tandem", "") };
            let (near, far) = if crossed { ("l", "r") } else { ("left", "right") };
            let mut all: Vec<String> =
                (0..hosts).flat_map(|i| [near, far].map(|side| format!("{through}{side}.{i}"))).collect();
            links.extend(
                (0..hosts).flat_map(|i| ["l", "r"].map(|side| format!("access.{through}{side}.{i}"))),
            );
            if crossed {
                text += &format!("cross = {{ hosts = 1, {cross} }}\n");
                all.extend((0..hops).flat_map(|hop| ["l", "r"].map(|side| format!("cross.{hop}.{side}.0"))));
                links.extend((0..hops).map(|hop| format!("access.cross.{hop}.l.0")));
            }
            let text = format!("template = \"{template}\"\n{text}");
            let ports = (1..hops).map(|k| format!("[\"hop.{k}\", \"hop.{}.reverse\"]", k - 1));
            let ports = ports.chain(["\"hop.0\"".to_owned()]).collect();
            Layout { text, links, two_ways: true, hosts: all, has_sides: true, ports }
        },
    )
}

/// Routers in a ring with a host each, or two.
fn ring(lattice: bool, two_ways: bool) -> impl Strategy<Value = Layout> {
    let hops = prop::collection::vec(link(lattice), 3..=5);
    let around = any::<bool>(); // h0 sends to h1 the long way
    (hops, access(lattice), access(lattice), 1..=2_usize, around).prop_map(
        move |(hops, near, far, each, around)| {
            let mut ring = lay_ring(&hops, [&near, &far], each, two_ways);
            if two_ways && around {
                let via: Vec<String> =
                    [0].into_iter().chain((1..hops.len()).rev()).map(|k| format!("\"r{k}\"")).collect();
                ring.text +=
                    &format!("\n[[route]]\nfrom = \"h0\"\nto = \"h1\"\nvia = [{}]\n", via.join(", "));
            }
            ring
        },
    )
}

/// A ring of one-way links, or with cables both ways a ring of five; each router's first host sends two hops on, or to the router
/// behind it all the way round, whatever other traffic there is. On a first link and on the way into the network time passes.
fn circuit(lattice: bool) -> impl Strategy<Value = Layout> {
    let hops = prop::collection::vec(link(lattice), 3..=5);
    let traffic = select(vec![
        "kind = \"bulk\"\nstart = \"0 s .. 50 ms\"\n",
        "kind = \"bulk\"\ncount = 4\ntcp = { variant = \"sack1\", profile = \"ns2\" }\n",
        "kind = \"cbr\"\npacket = \"1000 B\"\nrate = \"2 Mbit/s\"\n",
        "kind = \"poisson\"\npacket = \"400 B\"\nrate = \"500 kbit/s\"\n",
    ]);
    let ways = (any::<bool>(), any::<bool>());
    (hops, access(lattice), access(lattice), 1..=2_usize, traffic, ways).prop_map(
        |(mut hops, near, far, each, traffic, (two_ways, all_round))| {
            let lasts = |keys: &str| keys.replace("\"0 ms\"", "\"20 us\"");
            hops[0] = lasts(&hops[0]);
            while two_ways && hops.len() < 5 {
                hops.push(hops[hops.len() - 1].clone());
            }
            let mut ring = lay_ring(&hops, [&lasts(&near), &lasts(&far)], each, two_ways);
            ring.ports.clear(); // time passes between links that share none
            let ahead = if all_round && !two_ways { hops.len() - 1 } else { 2 };
            for k in 0..hops.len() {
                let to = (k + ahead) % hops.len();
                ring.text +=
                    &format!("\n[[traffic]]\nname = \"on{k}\"\nfrom = \"h{k}\"\nto = \"h{to}\"\n{traffic}");
            }
            ring
        },
    )
}

/// Every host sends into one router and hears from another: between them a row of one-way links, and perhaps a way back by
/// which the packets from the first host to the second pass the row twice.
fn trunk(lattice: bool) -> impl Strategy<Value = Layout> {
    let row = prop::collection::vec(link(lattice), 1..=2);
    let ends = (access(lattice), access(lattice), access(lattice));
    (row, ends, prop::option::of(link(lattice)), 2..=4_usize).prop_map(|(row, ends, back, hosts)| {
        let hops = row.len();
        let mut text = "template = \"graph\"\n".to_owned();
        let (mut links, mut cables) = (Vec::new(), String::new());
        let mut one_way = |name: String, from: String, to: String, keys: &str| {
            let lines = keys.split(", reverse_buffer").next().unwrap_or_default().replace(", ", "\n");
            cables += &format!(
                "\n[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{lines}\nreverse = false\n"
            );
            links.push(name);
        };
        for (k, keys) in row.iter().enumerate() {
            one_way(format!("hop{k}"), format!("r{k}"), format!("r{}", k + 1), keys);
        }
        if let Some(keys) = &back {
            one_way("back".to_owned(), format!("r{hops}"), "r0".to_owned(), keys);
        }
        for host in 0..hosts {
            // The ways of the first two are as long as the others', or not.
            let up = if host == 1 { &ends.2 } else { &ends.0 };
            one_way(format!("up{host}"), format!("h{host}"), "r0".to_owned(), up);
            one_way(format!("down{host}"), format!("r{hops}"), format!("h{host}"), &ends.1);
        }
        let nodes = (0..=hops).map(|k| ("router", format!("r{k}")));
        for (kind, name) in nodes.chain((0..hosts).map(|host| ("host", format!("h{host}")))) {
            text += &format!("\n[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
        }
        text += &cables;
        if back.is_some() {
            let via: Vec<String> = (0..=hops).chain(0..=hops).map(|k| format!("\"r{k}\"")).collect();
            text += &format!("\n[[route]]\nfrom = \"h0\"\nto = \"h1\"\nvia = [{}]\n", via.join(", "));
        }
        let hosts = (0..hosts).map(|host| format!("h{host}")).collect();
        let ports = vec![format!("\"hop{}\"", hops - 1), format!("[\"down0\", \"down1\"]")];
        Layout { text, links, two_ways: false, hosts, has_sides: false, ports }
    })
}

/// Routers in a ring with `each` hosts, whose cables are of two kinds.
fn lay_ring(hops: &[String], access: [&str; 2], each: usize, two_ways: bool) -> Layout {
    let count = hops.len();
    let mut text = "template = \"graph\"\n".to_owned();
    let (mut links, mut hosts, mut cables) = (Vec::new(), Vec::new(), String::new());
    for (k, keys) in hops.iter().enumerate() {
        text += &format!("\n[[node]]\nname = \"r{k}\"\nkind = \"router\"\n");
        let reverse = if two_ways { "" } else { "\nreverse = false" };
        let keys = if two_ways { keys } else { keys.split(", reverse_buffer").next().unwrap_or_default() };
        let lines = keys.replace(", ", "\n");
        cables += &format!(
            "\n[[link]]\nname = \"hop{k}\"\nfrom = \"r{k}\"\nto = \"r{}\"\n{lines}{reverse}\n",
            (k + 1) % count
        );
        links.push(format!("hop{k}"));
    }
    for host in 0..each * count {
        text += &format!("\n[[node]]\nname = \"h{host}\"\nkind = \"host\"\n");
        let lines = access[host % 2].replace(", ", "\n");
        cables += &format!(
            "\n[[link]]\nname = \"to{host}\"\nfrom = \"h{host}\"\nto = \"r{}\"\n{lines}\n",
            host % count
        );
        hosts.push(format!("h{host}"));
        if two_ways {
            links.push(format!("to{host}"));
        }
    }
    text += &cables;
    let ports = (0..count).map(|k| {
        let back =
            if two_ways { format!("\"hop{}.reverse\", ", (k + count - 1) % count) } else { String::new() };
        format!("[\"hop{k}\", {back}\"to{k}.reverse\"]")
    });
    Layout { text, links, two_ways, hosts, has_sides: false, ports: ports.collect() }
}

/// Two switches, with hosts at each; from all hosts of one kind data come to the first. The first one's ports share a memory.
fn switch(lattice: bool) -> impl Strategy<Value = Layout> {
    let traffic = select(vec![
        "kind = \"bulk\"\nstart = \"0 s .. 50 ms\"\n",
        "kind = \"bulk\"\ntcp = { variant = \"sack1\", profile = \"linux\" }\n",
        "kind = \"cbr\"\npacket = \"1000 B\"\nrate = \"2 Mbit/s\"\n",
        "kind = \"poisson\"\npacket = \"400 B\"\nrate = \"1 Mbit/s\"\nclass = 1\n",
    ]);
    let cables = (link(lattice), access(lattice), access(lattice));
    (cables, 2..=4_usize, 1..=3_usize, traffic, shared_memory()).prop_map(
        |((trunk, near, far), here, there, traffic, memory)| {
            let mut text = "template = \"graph\"\n".to_owned();
            for name in ["r0", "r1"] {
                text += &format!("\n[[node]]\nname = \"{name}\"\nkind = \"router\"\n");
            }
            let lines = trunk.replace(", ", "\n");
            let mut cables = format!("\n[[link]]\nname = \"trunk\"\nfrom = \"r0\"\nto = \"r1\"\n{lines}\n");
            let mut links = vec!["trunk".to_owned()];
            for host in 0..here + there {
                let (router, keys) = if host < here { ("r0", &near) } else { ("r1", &far) };
                let lines = keys.replace(", ", "\n");
                text += &format!("\n[[node]]\nname = \"h{host}\"\nkind = \"host\"\n");
                cables += &format!(
                    "\n[[link]]\nname = \"to{host}\"\nfrom = \"{router}\"\nto = \"h{host}\"\n{lines}\n"
                );
                links.push(format!("to{host}"));
            }
            let hosts: Vec<String> = (0..here + there).map(|host| format!("h{host}")).collect();
            let ports: Vec<String> = (0..here).map(|host| format!("to{host}")).collect();
            text += &cables;
            text += &format!(
                "\n[[memory]]\nlinks = {:?}\n{memory}",
                [&["trunk".to_owned()][..], &ports].concat()
            );
            text += &format!(
                "\n[[traffic]]\nname = \"incast\"\nfrom = {:?}\nto = \"h0\"\n{traffic}",
                &hosts[1..]
            );
            text += &format!(
                "\n[[traffic]]\nname = \"away\"\nfrom = {:?}\nto = \"h{here}\"\n{traffic}",
                &hosts[..here]
            );
            Layout { text, links, two_ways: true, hosts, has_sides: false, ports: Vec::new() }
        },
    )
}

/// What it is like, but for its links.
pub(crate) fn shared_memory() -> impl Strategy<Value = String> {
    let sizes = vec!["3 packets", "12 packets", "40 packets", "2 KB", "9 KB", "60 KB"];
    (select(sizes), select(vec!["0.25", "0.5", "1", "8", "1000"]))
        .prop_map(|(size, alpha)| format!("size = \"{size}\"\nalpha = {alpha}\n"))
}

fn names(of: &[&str]) -> Vec<String> {
    of.iter().map(|&name| name.to_owned()).collect()
}
