//! What pacers make of a capture.

use super::*;
use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Scenario};
use proptest::prelude::*;
use std::collections::HashMap;

/// Rows of a run of two Poisson sources and a constant one into one paced link.
fn simulated(pacing: &str, buffer: &str, seed: u64) -> Vec<TraceRow> {
    let scenario = Scenario::from_toml(&format!(
        r#"
        duration = "2 s"
        pacing = {{ method = "{pacing}", at = "slow" }}
        probes = {{}}
        [network]
        template = "graph"
        [[node]]
        name = "a"
        kind = "host"
        [[node]]
        name = "r"
        kind = "router"
        [[node]]
        name = "b"
        kind = "host"
        [[link]]
        name = "fast"
        from = "a"
        to = "r"
        rate = "1 Gbit/s"
        delay = "13 us"
        [[link]]
        name = "slow"
        from = "r"
        to = "b"
        rate = "30 Mbit/s"
        delay = "1 ms"
        ties = "departure"
        {buffer}
        [[traffic]]
        kind = "poisson"
        packet = "1500 B"
        rate = "11 Mbit/s"
        from = "a"
        to = "b"
        [[traffic]]
        kind = "poisson"
        packet = "211 B"
        rate = "7 Mbit/s"
        from = "a"
        to = "b"
        [[traffic]]
        kind = "cbr"
        packet = "999 B"
        rate = "3 Mbit/s"
        from = "a"
        to = "b"
        "#
    ))
    .unwrap();
    let network = scenario.network(seed).unwrap();
    let place = network.links.iter().position(|link| link.name == "slow").unwrap() as u32;
    let mut rows = Vec::new();
    Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
    rows.retain(|row: &TraceRow| row.place == place);
    rows
}

/// A frame by which a packet is known again.
fn frame_of(row: &TraceRow) -> Vec<u8> {
    [row.flow.to_le_bytes().to_vec(), row.seq.to_le_bytes().to_vec()].concat()
}

