//! What is said of a capture, against closed forms and against the simulator's own links.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use std::collections::HashMap;
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use paceline_sim::capture::analysis::flows::MOST;
use paceline_sim::capture::analysis::shaper::Shaper;
use paceline_sim::capture::analysis::{Analysis, AnalysisError, Options, analyse};
use paceline_sim::capture::write::Writer;
use paceline_sim::capture::{Capture, CaptureError, Format};
use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Scenario};
use proptest::prelude::*;

mod written;
use written::{Packet, enhanced, interface, option, packet, pcap, section, udp};

/// 2020-09-13, nanoseconds since 1970.
const EPOCH_NS: u64 = 1_600_000_000_000_000_000;

fn options(shapers: &[&str]) -> Options {
    let shapers = shapers.iter().map(|text| Shaper::parse(text).unwrap()).collect();
    Options { shapers, ..Options::default() }
}

fn analysed(file: &[u8], options: &Options) -> Result<Analysis, AnalysisError> {
    let capture = Capture::read_from(Box::new(Cursor::new(file.to_vec()))).map_err(AnalysisError::Capture)?;
    analyse(capture, options, None, 0, &Control::default())
}

/// A file in memory.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What the first pacer makes of a capture.
fn paced(file: &[u8], shaper: &str, format: Format) -> Vec<u8> {
    let written = Shared::default();
    let capture = Capture::read_from(Box::new(Cursor::new(file.to_vec()))).unwrap();
    let writer = Writer::new(Box::new(written.clone()), format);
    analyse(capture, &options(&[shaper]), Some(writer), 0, &Control::default()).unwrap();
    written.0.lock().unwrap().clone()
}

/// Time, interface, length on the wire and frame of every packet.
fn packets_of(file: &[u8]) -> Vec<(u64, u32, u32, Vec<u8>)> {
    let mut capture = Capture::read_from(Box::new(Cursor::new(file.to_vec()))).unwrap();
    let mut packets = Vec::new();
    while let Some(record) = capture.read().unwrap() {
        packets.push((record.time_ns, record.interface, record.bytes, record.frame.to_vec()));
    }
    packets
}

fn spaced(count: u64, gap_ns: u64, bytes: usize) -> Vec<Packet> {
    (0..count).map(|n| packet(EPOCH_NS + n * gap_ns, &vec![0; bytes])).collect()
}

fn nanoseconds(packets: &[Packet]) -> Vec<u8> {
    pcap(packets, 1, true, false)
}

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
fn a_constant_rate_has_no_burstiness() {
    let analysis =
        analysed(&nanoseconds(&spaced(100_000, 16_000, 1000)), &options(&["none", "edge 1 ms"])).unwrap();
    let group = &analysis.interfaces[0];
    assert_eq!(group.captured.packets, 100_000);
    let mean = 100_000.0 * 8000.0 / (99_999.0 * 16e-6);
    assert!((group.captured.rate_mean_bps.unwrap() - mean).abs() < 1.0);
    for scale in group.captured.scales.iter().filter(|scale| scale.scale_s > 15e-6) {
        assert_eq!(scale.cv, Some(0.0));
        assert!((scale.peak_bps - 500e6).abs() < 1.0);
    }
    assert!(group.captured.scales.len() > 14);
    assert_eq!((group.captured.bursts.count, group.captured.burst_most_bytes), (1, 100_000_000));
    // no pacing is no change; edge pacing of what is even lets it be even
    let [none, edge] = &group.paced[..] else { panic!() };
    assert_eq!(none.stream, group.captured);
    assert_eq!(none.cost.delay_max_s, Some(0.0));
    assert!(edge.stream.scales.iter().filter(|s| s.scale_s > 1e-3).all(|s| s.cv.unwrap() < 0.02));
}

