//! Path, tandem, parking lot and graph: hosts, links, routes, the core, and what they refuse.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_sim::network::Network;
use paceline_sim::{Scenario, scenario::ScenarioError};

fn read(network: &str, more: &str) -> Result<Network, ScenarioError> {
    let traffic = if more.contains("[[traffic]]") { "" } else { "traffic = [{ kind = \"bulk\" }]" };
    let text = format!("duration = \"1 s\"\n{traffic}\n{more}\n[network]\n{network}");
    Scenario::from_toml(&text)?.network(1)
}

fn error(network: &str, more: &str) -> String {
    read(network, more).map(|_| "accepted".to_owned()).unwrap_or_else(|error| error.to_string())
}

fn names(network: &Network, links: &[u32]) -> String {
    let names: Vec<&str> = links.iter().map(|link| network.links[*link as usize].name.as_str()).collect();
    names.join(" ")
}

/// Name, route there and route back of every flow.
fn routes(network: &Network) -> Vec<String> {
    let of = |flow: &paceline_sim::network::FlowSpec| {
        format!("{}: {} | {}", flow.name, names(network, &flow.forward), names(network, &flow.reverse))
    };
    network.flows.iter().map(of).collect()
}

const PATH: &str = r#"
template = "path"
links = [
  { name = "a", rate = "10 Mbit/s", delay = "1 ms" },
  { rate = "5 Mbit/s", delay = "1 ms", buffer = "5 packets" },
  { name = "c", rate = "5 Mbit/s", delay = "1 ms" },
]
"#;

#[test]
fn a_path_is_a_row_of_links() {
    let network = read(PATH, "").unwrap();
    assert_eq!(routes(&network), ["bulk.0: a link.1 c | c.reverse link.1.reverse a.reverse"]);
    assert_eq!(network.links[network.core as usize].name, "link.1");
    let named = read(&PATH.replace("links", "core = \"c\"\nlinks"), "").unwrap();
    assert_eq!(named.links[named.core as usize].name, "c");
    let paced = read(PATH, "pacing = { method = \"edge 1 ms\", at = \"a\", acks = true }").unwrap();
    let pacers =
        paced.links.iter().filter(|link| link.fitting.pacer.is_some()).map(|link| link.name.as_str());
    assert_eq!(pacers.collect::<Vec<_>>(), ["a", "c.reverse"], "the first link on either way");
}

#[test]
fn a_way_back_may_differ() {
    let back = r#"
        reverse = [
          { rate = "1 Mbit/s", delay = "2 ms", buffer = "3 packets" },
          { rate = "2 Mbit/s", delay = "2 ms" },
          { rate = "3 Mbit/s", delay = "2 ms" },
        ]
    "#;
    let network = read(&format!("{PATH}{back}"), "").unwrap();
    let of = |name: &str| network.links.iter().find(|link| link.name == name).unwrap();
    assert_eq!(of("a.reverse").rate.bits_per_second(), 1_000_000);
    assert!(of("a.reverse").fitting.buffer.limit.is_some());
    assert_eq!(of("link.1.reverse").fitting.buffer.limit, None);
}

const TANDEM: &str = r#"
template = "tandem"
hops = 3
link = { rate = "10 Mbit/s", delay = "1 ms .. 2 ms", buffer = "5 packets" }
access = { hosts = 2, rate = "1 Mbit/s", delay = "1 ms" }
"#;

#[test]
fn a_tandem_joins_hosts_at_both_ends() {
    let network = read(TANDEM, "").unwrap();
    assert_eq!(
        routes(&network)[1],
        "bulk.1: access.l.1 hop.0 hop.1 hop.2 access.r.1 | \
         access.r.1.reverse hop.2.reverse hop.1.reverse hop.0.reverse access.l.1.reverse"
    );
    assert_eq!(
        network.links[network.core as usize].name, "hop.0",
        "routers' links before slower access links"
    );
    let delays: Vec<_> = network.links.iter().filter(|l| l.name.len() == 5).map(|l| l.delay).collect();
    assert!(delays[0] != delays[1] && delays[1] != delays[2], "each hop has a draw of its own: {delays:?}");
}

const PARKING_LOT: &str = r#"
template = "parking-lot"
links = [
  { rate = "10 Mbit/s", delay = "1 ms" },
  { name = "middle", rate = "8 Mbit/s", delay = "1 ms" },
]
access = { hosts = 1, rate = "1 Gbit/s", delay = "1 ms" }
cross = [{ hosts = 1, rate = "1 Gbit/s", delay = "1 ms" }, { hosts = 2, rate = "1 Gbit/s", delay = "1 ms" }]
"#;

#[test]
fn a_parking_lot_has_flows_all_the_way_and_flows_across() {
    let network = read(PARKING_LOT, "").unwrap();
    let forward: Vec<String> = network.flows.iter().map(|flow| names(&network, &flow.forward)).collect();
    assert_eq!(
        forward,
        [
            "access.through.l.0 hop.0 middle access.through.r.0",
            "access.cross.0.l.0 hop.0 access.cross.0.r.0",
            "access.cross.1.l.0 middle access.cross.1.r.0",
            "access.cross.1.l.1 middle access.cross.1.r.1",
        ]
    );
    assert_eq!(network.links[network.core as usize].name, "middle");
    let flows = |from: &str| {
        let traffic = format!("[[traffic]]\nkind = \"bulk\"\nfrom = \"{from}\"");
        read(PARKING_LOT, &traffic).unwrap().flows.len()
    };
    assert_eq!(["through", "cross", "cross.1", "left", "cross.*.l.0"].map(flows), [1, 3, 2, 4, 2]);
}

