//! A scenario laid open says what its network is.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_sim::Scenario;

const TEXT: &str = r#"
    duration = "10 s"
    network.template = "dumbbell"
    network.core = { rate = "10 Mbit/s", delay = "10 ms", buffer = "20 packets", reverse_buffer = "3 KB" }
    network.edge = { count = 10, rate = "20 Mbit/s", delay = "1 ms .. 2 ms", pacer_buffer = "50 packets" }
    network.access = { per_edge = 4, rate = "8 Mbit/s .. 12 Mbit/s", delay = "1 ms .. 5 ms" }
    traffic = [
        { name = "a", kind = "bulk", tcp = { profile = "ns2" }, start = "0 s .. 1 s" },
        { name = "b.c", kind = "poisson", rate = "1 kbit/s", packet = "100 B", stop = "5 s" },
    ]
    pacing = [
        { method = "edge", delay = "10 ms", share = 0.3 },
        { method = "host", rule = "linux", gain = 2, share = 0.5 },
    ]
"#;

#[test]
fn it_agrees_with_the_network() {
    let scenario = Scenario::from_toml(TEXT).unwrap();
    for seed in [1, 2] {
        let (seen, network) = (scenario.inspect(seed).unwrap(), scenario.network(seed).unwrap());
        assert_eq!(seen.core, network.core);
        assert_eq!((seen.links.len(), seen.flows.len()), (network.links.len(), network.flows.len()));
        for (link, spec) in seen.links.iter().zip(&network.links) {
            assert_eq!(
                (link.name.as_str(), link.rate_bps),
                (spec.name.as_str(), spec.rate.bits_per_second())
            );
            assert_eq!(link.delay_ns, spec.delay.as_nanos());
            assert_eq!(link.pacer.is_some(), spec.fitting.pacer.is_some());
            let plan = &seen.plans[link.plan as usize];
            assert!(plan.rate_bps[0] <= link.rate_bps && link.rate_bps <= plan.rate_bps[1], "{}", link.name);
            assert!(plan.delay_ns[0] <= link.delay_ns && link.delay_ns <= plan.delay_ns[1], "{}", link.name);
        }
        for (flow, spec) in seen.flows.iter().zip(&network.flows) {
            assert_eq!((&flow.forward[..], &flow.reverse[..]), (&spec.forward[..], &spec.reverse[..]));
            assert_eq!((flow.start_ns, flow.paced), (spec.start.as_nanos(), spec.paced));
            let traffic = &seen.traffics[flow.traffic as usize];
            assert!(flow.name.starts_with(&format!("{}.", traffic.name)));
        }
    }
}

#[test]
fn it_names_buffers_pacers_and_shares() {
    let seen = Scenario::from_toml(TEXT).unwrap().inspect(1).unwrap();
    let core = &seen.links[seen.core as usize];
    assert_eq!((core.buffer.packets, core.buffer.counts), (Some(20), "waiting"));
    let plan = &seen.plans[core.plan as usize];
    assert_eq!((plan.path.as_str(), plan.buffer_key), ("network.core", "buffer"));
    let back = seen.links.iter().find(|link| link.name == "core.reverse").unwrap();
    assert_eq!(back.buffer.bytes, Some(3000));
    assert_eq!(seen.plans[back.plan as usize].buffer_key, "reverse_buffer");

    let [edge, host] = seen.pacings.as_slice() else { panic!("two methods") };
    assert_eq!(
        (edge.path.as_str(), edge.on_hosts, edge.candidates, edge.chosen.len()),
        ("pacing[0]", false, 10, 3)
    );
    assert_eq!(
        (host.path.as_str(), host.on_hosts, host.candidates, host.chosen.len()),
        ("pacing[1]", true, 40, 20)
    );
    let pacer = seen.links[edge.chosen[0] as usize].pacer.as_ref().unwrap();
    assert_eq!((pacer.method, pacer.parameters.as_str()), ("edge", "delay = 10 ms, release = start"));
    assert_eq!(pacer.packets, Some(50));
    let rules: Vec<_> = seen.tcps.iter().map(|tcp| (tcp.rule, tcp.gain)).collect();
    assert!(rules.contains(&(Some("linux"), 2.0)) && rules.contains(&(None, 1.0)), "{rules:?}");
    let source = seen.flows.iter().find(|flow| flow.name == "b.c.0").unwrap();
    assert_eq!((source.rate_bps, source.stop_ns, source.tcp), (Some(1000), Some(5_000_000_000), None));
}
