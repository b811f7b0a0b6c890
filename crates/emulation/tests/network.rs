//! The emulated network against closed forms, and laws over random arrivals.

use paceline_core::Instant;
use paceline_emulation::wires::{Buffer, Detour, FlowPlan, LinkPlan, Network, PacerPlan, Plan, Port, Record};
use proptest::prelude::*;

const FIRST_PORT: u16 = 20_000;

fn link(rate_bps: u64, delay_ns: u64, packets: Option<u64>) -> LinkPlan {
    let (counts, ties) = ("waiting".to_owned(), "departure".to_owned());
    let buffer = Buffer { bytes: None, packets, counts, ties, seed: 1 };
    LinkPlan { rate_bps, delay_ns, buffer, pacer: None, detour: None, record: Record::default() }
}

fn plan(links: Vec<LinkPlan>, ports: usize) -> Plan {
    let forward = (0..links.len()).collect();
    Plan {
        duration_ns: 1_000_000_000,
        warmup_ns: 0,
        spin_ns: 0,
        first_port: FIRST_PORT,
        ports: (0..ports).map(|port| Port { fd: -1, ethernet: port >= 2 }).collect(),
        links,
        core: 0,
        flows: vec![FlowPlan { forward, reverse: vec![], caller: 0, listener: 1 }],
    }
}

/// A TCP segment of the flow, so many bytes long with its headers, told apart by `number`.
fn segment(bytes: u16, number: u32, forward: bool) -> Vec<u8> {
    let mut packet = vec![0; bytes.into()];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&bytes.to_be_bytes());
    packet[9] = 6;
    let (source, destination) = if forward { (50_000, FIRST_PORT) } else { (FIRST_PORT, 50_000) };
    packet[20..22].copy_from_slice(&u16::to_be_bytes(source));
    packet[22..24].copy_from_slice(&u16::to_be_bytes(destination));
    packet[24..28].copy_from_slice(&number.to_be_bytes());
    packet[32] = 0x50;
    packet
}