#[test]
fn pacers_let_packets_go_when_the_simulator_does() {
    let pacers = [
        "none",
        "edge delay = 10 ms",
        "edge delay = 3 ms, release = finish",
        "qlbp load = 0.8, max_delay = 5 ms",
        "qlbp mu_min = 10 Mbit/s, mu_max = 30 Mbit/s, q_max = 20 packets",
        "token-bucket rate = 24 Mbit/s, burst = 4000 B",
    ];
    for pacing in pacers {
        for (buffer, seed) in [("", 1), ("buffer = \"4000 B\"", 2), ("buffer = \"3 packets\"", 3)] {
            let rows = simulated(pacing, buffer, seed);
            // a packet that no pacer holds is enqueued or dropped as it arrives; a paced one may be dropped later
            let mut first = HashMap::new();
            let mut arrivals: Vec<&TraceRow> = Vec::new();
            for row in rows.iter().filter(|row| matches!(row.event, TraceEvent::Enqueue | TraceEvent::Drop)) {
                first.entry(frame_of(row)).or_insert_with(|| {
                    arrivals.push(row);
                    row.time_ns
                });
            }
            let departures: Vec<&TraceRow> =
                rows.iter().filter(|row| row.event == TraceEvent::Dequeue).collect();
            let drops = rows.iter().filter(|row| row.event == TraceEvent::Drop).count();
            let capture = nanoseconds(
                &arrivals
                    .iter()
                    .map(|row| Packet {
                        time: EPOCH_NS + row.time_ns,
                        interface: 0,
                        bytes: row.bytes,
                        frame: frame_of(row),
                    })
                    .collect::<Vec<_>>(),
            );
            let join = if pacing == "none" { ' ' } else { ',' };
            let shaper = format!("{pacing}{join} link = 30 Mbit/s {}", buffer.replace('"', ""));
            let ours = packets_of(&paced(&capture, &shaper, Format::Pcap));
            assert!(departures.len() > 3000 && ours.len() >= departures.len(), "{shaper}");
            for (row, (time, _, bytes, frame)) in departures.iter().zip(&ours) {
                assert_eq!((EPOCH_NS + row.time_ns, row.bytes), (*time, *bytes), "{shaper}");
                assert_eq!(&frame_of(row), frame, "{shaper}");
            }
            // what leaves after the simulation has ended
            let end = departures.last().unwrap().time_ns + EPOCH_NS;
            assert!(ours[departures.len()..].iter().all(|(time, ..)| *time >= end));
            let analysis = analysed(&capture, &options(&[&shaper])).unwrap();
            let cost = &analysis.interfaces[0].paced[0].cost;
            assert!(cost.dropped_packets as usize >= drops && cost.dropped_packets as usize <= drops + 20);
            assert_eq!(cost.dropped_packets as usize + ours.len(), arrivals.len());
            if buffer.is_empty() {
                let delays = departures.iter().map(|row| row.time_ns - first[&frame_of(row)]);
                let longest = delays.max().unwrap() as f64 / 1e9;
                assert!(cost.delay_max_s.unwrap() > 0.999 * longest);
                let all: u64 = ours.iter().map(|(time, _, _, frame)| time - EPOCH_NS - first[frame]).sum();
                let mean = all as f64 / ours.len() as f64 / 1e9;
                assert!((cost.delay_mean_s.unwrap() / mean - 1.0).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn a_capture_with_no_pacer_in_its_way_stays_as_it_is() {
    let file = nanoseconds(&[
        packet(EPOCH_NS + 1, &udp(1, 2, (3, 4), 50)),
        Packet { bytes: 1500, ..packet(EPOCH_NS + 1, &[1, 2, 3]) },
        packet(EPOCH_NS + 77, &[]),
    ]);
    assert_eq!(packets_of(&paced(&file, "none", Format::Pcap)), packets_of(&file));
    assert_eq!(packets_of(&paced(&file, "none", Format::Pcapng)), packets_of(&file));
}

#[test]
fn a_token_bucket_spreads_a_burst_as_its_tokens_come() {
    // 40 packets of 1000 B at once, a bucket of 5000 B, 8 Mbit/s: five leave at once, the others 1 ms apart
    let packets: Vec<Packet> = (0..40).map(|_| packet(EPOCH_NS, &[0; 1000])).collect();
    let file = paced(&nanoseconds(&packets), "token-bucket rate = 8 Mbit/s, burst = 5 KB", Format::Pcap);
    for (number, (time, ..)) in packets_of(&file).into_iter().enumerate() {
        assert_eq!(time - EPOCH_NS, 1_000_000 * (number as u64).saturating_sub(4));
    }
    let analysis =
        analysed(&nanoseconds(&packets), &options(&["token-bucket rate = 8 Mbit/s burst = 5 KB"])).unwrap();
    let cost = &analysis.interfaces[0].paced[0].cost;
    assert!((cost.delay_mean_s.unwrap() - (1..=35).sum::<u32>() as f64 * 1e-3 / 40.0).abs() < 1e-12);
    assert!((cost.delay_max_s.unwrap() - 35e-3).abs() < 35e-6);
    assert!((cost.delay_p50_s.unwrap() - 15e-3).abs() < 15e-6);
    assert_eq!(cost.dropped_packets, 0);
}

#[test]
fn limits_drop_what_does_not_fit() {
    let packets: Vec<Packet> = (0..40).map(|_| packet(EPOCH_NS, &[0; 1000])).collect();
    let of = |shaper: &str| {
        let analysis = analysed(&nanoseconds(&packets), &options(&[shaper])).unwrap();
        let paced = analysis.interfaces[0].paced[0].clone();
        assert_eq!(paced.stream.packets + paced.cost.dropped_packets, 40);
        (paced.cost.dropped_packets, paced.cost.dropped_bytes)
    };
    // one on the wire and ten that wait; five tokens' worth and ten held
    assert_eq!(of("none link = 8 Mbit/s buffer = 10 packets"), (29, 29_000));
    assert_eq!(of("token-bucket rate = 8 Mbit/s burst = 5 KB pacer_buffer = 10 KB"), (25, 25_000));
    // more than may ever be held, where no limit is given
    let jumbo: Vec<Packet> =
        (0..40).map(|_| Packet { bytes: 20_000_000, ..packet(EPOCH_NS, &[0]) }).collect();
    let analysis =
        analysed(&nanoseconds(&jumbo), &options(&["token-bucket rate = 1 kbit/s burst = 1 B"])).unwrap();
    assert_eq!(analysis.interfaces[0].paced[0].cost.dropped_packets, 27);
}

#[test]
fn interfaces_are_paced_apart_and_written_in_order() {
    let file = two_interfaces();
    let analysis = analysed(&file, &Options { by_flow: true, ..options(&["edge 1 ms"]) }).unwrap();
    let names: Vec<&str> = analysis.interfaces.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["east", "west"]);
    assert_eq!(analysis.backwards_packets, 0);
    assert_eq!(analysis.flows.unwrap()[0].name, "10.0.0.1:3 > 10.0.0.2:4 udp (east)");
    let out = packets_of(&paced(&file, "token-bucket rate = 20 Mbit/s, burst = 1 KB", Format::Pcapng));
    assert_eq!(out.len(), 1000);
    assert!(out.is_sorted_by_key(|packet| packet.0));
    for number in 0..2 {
        assert_eq!(out.iter().filter(|packet| packet.1 == number).count(), 500);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any times and lengths, through every pacer: what arrives leaves or is dropped, in order, not before it came.
    #[test]
    fn any_packets_pass_every_pacer(
        packets in proptest::collection::vec((any::<u64>(), any::<bool>(), 0..100_000u32), 0..60),
        wild in any::<bool>(),
    ) {
        let mut file = [section(false), interface(1, &[option(9, &[9], false)], false)].concat();
        let mut time = EPOCH_NS;
        for (step, back, bytes) in &packets {
            time = match (wild, back) {
                (true, _) => *step,
                (false, true) => time - step % 100_000,
                (false, false) => time + step % 3_000_000,
            };
            file.extend(enhanced(&Packet { bytes: *bytes, ..packet(time, &[]) }, false));
        }
        let pacers = [
            "none link = 100 Mbit/s buffer = 5 packets",
            "edge 10 ms",
            "edge 10 ms release = finish link = 1 Gbit/s",
            "qlbp mu_min = 1 Mbit/s mu_max = 50 Mbit/s q_max = 30 KB",
            "token-bucket rate = 10 Mbit/s burst = 3 KB pacer_buffer = 100 KB",
        ];
        let analysis = analysed(&file, &options(&pacers)).unwrap();
        prop_assert_eq!(analysis.packets + analysis.mistimed_packets, packets.len() as u64);
        for paced in analysis.interfaces.iter().flat_map(|group| &group.paced) {
            prop_assert_eq!(paced.stream.packets + paced.cost.dropped_packets, analysis.packets);
        }
        for shaper in pacers {
            let out = packets_of(&paced(&file, shaper, Format::Pcapng));
            prop_assert!(out.is_sorted_by_key(|packet| packet.0));
        }
    }
}
