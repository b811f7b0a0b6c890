//! How long before ns-2 knows of an arrival, in closed form: service and propagation on the link before; and what that decides.

use super::super::leads::TieOrders;
use crate::Scenario;
use crate::kernel::packet::{Event, Packet};
use crate::kernel::signals::Signals;
use crate::network::{Fitting, Network};
use paceline_core::pacer::{Method, PacerSpec, none};
use paceline_core::queue::Ties;
use paceline_core::{Instant, Span};
use std::sync::Arc;

/// From `h` over `r` to `k` and back, by the links `a`, `b`, `c`, `d`, of this rate (Mbit/s) and delay (ns), all with buffers.
fn network(links: [(u64, u64); 4], traffic: &str) -> Network {
    let mut text = String::from("duration = \"1 s\"\n[network]\ntemplate = \"graph\"\nties = \"ns2\"\n");
    for (name, kind) in [("h", "host"), ("r", "router"), ("k", "host")] {
        text += &format!("[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
    }
    let ways = [("a", "h", "r"), ("b", "r", "k"), ("c", "k", "r"), ("d", "r", "h")];
    for ((name, from, to), (mbps, ns)) in ways.into_iter().zip(links) {
        text += &format!(
            "[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{mbps} Mbit/s\"\ndelay = \"{ns} ns\"\n\
             reverse = false\nbuffer = \"10 packets\"\n"
        );
    }
    Scenario::from_toml(&(text + traffic)).unwrap().network(1).unwrap()
}

fn link(network: &Network, name: &str) -> u32 {
    network.links.iter().position(|link| link.name == name).unwrap() as u32
}

fn rule(network: &Network, name: &str) -> Ties {
    TieOrders::of(network).at(link(network, name)).0
}

const CBR: &str =
    "[[traffic]]\nkind = \"cbr\"\nfrom = \"h\"\nto = \"k\"\npacket = \"1000 B\"\nrate = \"1 Mbit/s\"\n";
const TCP: &str = "[[traffic]]\nkind = \"bulk\"\nfrom = \"h\"\nto = \"k\"\ntcp = { profile = \"ns2\" }\n";

#[test]
fn an_arrival_is_first_where_the_way_before_takes_longer_than_the_service() {
    // 1000 B take 800 us at b
    for (mbps, ns, expected) in [
        (10, 0, Ties::Departure), // as long: ns-2 schedules the end of the service first
        (10, 1, Ties::Arrival),
        (20, 400_000, Ties::Departure),
        (20, 400_001, Ties::Arrival),
        (5, 0, Ties::Arrival),
    ] {
        let network = network([(mbps, ns), (10, 0), (10, 0), (10, 0)], CBR);
        assert_eq!(rule(&network, "b"), expected, "{mbps} Mbit/s, {ns} ns");
        // what nothing brings is known for ever; what nothing passes does not matter
        assert_eq!((rule(&network, "a"), rule(&network, "c")), (Ties::Arrival, Ties::default()));
    }
}

#[test]
fn what_a_host_sends_is_known_since_its_cause_set_out() {
    // an acknowledgement of 40 B is sent as a packet of 1040 B comes over b: 832 us, and the delay; it takes 32 us at c
    let packet = |bytes, is_ack| {
        let packet =
            Packet { sent: Instant::ZERO, flow: 0, seq: 0, bytes, hop: 0, is_ack, signals: Signals::NONE };
        Event::of_packet(Instant::ZERO, 0, packet)
    };
    let network = network([(10, 3_000), (10, 7_000), (10, 5_000), (10, 100_000)], TCP);
    let tcp = network.flows[0].kind.tcp().unwrap();
    let [data, ack] = [tcp.data_bytes(), tcp.ack];
    let ns = |bytes: u32| u64::from(bytes) * 800;
    assert_eq!(rule(&network, "c"), Ties::Arrival);
    // and at d it is known for 32 us and 5 us, which is longer than its service
    assert_eq!(rule(&network, "d"), Ties::Arrival);
    // data are sent as an acknowledgement comes over d, some of them small, some large
    let mut decided = TieOrders::of(&network);
    let (ties, leads) = decided.at(link(&network, "a"));
    let leads = leads.unwrap();
    assert_eq!(ties, Ties::Ns2);
    for bytes in [ack as u16, data as u16] {
        assert_eq!(leads.of(&packet(bytes, false)), Span::from_nanos(ns(ack) + 100_000));
        assert_eq!(leads.of(&packet(bytes, true)), Span::ZERO); // none passes
    }
    // over a each takes its own time
    let (ties, leads) = decided.at(link(&network, "b"));
    let leads = leads.unwrap();
    assert_eq!(ties, Ties::Ns2);
    for bytes in [ack, 500, data] {
        assert_eq!(leads.of(&packet(bytes as u16, false)), Span::from_nanos(ns(bytes) + 3_000));
    }
    // what has been asked for is gone
    assert!(decided.at(link(&network, "b")).1.is_none());
}

/// Of 1000 B and of 500 B: 800 us and 400 us at b, half of that at a, and its delay.
#[test]
fn where_some_go_first_and_some_behind_each_is_asked() {
    let both = CBR.to_owned() + &CBR.replace("1000 B", "500 B");
    for (ns, expected) in
        [(0, Ties::Departure), (1, Ties::Ns2), (600_000, Ties::Ns2), (600_001, Ties::Arrival)]
    {
        for order in [both.clone(), CBR.replace("1000 B", "500 B") + CBR] {
            let network = network([(20, ns), (10, 0), (10, 0), (10, 0)], &order);
            assert_eq!(rule(&network, "b"), expected, "{ns} ns");
        }
    }
}

#[test]
fn acknowledgements_that_take_as_long_as_they_have_been_known_go_behind() {
    for (ns, expected) in [(0, Ties::Departure), (1, Ties::Arrival)] {
        let network = network([(10, 0), (10, 0), (10, ns), (10, 0)], TCP);
        assert_eq!(rule(&network, "d"), expected, "{ns}");
    }
}

type Change = fn(&mut Fitting);

#[test]
fn only_buffers_that_decide_as_ns2_are_looked_at() {
    let changes: [(Change, Ties); 4] = [
        (|_| {}, Ties::Arrival),
        (|fitting| Arc::make_mut(&mut fitting.buffer).limit = None, Ties::default()),
        (|fitting| Arc::make_mut(&mut fitting.buffer).ties = Ties::Random, Ties::default()),
        // it lets go what may go
        (
            |fitting| {
                fitting.pacer =
                    Some(Box::new(PacerSpec { method: Method::None(none::Parameters), limit: None }))
            },
            Ties::default(),
        ),
    ];
    for (number, (change, expected)) in changes.into_iter().enumerate() {
        let mut network = network([(5, 0), (10, 0), (10, 0), (10, 0)], CBR);
        let b = link(&network, "b");
        change(Arc::make_mut(&mut network.links[b as usize].fitting));
        assert_eq!(rule(&network, "b"), expected, "{number}");
    }
}