#[test]
fn poisson_packets_vary_as_they_should() {
    // 1 / sqrt(lambda T); the estimate of a variance over n intervals is good to about sqrt(2 / n)
    let scenario = Scenario::from_toml(
        r#"
        duration = "60 s"
        probes = {}
        network = { template = "path", links = [{ name = "l", rate = "1 Tbit/s", delay = "0 s" }] }
        traffic = [{ kind = "poisson", packet = "500 B", rate = "8 Mbit/s" }]
        "#,
    )
    .unwrap();
    let mut rows: Vec<TraceRow> = Vec::new();
    Engine::run(&scenario.network(5).unwrap(), &Control::default(), Some(&mut rows)).unwrap();
    let rows = rows.iter().filter(|row| row.event == TraceEvent::Send);
    let packets: Vec<Packet> = rows.map(|row| packet(EPOCH_NS + row.time_ns, &[0; 500])).collect();
    let analysis = analysed(&nanoseconds(&packets), &Options::default()).unwrap();
    let captured = &analysis.interfaces[0].captured;
    let lambda = captured.packets as f64 / captured.duration_s.unwrap();
    assert!((lambda - 2000.0).abs() < 4.0 * (2000.0f64 / 60.0).sqrt());
    let mut compared = 0;
    for scale in &captured.scales {
        let expected = 1.0 / (lambda * scale.scale_s).sqrt();
        let counts = lambda * scale.scale_s;
        // variance of a Poisson sample variance: (2 / (n - 1) + 1 / (n mean)) of its square
        let n = scale.intervals as f64;
        let error = 0.5 * (2.0 / n + 1.0 / (n * counts)).sqrt();
        let off = scale.cv.unwrap() / expected - 1.0;
        assert!(off.abs() < 4.5 * error + 1e-4, "{} s: {off} of {error}", scale.scale_s);
        compared += 1;
    }
    assert!(compared > 20);
}

#[test]
fn bursts_and_gaps_are_counted() {
    // 300 bursts of 7 packets, 20 us apart, 5 ms between bursts; then one alone
    let mut packets = Vec::new();
    for burst in 0..300u64 {
        packets.extend((0..7).map(|n| packet(EPOCH_NS + burst * 5_000_000 + n * 20_000, &[0; 100])));
    }
    packets.push(packet(EPOCH_NS + 2_000_000_000, &[0; 60]));
    let analysis = analysed(&nanoseconds(&packets), &Options::default()).unwrap();
    let captured = &analysis.interfaces[0].captured;
    assert_eq!(captured.bursts.bins, [(1, 1, 1), (7, 7, 300)]);
    assert_eq!((captured.bursts.max, captured.burst_most_bytes), (Some(7), 700));
    assert_eq!(captured.gaps_ns.count, 2100);
    let total: u64 =
        captured.gaps_ns.bins.iter().filter(|bin| bin.0 <= 20_000 && 20_000 <= bin.1).map(|bin| bin.2).sum();
    assert_eq!(total, 1800);
    let wide = Options { burst_gap_ns: 10_000_000, ..Options::default() };
    let captured = &analysed(&nanoseconds(&packets), &wide).unwrap().interfaces[0].captured;
    assert_eq!(captured.bursts.count, 2);
    assert_eq!(captured.rate.bytes.iter().sum::<u64>(), captured.bytes);
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
fn flows_are_counted_each_way_and_the_rest_together() {
    let mut packets = Vec::new();
    for n in 0..10_000u64 {
        let time = EPOCH_NS + n * 10_000;
        packets.push(packet(time, &udp(1, 2, (7, 8), 900)));
        packets.push(packet(time, &udp(2, 1, (8, 7), 20)));
        packets.push(packet(time, &udp(3, 4, ((n % 60_000) as u16, (n / 60_000) as u16), 4)));
    }
    let by_flow = Options { by_flow: true, top: 2, ..options(&["edge 1 ms"]) };
    let analysis = analysed(&nanoseconds(&packets), &by_flow).unwrap();
    let flows = analysis.flows.unwrap();
    let names: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["10.0.0.1:7 > 10.0.0.2:8 udp", "10.0.0.2:8 > 10.0.0.1:7 udp"]);
    let rest = analysis.other_flows.unwrap();
    assert_eq!((rest.flows, rest.packets, rest.bytes), (10_000, 10_000, 10_000 * 46));
    assert!(analysis.flow_shortfall_bytes <= 46 * (10_000 / (MOST as u64 / 2) + 1));
    for flow in &flows {
        assert_eq!((flow.captured.packets, flow.paced[0].stream.packets), (10_000, 10_000));
        assert_eq!(flow.captured.scales[10].cv.unwrap().partial_cmp(&0.1), Some(std::cmp::Ordering::Less));
        assert!(flow.paced[0].cost.delay_max_s.unwrap() <= 1.02e-3);
    }
    assert_eq!(analysis.interfaces[0].captured.packets, 30_000);
}