fn at(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

/// What is delivered by `until`, looked at every `step`: device, number of the segment, due time.
fn delivered(network: &mut Network, until: u64, step: u64) -> Vec<(usize, u32, u64)> {
    let mut found = Vec::new();
    let mut now = 0;
    while now < until {
        now += step;
        while let Some(delivery) = network.advance(at(now)) {
            let packet = if delivery.port >= 2 { &delivery.frame[14..] } else { delivery.frame };
            let number = u32::from_be_bytes(packet[24..28].try_into().expect("four bytes"));
            found.push((delivery.port, number, delivery.due.as_nanos()));
        }
    }
    found
}

#[test]
fn a_packet_takes_serialisation_and_propagation_of_each_link() {
    // 1000 B: 80 us at 100 Mbit/s and 5 ms, then 800 us at 10 Mbit/s and 20 ms.
    let mut network = Network::new(
        &plan(vec![link(100_000_000, 5_000_000, None), link(10_000_000, 20_000_000, None)], 2),
        at(0),
    )
    .expect("a plan");
    network.enter(0, &segment(1000, 1, true), at(1_000));
    network.enter(0, &segment(1000, 2, true), at(1_000));
    let first = 1_000 + 80_000 + 5_000_000 + 800_000 + 20_000_000;
    assert_eq!(delivered(&mut network, 100_000_000, 1_000_000), [(1, 1, first), (1, 2, first + 800_000)]);
}

#[test]
fn an_acknowledgement_goes_back_to_the_caller() {
    let mut network = Network::new(&plan(vec![link(1_000_000, 0, None)], 2), at(0)).expect("a plan");
    network.enter(1, &segment(52, 7, false), at(5));
    assert_eq!(delivered(&mut network, 100, 10), [(0, 7, 5)]); // no links that way
}

#[test]
fn a_full_buffer_refuses() {
    // Three waiting places and the wire: of five at once, four get through.
    let mut network = Network::new(&plan(vec![link(8_000_000, 0, Some(3))], 2), at(0)).expect("a plan");
    for number in 0..5 {
        network.enter(0, &segment(1000, number, true), at(0));
    }
    let numbers: Vec<u32> = delivered(&mut network, 10_000_000, 10_000).iter().map(|found| found.1).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
}

#[test]
fn what_a_pacer_elsewhere_loses_is_found_missing() {
    let mut paced = link(8_000_000, 0, None);
    paced.detour = Some(Detour { to: 2, from: 3 });
    let mut network = Network::new(&plan(vec![paced], 4), at(0)).expect("a plan");
    for number in 0..3 {
        network.enter(0, &segment(1000, number, true), at(0));
    }
    assert_eq!(delivered(&mut network, 10, 10), [(2, 0, 0), (2, 1, 0), (2, 2, 0)]);
    let frame = |number| [vec![0; 14], segment(1000, number, true)].concat();
    network.enter(3, &frame(0), at(1_000_000));
    network.enter(3, &frame(2), at(2_000_000)); // 1 never comes
    network.enter(3, &frame(2), at(2_500_000)); // nor does 2 come twice
    assert_eq!(delivered(&mut network, 10_000_000, 500_000), [(1, 0, 2_000_000), (1, 2, 3_000_000)]);
}

#[test]
fn a_pacer_here_holds_packets_as_the_edge_pacer_does() {
    // Two packets at once, and 10 ms for each: the second leaves at the bound.
    let mut paced = link(1_000_000_000, 0, None);
    let parameters = vec![("delay".to_owned(), "10 ms".to_owned())];
    paced.pacer = Some(PacerPlan { method: "edge".to_owned(), parameters, bytes: None, packets: None });
    let mut network = Network::new(&plan(vec![paced], 2), at(0)).expect("a plan");
    network.enter(0, &segment(1000, 0, true), at(0));
    network.enter(0, &segment(1000, 1, true), at(0));
    let found = delivered(&mut network, 20_000_000, 1_000);
    assert_eq!(found.len(), 2);
    assert!((5_000_000..=10_010_000).contains(&(found[1].2)), "{found:?}");
}

#[test]
fn what_belongs_to_no_flow_is_left_aside() {
    let mut network = Network::new(&plan(vec![link(8_000_000, 0, None)], 2), at(0)).expect("a plan");
    let mut stray = segment(100, 0, true);
    stray[22] = 0;
    network.enter(0, &stray, at(0));
    network.enter(0, &[], at(0));
    assert_eq!(delivered(&mut network, 10_000_000, 1_000_000), []);
}

#[test]
fn an_impossible_plan_is_refused() {
    let mut odd = plan(vec![link(1, 0, None)], 2);
    odd.flows[0].forward = vec![3];
    assert_eq!(Network::new(&odd, at(0)).err().as_deref(), Some("flows[0]: no such link or port"));
}

fn due(network: &mut Network, now: u64) -> Vec<u64> {
    std::iter::from_fn(|| network.advance(at(now)).map(|delivery| delivery.due.as_nanos())).collect()
}

/// Hosts that answer each packet at once with one the other way, looked at every `step`: when each packet is due.
fn conversation(gaps: &[u64], buffer: Option<u64>, step: u64) -> Vec<u64> {
    let mut plan = plan(vec![link(20_000_000, 1_000_000, None), link(5_000_000, 3_000_000, buffer)], 2);
    plan.links.push(link(20_000_000, 2_000_000, None));
    plan.flows[0] = FlowPlan { forward: vec![0, 1], reverse: vec![2], caller: 0, listener: 1 };
    let mut network = Network::new(&plan, at(0)).expect("a plan");
    let mut start = 0;
    for (number, gap) in gaps.iter().enumerate() {
        start += gap;
        network.enter(0, &segment(1000, number as u32, true), at(start));
    }
    let (mut now, mut found) = (0, Vec::new());
    while now < 200_000_000 {
        now += step;
        while let Some(delivery) = network.advance(at(now)) {
            let (host, due) = (delivery.port, delivery.due);
            found.push(due.as_nanos());
            let (bytes, forward) = if host == 0 { (1000, true) } else { (52, false) };
            network.enter(host, &segment(bytes, found.len() as u32, forward), due);
        }
    }
    found.retain(|due| *due < 150_000_000);
    found
}

proptest! {
    /// A host's answer leaves when what it answers was due, however late that was handed over: lateness does not add up.
    #[test]
    fn late_looks_do_not_make_answers_late(
        gaps in prop::collection::vec(0..200_000_u64, 1..8),
        buffer in prop::option::of(1..6_u64),
        steps in prop::array::uniform2(1_000..30_000_000_u64),
    ) {
        prop_assert_eq!(conversation(&gaps, buffer, steps[0]), conversation(&gaps, buffer, steps[1]));
    }

    /// Whenever the network is looked at, each packet's time is the same; what enters is delivered or lost; order holds.
    #[test]
    fn late_looks_change_nothing(
        gaps in prop::collection::vec(0..2_000_000_u64, 1..60),
        sizes in prop::collection::vec(60..1500_u16, 60),
        buffer in prop::option::of(1..6_u64),
        steps in prop::array::uniform2(1_000..30_000_000_u64),
    ) {
        let run = |step: u64| {
            let links = vec![link(20_000_000, 1_000_000, None), link(5_000_000, 3_000_000, buffer)];
            let mut network = Network::new(&plan(links, 2), at(0)).expect("a plan");
            let (mut now, mut looked, mut found) = (0, 0, Vec::new());
            for (number, (gap, size)) in gaps.iter().zip(&sizes).enumerate() {
                now += gap;
                // The rule of `live`: all that is due before a packet enters has happened.
                while looked + step < now {
                    looked += step;
                    found.extend(due(&mut network, looked));
                }
                found.extend(due(&mut network, now));
                network.enter(0, &segment(*size, number as u32, true), at(now));
            }
            found.extend(due(&mut network, u64::MAX));
            found
        };
        let (one, other) = (run(steps[0]), run(steps[1]));
        prop_assert_eq!(&one, &other);
        prop_assert!(one.is_sorted());
        prop_assert!(one.len() <= gaps.len());
        prop_assert!(buffer.is_some() || one.len() == gaps.len());
    }
}
