//! Applications over TCP: times worked by hand, fixed points, bytes that all arrive.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::Span;
use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Network, RunOutput, Scenario};

fn network(text: &str) -> Network {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    scenario.network(1).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(text: &str) -> RunOutput {
    Engine::run(&network(text), &Control::default(), None).unwrap()
}

/// One link of 8 Mbit/s (1 us a byte) and 10 ms each way.
fn path(traffic: &str) -> String {
    format!(
        r#"
        duration = "100 s"
        [network]
        template = "path"
        links = [{{ name = "wire", rate = "8 Mbit/s", delay = "10 ms" }}]
        [[traffic]]
        {traffic}
        "#
    )
}

#[test]
fn one_call_takes_what_it_takes_on_an_empty_path() {
    // The request, 240 B with its header, is there after 240 us + 10 ms; its acknowledgement (40 B) and then 1500 B, 1500 B
    // and 140 B go back: a window of ten lets them follow one another. All in nanoseconds.
    let one = path(
        "kind = \"rpc\"\nrequest = \"200 B\"\nresponse = \"3020 B\"\ncalls = 1\ntcp = { profile = \"rfc\" }",
    );
    let output = run(&one);
    let expected = 240_000 + 10_000_000 + (40 + 1500 + 1500 + 140) * 1000 + 10_000_000;
    let transfers = &output.flow_rows[0].transfers;
    assert_eq!((transfers.len(), output.flows.transfers), (1, 1));
    assert_eq!((transfers[0].data_took().as_nanos(), transfers[0].bytes), (expected, 3220));
    // The handshake comes before the first byte, and is part of the call: 40 B there, 40 B back.
    let handshake = 2 * (40_000 + 10_000_000);
    assert_eq!((transfers[0].started.as_nanos(), transfers[0].data_from.as_nanos()), (0, handshake));
    let seconds = |nanos: u64| Some(Span::from_nanos(nanos).as_seconds());
    assert_eq!(output.flows.fct_mean_s, seconds(handshake + expected));
    assert_eq!(output.flows.fct_data_mean_s, seconds(expected));
    assert_eq!(output.flows.goodput_active_bps, Some(3220.0 * 8.0 / seconds(expected).unwrap()));
    // Payload that arrived: the request one way, the response the other.
    let bytes = |row: usize| (output.flow_rows[row].goodput_bps * 100.0 / 8.0).round() as u64;
    assert_eq!((bytes(0), bytes(1)), (200, 3020));
}

#[test]
fn a_kept_connection_keeps_its_window_from_call_to_call() {
    // 30 KB are 21 packets. A window of ten takes three round trips the first time (10, then 20 would do, but acknowledgements
    // come one by one); once it has grown they all leave together.
    let calls = path(
        "kind = \"rpc\"\nrequest = \"100 B\"\nresponse = \"30 KB\"\ncalls = 3\nthink = \"50 ms\"\ntcp = { profile = \"rfc\" }",
    );
    let output = run(&calls);
    let took: Vec<u64> =
        output.flow_rows[0].transfers.iter().map(|call| call.data_took().as_nanos()).collect();
    // Afterwards: request, and then 20 packets of 1500 B, and one of 840 B, back to back behind the acknowledgement.
    let together = 140_000 + 10_000_000 + (40 + 20 * 1500 + 840) * 1000 + 10_000_000;
    assert!(took[0] > together + 4_000_000, "{took:?}");
    assert_eq!(took[1..], [together, together]);
    // Each request leaves 50 ms after the response before it.
    let calls = &output.flow_rows[0].transfers;
    assert_eq!(calls[1].started.since(calls[0].finished()).as_nanos(), 50_000_000);
}

#[test]
fn a_new_connection_has_its_handshake_and_its_slow_start_and_a_kept_one_has_not() {
    let files = |connection: &str| {
        run(&path(&format!(
            "kind = \"closed-loop\"\nsize = \"30 KB\"\nthink = \"100 ms\"\nfiles = 4\nconnection = \"{connection}\"\ntcp = {{ profile = \"rfc\" }}"
        )))
    };
    let (new, kept) = (files("new"), files("kept"));
    let times = |output: &RunOutput| -> Vec<u64> {
        output.flow_rows[0].transfers.iter().map(|file| file.data_took().as_nanos()).collect()
    };
    let (new_times, kept_times) = (times(&new), times(&kept));
    assert_eq!(new_times, [new_times[0]; 4], "every file is a first file");
    assert_eq!(kept_times[0], new_times[0]);
    // A grown window: all leave together, and the last is acknowledged 40 us + 10 ms after it is there.
    let together = (20 * 1500 + 840) * 1000 + 10_000_000 + 40_000 + 10_000_000;
    assert_eq!(kept_times[1..], [together; 3]);
    // One SYN a connection; 21 packets a file.
    let sent = |output: &RunOutput| output.flow_rows[0].sent_packets;
    assert_eq!((sent(&new), sent(&kept)), (4 * 22, 1 + 4 * 21));
    let second = |output: &RunOutput| {
        let files = &output.flow_rows[0].transfers;
        let opening = files[1].data_from.since(files[1].started).as_nanos();
        (files[1].started.since(files[0].finished()).as_nanos(), opening)
    };
    let handshake = 2 * (40_000 + 10_000_000);
    assert_eq!((second(&new), second(&kept)), ((100_000_000, handshake), (100_000_000, 0)));
}

#[test]
fn what_is_left_of_an_old_connection_means_nothing_to_the_new_one() {
    // Every 50th packet or acknowledgement is lost, so that packets are sent twice and old ones arrive late; the files are
    // short, and there is no pause: new connections meet what old ones left.
    for (variant, seed) in [("reno", 1), ("newreno", 2), ("newreno", 3)] {
        let text = path(&format!(
            "kind = \"closed-loop\"\nsize = \"9 KB\"\ncount = 3\ntcp = {{ profile = \"rfc\", variant = \"{variant}\", min_rto = \"22 ms\", initial_rto = \"60 ms\" }}"
        )) + "[[drop]]\nlink = \"wire\"\nprobability = 0.02\n[[drop]]\nlink = \"wire.reverse\"\nprobability = 0.02\n";
        let network = Scenario::from_toml(&text).unwrap().network(seed).unwrap();
        let mut rows: Vec<TraceRow> = Vec::new();
        let traced = Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
        let plain = Engine::run(&network, &Control::default(), None).unwrap();
        assert_eq!(plain.flow_rows, traced.flow_rows);
        for (flow, row) in plain.flow_rows.iter().enumerate() {
            assert!(row.transfers.len() > 500 && row.retransmits > 50, "{row:?}");
            // Each file was delivered whole, once: what goodput counted is what the files held, but for the last.
            let delivered = (row.goodput_bps * 100.0 / 8.0).round() as u64;
            let files = row.transfers.len() as u64 * 9000;
            assert!((files..files + 9001).contains(&delivered), "{flow}: {delivered} of {files}");
        }
        // Packets of an old connection did arrive: the receiver says nothing to them.
        let data = rows.iter().filter(|row| row.event == TraceEvent::Receive && !row.is_ack).count();
        let acks = rows.iter().filter(|row| row.event == TraceEvent::Send && row.is_ack).count();
        assert!(data > acks, "{data} arrived, {acks} acknowledged");
    }
}

#[test]
fn users_who_do_not_fill_the_link_get_think_plus_transfer_and_those_who_do_share_it() {
    let users = |count: u32| {
        run(&format!(
            r#"
            duration = "400 s"
            warmup = "40 s"
            [network]
            template = "dumbbell"
            core = {{ rate = "20 Mbit/s", delay = "5 ms", buffer = "200 packets" }}
            access = {{ hosts = {count}, rate = "2 Mbit/s", delay = "1 ms" }}
            [[traffic]]
            kind = "closed-loop"
            size = {{ exponential = "50 KB" }}
            think = {{ exponential = "1 s" }}
            connection = "kept"
            tcp = {{ profile = "rfc" }}
            start = "0 s .. 2 s"
            "#
        ))
    };
    // Far below saturation: a cycle is the time to think and the transfer, and every user has one after the other.
    let few = users(10);
    let cycle = 1.0 + few.flows.fct_mean_s.unwrap();
    let expected = 10.0 * 360.0 / cycle;
    let transfers = few.flows.transfers as f64;
    assert!((transfers / expected - 1.0).abs() < 0.04, "{transfers}, not {expected}");
    assert!((few.flows.goodput_mean_bps.unwrap() * cycle / (50e3 * 8.0) - 1.0).abs() < 0.04);
    // A transfer takes about a round trip and its bits over its own access link.
    let own = 0.014 + 50e3 * 8.0 / 2e6;
    assert!((few.flows.fct_mean_s.unwrap() / own - 1.0).abs() < 0.15, "{:?}", few.flows.fct_mean_s);
    // Far above: the link is full, whatever they think.
    let many = users(100);
    let core = &many.links.iter().find(|(name, _)| name == "core").unwrap().1;
    assert!(core.utilisation > 0.97, "{}", core.utilisation);
    let cycle = 1.0 + many.flows.fct_mean_s.unwrap();
    assert!((many.flows.transfers as f64 / (100.0 * 360.0 / cycle) - 1.0).abs() < 0.04);
}

#[test]
fn idle_users_cost_nothing_but_their_timer() {
    let text = path(
        "kind = \"closed-loop\"\nsize = \"1 KB\"\nthink = \"1000 s\"\ncount = 50\ntcp = { profile = \"rfc\" }",
    );
    let network = network(&text);
    let mut engine = Engine::new(&network, None);
    engine.run_until(paceline_core::Instant::from_nanos(90_000_000_000), &Control::default()).unwrap();
    let census = engine.census();
    // A SYN, a packet, and their acknowledgements, each.
    assert_eq!((census.sent, census.in_flight), (50 * 4, 0));
}

#[test]
fn a_lost_syn_is_part_of_the_time_that_a_transfer_takes() {
    for (kind, at) in [("bulk", 0), ("bulk", 3), ("closed-loop", 0)] {
        let more = if kind == "bulk" { format!("start = \"{at} s\"") } else { "files = 1".to_owned() };
        let text =
            path(&format!("kind = \"{kind}\"\nsize = \"1460 B\"\n{more}\ntcp = {{ profile = \"rfc\" }}"));
        let output = run(&(text + "[[drop]]\nlink = \"wire\"\narrivals = [0]\n"));
        let transfer = output.flow_rows[0].transfers[0];
        // A second, the handshake, the packet and its acknowledgement; the first byte leaves after the handshake.
        let (handshake, data) = (2 * (40_000 + 10_000_000), 1_500_000 + 40_000 + 2 * 10_000_000);
        assert_eq!(transfer.started.as_nanos(), at * 1_000_000_000);
        assert_eq!(transfer.took.as_nanos(), 1_000_000_000 + handshake + data, "{kind}");
        assert_eq!(transfer.data_took().as_nanos(), data);
        assert_eq!(output.flows.fct_p99_s, Some(transfer.took.as_seconds()));
        assert_eq!(output.flows.fct_data_p99_s, Some(transfer.data_took().as_seconds()));
    }
}
