//! What is counted of a capture.

use super::*;
use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Scenario};

#[test]
fn a_constant_rate_has_no_burstiness() {
    let analysis =
        analysed(&nanoseconds(&spaced(100_000, 20_000, 1250)), &options(&["none", "edge 1 ms"])).unwrap();
    let group = &analysis.interfaces[0];
    assert_eq!(group.captured.packets, 100_000);
    let mean = 100_000.0 * 10_000.0 / (99_999.0 * 20e-6);
    assert!((group.captured.rate_mean_bps.unwrap() - mean).abs() < 1.0);
    for scale in group.captured.scales.iter().filter(|scale| scale.scale_s > 75e-6) {
        assert_eq!(scale.cv, Some(0.0));
        assert!((scale.peak_bps - 500e6).abs() < 1.0);
    }
    assert!(group.captured.scales.len() > 14);
    assert_eq!((group.captured.bursts.count, group.captured.burst_most_bytes), (1, 125_000_000));
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
        assert_eq!(flow.captured.scales[9].cv.unwrap().partial_cmp(&0.1), Some(std::cmp::Ordering::Less));
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

#[test]
fn frames_of_two_link_types_need_a_pcapng() {
    let mut file = [section(false), interface(1, &[], false), interface(101, &[], false)].concat();
    for number in 0..2 {
        file.extend(enhanced(&Packet { interface: number, ..packet(5, &[0; 60]) }, false));
    }
    let capture = || Capture::read_from(Box::new(Cursor::new(file.clone()))).unwrap();
    let write = |format| {
        let writer = Writer::new(Box::new(Vec::new()), Form::plain(format)).unwrap();
        analyse(capture(), &options(&["none"]), Some(writer), |_| true)
    };
    assert!(write(Format::Pcapng).is_ok());
    assert!(
        matches!(write(Format::Pcap), Err(AnalysisError::Write(said)) if said.contains("name it .pcapng"))
    );
}

#[test]
fn it_stops_when_it_is_asked_to() {
    let capture = Capture::read_from(Box::new(Cursor::new(two_interfaces()))).unwrap();
    assert_eq!(analyse(capture, &Options::default(), None, |_| false), Err(AnalysisError::Cancelled));
}