#[test]
fn frames_that_must_be_understood_are_refused_and_else_counted() {
    let file = pcap(&spaced(10, 1000, 60), 147, true, false);
    let by_flow = Options { by_flow: true, ..Options::default() };
    let error = analysed(&file, &by_flow).unwrap_err();
    let said = error.to_string();
    assert!(
        said.starts_with(
            "interface 0 has frames of link type 147 (USER0), in which flows cannot be told apart"
        )
    );
    assert_eq!(said.lines().count(), 1);
    assert_eq!(analysed(&file, &Options::default()).unwrap().packets, 10);
}

#[test]
fn what_is_cut_off_is_analysed_as_far_as_it_goes() {
    let file = nanoseconds(&spaced(100, 1000, 60));
    let analysis = analysed(&file[..file.len() - 7], &options(&["edge 1 ms"])).unwrap();
    let broken = analysis.broken.unwrap();
    assert_eq!(broken.byte, (24 + 99 * 76) as u64);
    assert_eq!(broken.problem, "the capture ends within a packet, at byte 7548, after 99 packets");
    assert_eq!(analysis.interfaces[0].captured.packets, 99);
    assert_eq!(analysis.interfaces[0].paced[0].stream.packets, 99);
    assert!(matches!(
        analysed(&file[..30], &Options::default()),
        Err(AnalysisError::Capture(CaptureError::Broken { packets: 0, at: 24, .. }))
    ));
    assert_eq!(analysed(&file[..24], &Options::default()).unwrap().packets, 0);
}

#[test]
fn time_that_runs_backwards_stands_still() {
    let times = [5_000, 9_000, 2_000, 9_500];
    let packets: Vec<Packet> = times.map(|time| packet(EPOCH_NS + time, &[0; 60])).to_vec();
    let analysis = analysed(&nanoseconds(&packets), &options(&["none"])).unwrap();
    assert_eq!((analysis.backwards_packets, analysis.backwards_most_s), (1, 7e-6));
    let paced = packets_of(&paced(&nanoseconds(&packets), "none", Format::Pcap));
    assert_eq!(paced.iter().map(|p| p.0 - EPOCH_NS).collect::<Vec<_>>(), [5_000, 9_000, 9_000, 9_500]);
}

/// Two interfaces whose packets are mixed, the second a little behind.
fn two_interfaces() -> Vec<u8> {
    let named = |name: &[u8]| interface(1, &[option(2, name, false), option(9, &[9], false)], false);
    let mut file = [section(false), named(b"east"), named(b"west")].concat();
    for n in 0..500u64 {
        for (number, late) in [(0, 0), (1, 30_000)] {
            let time = EPOCH_NS + n * 50_000 - late;
            file.extend(enhanced(
                &Packet { interface: number, ..packet(time, &udp(1, 2, (3, 4), 100)) },
                false,
            ));
        }
    }
    file
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

#[test]
fn frames_of_two_link_types_need_a_pcapng() {
    let mut file = [section(false), interface(1, &[], false), interface(101, &[], false)].concat();
    for number in 0..2 {
        file.extend(enhanced(&Packet { interface: number, ..packet(5, &[0; 60]) }, false));
    }
    let capture = || Capture::read_from(Box::new(Cursor::new(file.clone()))).unwrap();
    let write = |format| {
        let writer = Writer::new(Box::new(Vec::new()), format);
        analyse(capture(), &options(&["none"]), Some(writer), 0, &Control::default())
    };
    assert!(write(Format::Pcapng).is_ok());
    assert!(
        matches!(write(Format::Pcap), Err(AnalysisError::Write(said)) if said.contains("name it .pcapng"))
    );
}

#[test]
fn it_stops_when_it_is_asked_to() {
    let control = Control::default();
    control.cancel();
    let capture = Capture::read_from(Box::new(Cursor::new(two_interfaces()))).unwrap();
    assert_eq!(analyse(capture, &Options::default(), None, 0, &control), Err(AnalysisError::Cancelled));
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
        for paced in analysis.interfaces.iter().flat_map(|group| &group.paced) {
            prop_assert_eq!(paced.stream.packets + paced.cost.dropped_packets, packets.len() as u64);
        }
        for shaper in pacers {
            let out = packets_of(&paced(&file, shaper, Format::Pcapng));
            prop_assert!(out.is_sorted_by_key(|packet| packet.0));
        }
    }
}
