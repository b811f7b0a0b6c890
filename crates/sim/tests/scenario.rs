//! Scenarios as they are read: what the networks are that they become.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::queue::{Counts, Limit};
use paceline_core::{Instant, Rate, Span};
use paceline_sim::network::{DropRule, FlowKind, LinkSpec, Network, PortPacing, ProbeKind};
use paceline_sim::workload::open_loop::Timing;
use paceline_sim::{Scenario, scenario::ScenarioError};
use paceline_tcp::{Config, PacingRule, Profile, Variant};

const EDGE_VS_HOST: &str = include_str!("../../../scenarios/edge-vs-host.toml");

/// A small dumbbell with edges, to which a test adds what it is about.
fn small(more: &str) -> Scenario {
    let text = r#"
        duration = "10 s"
        network.template = "dumbbell"
        network.core = { rate = "10 Mbit/s", delay = "10 ms", buffer = "20 packets" }
        network.edge = { count = 10, rate = "20 Mbit/s", delay = "1 ms .. 2 ms" }
        network.access = { per_edge = 4, rate = "8 Mbit/s .. 12 Mbit/s", delay = "1 ms .. 5 ms" }
        traffic = [{ kind = "bulk", tcp = { profile = "ns2" }, start = "0 s .. 1 s" }]
    "#;
    Scenario::from_toml(&format!("{text}\n{more}")).unwrap()
}

fn read(text: &str, seed: u64) -> Result<Network, ScenarioError> {
    Scenario::from_toml(text)?.network(seed)
}

fn link<'a>(network: &'a Network, name: &str) -> &'a LinkSpec {
    network.links.iter().find(|link| link.name == name).unwrap_or_else(|| panic!("no link {name}"))
}

fn names(network: &Network, links: &[u32]) -> String {
    let names: Vec<&str> = links.iter().map(|link| network.links[*link as usize].name.as_str()).collect();
    names.join(" ")
}

fn paced_links(network: &Network) -> Vec<&str> {
    network.links.iter().filter(|link| link.fitting.pacer.is_some()).map(|link| link.name.as_str()).collect()
}

#[test]
fn the_demo_has_the_round_trip_times_of_its_paper() {
    let scenario = Scenario::from_toml(EDGE_VS_HOST).unwrap();
    let network = scenario.network(1).unwrap();
    assert_eq!((network.hosts.len(), network.flows.len()), (2000, 1000));
    assert_eq!(network.links.len(), 2 * (2 * 1010 + 1));
    for flow in &network.flows {
        let way =
            |links: &[u32]| links.iter().map(|l| network.links[*l as usize].delay.as_nanos()).sum::<u64>();
        let rtt = way(&flow.forward) + way(&flow.reverse);
        assert_eq!((flow.forward.len(), flow.reverse.len()), (5, 5));
        assert!((224_000_000..=280_000_000).contains(&rtt), "{rtt}");
    }
    let core = link(&network, "core");
    assert_eq!(
        (core.fitting.buffer.limit, core.fitting.buffer.counts),
        (Some(Limit::Bytes(5000)), Counts::Ns2)
    );
    assert_eq!(link(&network, "core.reverse").fitting.buffer.limit, None);
    let described = scenario.describe(1).unwrap();
    assert_eq!((described.rtt_min_s, described.rtt_max_s), (0.224, 0.280));
    assert_eq!(described.links.iter().map(|group| group.count).collect::<Vec<_>>(), [1000, 10, 1, 10, 1000]);
}

#[test]
fn a_dumbbells_flow_goes_over_its_own_links_and_back() {
    let network = small("").network(1).unwrap();
    let flow = &network.flows[17];
    assert_eq!(
        (flow.name.as_str(), network.hosts[flow.source as usize].name.as_str()),
        ("bulk.17", "left.17")
    );
    assert_eq!(names(&network, &flow.forward), "access.l.17 edge.l.4 core edge.r.4 access.r.17");
    assert_eq!(
        names(&network, &flow.reverse),
        "access.r.17.reverse edge.r.4.reverse core.reverse edge.l.4.reverse access.l.17.reverse"
    );
    let (there, back) = (link(&network, "edge.l.4"), link(&network, "edge.l.4.reverse"));
    assert_eq!((there.rate, there.delay), (back.rate, back.delay));
    assert_ne!(there.delay, link(&network, "edge.r.4").delay, "the right side has draws of its own");
}