const GRAPH: &str = r#"
[[node]]
name = "a"
kind = "host"
[[node]]
name = "r"
kind = "router"
[[node]]
name = "s"
kind = "router"
[[node]]
name = "b"
kind = "host"
[[link]]
from = "a"
to = "r"
rate = "10 Mbit/s"
delay = "1 ms"
[[link]]
from = "r"
to = "s"
rate = "10 Mbit/s"
delay = "1 ms"
reverse = { rate = "1 Mbit/s", delay = "9 ms" }
[[link]]
name = "second"
from = "r"
to = "s"
rate = "5 Mbit/s"
delay = "1 ms"
reverse = false
[[link]]
from = "s"
to = "b"
rate = "10 Mbit/s"
delay = "1 ms"
[[traffic]]
kind = "bulk"
from = "a"
to = "b"
"#;
const IS_GRAPH: &str = "template = \"graph\"";

#[test]
fn a_graph_is_crossed_by_fewest_hops_or_as_told() {
    let network = read(IS_GRAPH, GRAPH).unwrap();
    assert_eq!(routes(&network), ["bulk.0: a-r r-s s-b | s-b.reverse r-s.reverse a-r.reverse"]);
    assert_eq!(network.links.len(), 7);
    assert_eq!(network.links[network.core as usize].name, "second");

    let told = format!("{GRAPH}\n[[route]]\nfrom = \"a\"\nto = \"b\"\nvia = [\"r\", \"second\"]");
    let network = read(IS_GRAPH, &told).unwrap();
    assert_eq!(
        routes(&network),
        ["bulk.0: a-r second s-b | s-b.reverse r-s.reverse a-r.reverse"],
        "back by fewest hops, where the same cables do not lead back"
    );
    let told = format!("{GRAPH}\n[[route]]\nfrom = \"b\"\nto = \"a\"\nvia = [\"s\", \"r\"]");
    assert_eq!(routes(&read(IS_GRAPH, &told).unwrap()).len(), 1);
}

#[test]
fn templates_refuse_what_they_cannot_be() {
    let one_way = GRAPH.replacen("reverse = { rate = \"1 Mbit/s\", delay = \"9 ms\" }", "reverse = false", 1);
    let route = |via: &str| format!("{GRAPH}\n[[route]]\nfrom = \"a\"\nto = \"b\"\nvia = {via}");
    let path = |from: &str, to: &str| error(&PATH.replacen(from, to, 1), "");
    for (found, expected) in [
        (path("\"c\"", "\"a\""), "network.links[2]: an earlier link is named \"a\"; give each its own name"),
        (
            path("\"c\"", "\"a.reverse\""),
            "network.links[2].name: \"a.reverse\" would be the way back of another link; write a name without .reverse",
        ),
        (path("links", "core = \"d\"\nlinks"), "network.core: \"d\" is no link here; did you mean \"a\"?"),
        (
            path("links", "reverse = []\nlinks"),
            "network.reverse: 0 ways back for 3 links; write one for each link, in their order",
        ),
        (
            error(PATH, "pacing = \"edge 1 ms\""),
            "pacing.at: missing; write the links to pace, for example at = \"link.1\"",
        ),
        (
            error(TANDEM, "pacing = { method = \"qlbp\", at = \"hop.0\", mu_min = \"1 Mbit/s\" }"),
            "pacing.mu_max: missing; write for example mu_max = \"100 Mbit/s\"",
        ),
        (
            error(&TANDEM.replace("hops = 3", "hops = 0"), ""),
            "network.hops: 0 is below 1; write a whole number from 1 to 1000",
        ),
        (error(&TANDEM.replace("link =", "lynk ="), ""), "network.lynk: unknown key; did you mean \"link\"?"),
        (
            error(&PARKING_LOT.replace("{ hosts = 1, rate = \"1 Gbit/s\", delay = \"1 ms\" }, ", ""), ""),
            "network.cross: 1 groups for 2 hops; write one for each hop, or one table for all",
        ),
        (error(IS_GRAPH, &one_way), "traffic[0]: no way from b to a; add a link, or write other hosts"),
        (
            error(IS_GRAPH, &GRAPH.replace("to = \"b\"\nrate", "to = \"c\"\nrate")),
            "link[3].to: \"c\" is no node; did you mean \"a\"?",
        ),
        (
            error(IS_GRAPH, &GRAPH.replace("name = \"second\"\n", "")),
            "link[2]: an earlier link is named \"r-s\"; give this one a name of its own",
        ),
        (
            error(IS_GRAPH, &GRAPH.replace("from = \"a\"\nto = \"b\"\n", "")),
            "traffic[0].from: missing; this template has no sides, write for example from = \"a\", to = \"b\"",
        ),
        (
            error(IS_GRAPH, &route("[\"r\"]")),
            "route[0].via: no link leads from its end to \"b\"; add the nodes between",
        ),
        (
            error(IS_GRAPH, &route("[\"s\"]")),
            "route[0].via[0]: \"s\" does not follow from the node before; write each node on the way",
        ),
        (
            error(IS_GRAPH, &route("[\"x\"]")),
            "route[0].via[0]: \"x\" is neither node nor link; write one of theirs",
        ),
    ] {
        assert_eq!(found, expected);
    }
}