#[test]
fn another_seed_draws_anew_and_the_same_seed_does_not() {
    let scenario = small("");
    let drawn = |seed| format!("{:?}", scenario.network(seed).unwrap());
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

#[test]
fn draws_belong_to_entities_whatever_else_there_is() {
    let alone = small("").network(7).unwrap();
    let settings =
        "pacing = { method = \"edge\", delay = \"10 ms\", share = 0.5 }\nnetwork.receivers = 3\nseed = 9";
    let beside = small(settings).network(7).unwrap();
    for name in ["core", "edge.l.9", "edge.r.2", "access.l.39", "access.r.2"] {
        let (a, b) = (link(&alone, name), link(&beside, name));
        assert_eq!((a.rate, a.delay), (b.rate, b.delay), "{name}");
    }
    for (a, b) in alone.flows.iter().zip(&beside.flows) {
        assert_eq!((&a.name, a.start), (&b.name, b.start));
    }
}

#[test]
fn edge_pacing_stands_on_the_edge_links_or_on_access_links_without_edges() {
    let network = small("pacing = \"edge 10 ms\"").network(1).unwrap();
    let expected: Vec<String> = (0..10).map(|k| format!("edge.l.{k}")).collect();
    assert_eq!(paced_links(&network), expected);
    assert!(network.flows.iter().all(|flow| flow.paced));

    let network = small("pacing = { method = \"edge 10 ms\", acks = true }").network(1).unwrap();
    let back = (0..10).map(|k| format!("edge.r.{k}.reverse"));
    assert_eq!(paced_links(&network), expected.into_iter().chain(back).collect::<Vec<_>>());

    let text = r#"
        duration = "1 s"
        pacing = "edge delay = 10 ms, release = finish"
        traffic = [{ kind = "bulk" }]
        [network]
        template = "dumbbell"
        core = { rate = "10 Mbit/s", delay = "10 ms" }
        access = [{ hosts = 1, rate = "1 Mbit/s", delay = "1 ms" }, { hosts = 2, rate = "1 Gbit/s", delay = "1 ms" }]
    "#;
    let network = read(text, 1).unwrap();
    assert_eq!(paced_links(&network), ["access.l.0", "access.l.1", "access.l.2"]);
}

#[test]
fn a_scenario_that_says_nothing_of_tcp_has_what_a_host_runs_today() {
    let tcp_of = |traffic: &str| {
        let text = format!(
            "duration = \"1 s\"\ntraffic = [{{ {traffic} }}]\n[network]\ntemplate = \"dumbbell\"\n\
             core = {{ rate = \"10 Mbit/s\", delay = \"10 ms\" }}\n\
             access = {{ hosts = 1, rate = \"1 Gbit/s\", delay = \"1 ms\" }}"
        );
        read(&text, 1).unwrap().flows[0].kind.tcp().unwrap().clone()
    };
    let linux = Config::new(Profile::Linux);
    assert_eq!(linux.variant, Variant::Cubic);
    assert_eq!(tcp_of("kind = \"bulk\""), linux);
    assert_eq!(tcp_of("kind = \"closed-loop\", size = \"10 KB\""), linux);
    assert_eq!(tcp_of("kind = \"bulk\", tcp = { timestamps = false }").delayed_ack, linux.delayed_ack);
    for (name, profile) in Profile::ALL {
        assert_eq!(
            tcp_of(&format!("kind = \"bulk\", tcp = {{ profile = \"{name}\" }}")),
            Config::new(profile)
        );
    }
}

#[test]
fn a_share_is_rounded_drawn_and_grows_without_moving() {
    let paced = |share: f64, seed| {
        let text = format!("pacing = {{ method = \"host\", share = {share} }}");
        let network = small(&text).network(seed).unwrap();
        network.flows.iter().filter(|flow| flow.paced).map(|flow| flow.source).collect::<Vec<_>>()
    };
    assert_eq!(paced(0.0, 1).len(), 0);
    assert_eq!(paced(0.0125, 1).len(), 1, "half a host is one");
    assert_eq!(paced(0.3, 1).len(), 12);
    assert_eq!(paced(1.0, 1).len(), 40);
    assert!(paced(0.3, 1).iter().all(|host| paced(0.5, 1).contains(host)));
    assert_ne!(paced(0.3, 1), paced(0.3, 2));

    let network = small("pacing = { method = \"edge\", delay = \"1 ms\", share = 0.3 }").network(1).unwrap();
    assert_eq!(paced_links(&network).len(), 3);
    assert_eq!(network.flows.iter().filter(|flow| flow.paced).count(), 12);
}

#[test]
fn host_and_port_pacing_reach_the_senders() {
    let rule_of = |network: &Network| {
        let pacing = network.flows[0].kind.tcp().and_then(|tcp| tcp.pacing);
        pacing.map(|pacing| (pacing.rule, pacing.gain, pacing.jitter))
    };
    let network = small("").network(1).unwrap();
    assert_eq!(rule_of(&network), None);
    assert!(network.flows.iter().all(|flow| !flow.paced));
    assert_eq!(rule_of(&small("pacing = \"host\"").network(1).unwrap()), Some((PacingRule::Wei, 1.0, 0.0)));
    let given = "pacing = { method = \"host\", rule = \"ideal\", gain = 1.25, jitter = 0.1 }";
    assert_eq!(rule_of(&small(given).network(1).unwrap()), Some((PacingRule::Ideal, 1.25, 0.1)));

    let network = small("pacing = { method = \"port\", gain = 2, cap = \"3 Mbit/s\" }").network(1).unwrap();
    assert_eq!(rule_of(&network), Some((PacingRule::Wei, 1.0, 0.0)));
    let ports: Vec<_> = network.hosts.iter().filter_map(|host| host.port.as_deref()).collect();
    assert_eq!(ports, [&PortPacing { gain: 2.0, cap: Some(Rate::from_bits_per_second(3_000_000)) }; 40]);
    let network =
        small("pacing = { method = \"port\", per_flow = false, at = \"left.3\" }").network(1).unwrap();
    assert_eq!(rule_of(&network), None);
    assert_eq!(network.flows.iter().filter(|flow| flow.paced).count(), 1);
}

#[test]
fn several_methods_stand_side_by_side() {
    let two = r#"
        [[pacing]]
        method = "token-bucket"
        rate = "5 Mbit/s"
        burst = "10 KB"
        at = ["edge.l.*", "edge.r.0.reverse"]
        [[pacing]]
        method = "host"
        at = ["left.1", "left.2"]
    "#;
    let network = small(two).network(1).unwrap();
    assert_eq!(paced_links(&network).len(), 11);
    let host_paced = |kind: &FlowKind| matches!(kind, FlowKind::Bulk { tcp, .. } if tcp.pacing.is_some());
    assert_eq!(network.flows.iter().filter(|flow| host_paced(&flow.kind)).count(), 2);
}

#[test]
fn a_method_of_none_keeps_the_parameters_of_the_others() {
    let network = small("pacing = { method = \"none\", delay = \"10 ms\", share = 0.5 }").network(1).unwrap();
    assert_eq!(paced_links(&network).len(), 0);
}

#[test]
fn buffers_have_the_size_that_is_written() {
    // 50 Mbit/s and 2 (10 + 20 + 1) ms: 387,500 bytes of bandwidth-delay product.
    let text = |buffer: &str| {
        format!(
            r#"
            duration = "1 s"
            traffic = [{{ kind = "bulk", tcp = {{ profile = "rfc" }} }}]
            [network]
            template = "path"
            links = [
              {{ rate = "1 Gbit/s", delay = "10 ms", buffer = "0 B" }},
              {{ name = "slow", rate = "50 Mbit/s", delay = "20 ms", buffer = "{buffer}", counts = "waiting+service" }},
              {{ rate = "1 Gbit/s", delay = "1 ms", reverse_buffer = "10 packets" }},
            ]
            "#
        )
    };
    let network = read(&text("0.1 BDP"), 1).unwrap();
    let slow = link(&network, "slow");
    assert_eq!(slow.fitting.buffer.limit, Some(Limit::Bytes(38_750)));
    assert_eq!(slow.fitting.buffer.counts, Counts::WaitingAndService);
    assert_eq!(network.core, 1);
    assert_eq!(link(&network, "link.0").fitting.buffer.limit, Some(Limit::Bytes(0)), "no buffer at all");
    assert_eq!(link(&network, "link.2").fitting.buffer.limit, None);
    assert_eq!(link(&network, "link.2.reverse").fitting.buffer.limit, Some(Limit::Packets(10)));
    let network = read(&text("7 packets"), 1).unwrap();
    assert_eq!(link(&network, "slow").fitting.buffer.limit, Some(Limit::Packets(7)));
}

#[test]
fn traffic_becomes_flows_in_the_order_of_the_file() {
    let traffic = r#"
        [[traffic]]
        kind = "cbr"
        count = 2
        from = ["left.3", "left.5"]
        to = "right.0"
        packet = "1000 B"
        header = "40 B"
        rate = "1 Mbit/s .. 2 Mbit/s"
        stop = "5 s"
        [[traffic]]
        kind = "bulk"
        from = "right.7"
        size = "1 MB"
        tcp = { profile = "rfc", payload = "1000 B", max_window = "64 KB", syn = false }
    "#;
    let text = r#"
        duration = "10 s"
        network.template = "dumbbell"
        network.core = { rate = "10 Mbit/s", delay = "10 ms" }
        network.access = { hosts = 8, rate = "8 Mbit/s", delay = "1 ms" }
    "#;
    let network = read(&format!("{text}{traffic}"), 1).unwrap();
    let ends = |i: usize| {
        let flow = &network.flows[i];
        let host = |id: u32| network.hosts[id as usize].name.clone();
        format!("{} {} {}", flow.name, host(flow.source), host(flow.sink))
    };
    let all: Vec<String> = (0..network.flows.len()).map(ends).collect();
    assert_eq!(
        all,
        [
            "cbr.0 left.3 right.0",
            "cbr.1 left.3 right.0",
            "cbr.2 left.5 right.0",
            "cbr.3 left.5 right.0",
            "bulk.0 right.7 left.7"
        ]
    );
    let FlowKind::OpenLoop { bytes, header, timing, stop, .. } = &network.flows[0].kind else { panic!() };
    assert_eq!((*bytes, *header, *stop), (1000, 40, Some(Instant::from_nanos(5_000_000_000))));
    let Timing::Constant(rate) = **timing else { panic!("{timing:?}") };
    assert!((1_000_000..=2_000_000).contains(&rate.bits_per_second()));
    assert!(network.flows[0].reverse.is_empty());
    let FlowKind::Bulk { tcp, packets } = &network.flows[4].kind else { panic!() };
    assert_eq!((tcp.max_window, tcp.syn, *packets), (64, None, Some(1000)));
    assert_eq!(
        names(&network, &network.flows[4].forward),
        "access.r.7.reverse core.reverse access.l.7.reverse"
    );
}

#[test]
fn receivers_are_shared_in_turn_and_spread_over_the_edges() {
    let network = small("network.receivers = 10").network(1).unwrap();
    assert_eq!(network.hosts.len(), 50);
    assert_eq!(names(&network, &network.flows[13].forward), "access.l.13 edge.l.3 core edge.r.3 access.r.3");
    assert_eq!(names(&network, &network.flows[39].forward), "access.l.39 edge.l.9 core edge.r.9 access.r.9");
}

#[test]
fn without_probes_the_core_and_the_first_edge_are_watched() {
    let network = small("").network(1).unwrap();
    let seen: Vec<String> = network
        .probes
        .iter()
        .map(|probe| {
            let kind = match probe.what {
                ProbeKind::Queue { every } => format!("every {every}"),
                ProbeKind::Departures => "departures".to_owned(),
            };
            format!("{} {kind} {} {}", network.links[probe.link as usize].name, probe.from, probe.to)
        })
        .collect();
    assert_eq!(
        seen,
        ["core every 5 ms 0 ns 10 s", "core departures 9.7 s 10 s", "edge.l.0 departures 9.7 s 10 s"]
    );
    let chosen = "probes = { departures = { links = \"edge.*.3\", from = \"1 s\" } }";
    assert_eq!(small(chosen).network(1).unwrap().probes.len(), 2);
    assert_eq!(small("probes = {}").network(1).unwrap().probes.len(), 0);
}

#[test]
fn large_networks_report_on_links_that_matter() {
    let reported = |more: &str| -> Vec<String> {
        let network = small(more).network(1).unwrap();
        network
            .links
            .into_iter()
            .filter(|link| link.fitting.reported)
            .map(|link| link.name.to_string())
            .collect()
    };
    assert_eq!(reported("").len(), 2 * 21);
    let with_drop = reported("drop = [{ link = \"access.l.5\", arrivals = [2, 1, 1] }]");
    assert_eq!((with_drop.len(), with_drop.contains(&"access.l.5".to_owned())), (43, true));
    let drops = small("drop = [{ link = \"core\", flow = \"bulk.3\", arrivals = [2, 1, 1] }]")
        .network(1)
        .unwrap()
        .drops;
    assert!(matches!(&drops[0].rule, DropRule::Arrivals(numbers) if *numbers == [1, 2]));
    assert_eq!(drops[0].flow, Some(3));
}

#[test]
fn durations_and_seeds_are_kept() {
    let scenario = small("warmup = \"2 s\"\nseed = 5\ntitle = \"small\"");
    assert_eq!(
        (scenario.duration(), scenario.warmup()),
        (Span::from_millis(10_000), Span::from_millis(2000))
    );
    assert_eq!((scenario.seed(), scenario.title(), scenario.hosts()), (5, "small", 80));
    let network = scenario.network(6).unwrap();
    assert_eq!((network.seed, network.warmup), (6, Span::from_millis(2000)));
}
