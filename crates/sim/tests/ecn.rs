//! TCP with explicit congestion notification over links that mark: what it does to losses, windows and queues.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use paceline_sim::output::RunOutput;
use paceline_sim::{Control, Engine, Method, Scenario};

/// `flows` connections over 100 Mbit/s and a round trip of 10 ms.
fn scenario(flows: u32, queue: &str, tcp: &str) -> String {
    format!(
        "duration = \"10 s\"\nwarmup = \"3 s\"\n[network]\ntemplate = \"dumbbell\"\n\
        core = {{ rate = \"100 Mbit/s\", delay = \"4 ms\", buffer = \"500 packets\", queue = {queue} }}\n\
        access = {{ hosts = {flows}, rate = \"1 Gbit/s\", delay = \"0.5 ms\" }}\n\
        [[traffic]]\nkind = \"bulk\"\nstart = \"0 s .. 100 ms\"\ntcp = {{ {tcp} }}\n"
    )
}

fn run(text: &str, method: Method) -> RunOutput {
    let network = Scenario::from_toml(text).unwrap().network(1).unwrap();
    Engine::run_by(&network, method, 1, &Control::default(), None).unwrap()
}

/// Marks everything that arrives while `packets` of 1500 B wait, as a switch does for DCTCP.
fn step(packets: u32) -> String {
    let thresh = packets * 1500;
    format!(
        "{{ discipline = \"red\", thresh = \"{thresh} B\", maxthresh = \"{} B\", q_weight = 1, max_p = 1, ecn = \"always\", \
        mean_packet = \"1500 B\", gentle = \"no\", wait = \"no\" }}",
        thresh + 1
    )
}

const CODEL: &str = "\"codel\"";

#[test]
fn marks_take_the_place_of_drops() {
    for (profile, variant) in
        [("rfc", "newreno"), ("rfc", "rfc6675"), ("rfc", "cubic"), ("linux", "cubic"), ("ns2", "reno")]
    {
        let tcp = |ecn| {
            format!(
                "profile = \"{profile}\", variant = \"{variant}\", ecn = \"{ecn}\", max_window = \"1000 packets\""
            )
        };
        let [with, without] =
            ["rfc3168", "off"].map(|ecn| run(&scenario(4, CODEL, &tcp(ecn)), Method::Reference));
        let [marks, drops] = [&with, &without].map(|output| {
            let core = &output.links.iter().find(|(name, _)| name == "core").unwrap().1;
            let causes = core.causes.as_ref().unwrap();
            (causes.marked_packets.unwrap(), causes.early_drops.unwrap(), core.utilisation)
        });
        let name = format!("{profile} {variant}: {marks:?} {drops:?}");
        assert!(marks.0 > 10 && marks.1 == 0, "{name}");
        assert!(drops.0 == 0 && drops.1 > 10, "{name}");
        assert!(marks.2 > 0.9 && drops.2 > 0.85 && marks.2 > drops.2 - 0.05, "{name}");
        assert_eq!(with.flows.retransmits, Some(0), "{name}");
        assert!(without.flows.retransmits > Some(10), "{name}");
    }
}

/// M. Alizadeh et al., "Data center TCP (DCTCP)" (SIGCOMM 2010), section 3.3: N synchronised flows of window W* = (C RTT + K) / N at
/// the threshold K; alpha^2 (1 - alpha / 4) = (2 W* + 1) / (W* + 1)^2; the queue swings from K + N down by N (W* + 1) alpha / 2.
#[test]
fn dctcp_keeps_the_queue_at_the_threshold() {
    for (flows, threshold) in [(1_u32, 30_u32), (2, 20), (2, 40), (5, 40)] {
        let tcp = "profile = \"rfc\", variant = \"dctcp\", payload = \"1460 B\"";
        let output = run(&scenario(flows, &step(threshold), tcp), Method::Reference);
        let core = &output.links.iter().find(|(name, _)| name == "core").unwrap().1;
        let (n, k) = (f64::from(flows), f64::from(threshold));
        let bdp = 100e6 * 10e-3 / 8.0 / 1500.0;
        let window = (bdp + k) / n;
        let right = (2.0 * window + 1.0) / (window + 1.0).powi(2);
        let mut alpha = 1.0_f64;
        for _ in 0..100 {
            alpha = (right / (1.0 - alpha / 4.0)).sqrt();
        }
        let swing = n * (window + 1.0) * alpha / 2.0;
        let expected = k + n - swing / 2.0;
        let mean = core.queue_mean_bytes.unwrap() / 1500.0;
        let name =
            format!("{flows} flows, K = {threshold}: mean {mean:.1}, expected {expected:.1}, {core:?}");
        assert!(core.utilisation > 0.97, "{name}");
        assert_eq!(core.dropped_packets, 0, "{name}");
        assert!((mean - expected).abs() < 0.2 * expected, "{name}");
    }
}

#[test]
fn both_engines_agree() {
    for tcp in [
        "ecn = \"rfc3168\"",
        "variant = \"dctcp\"",
        "profile = \"ns2\", variant = \"sack1\", ecn = \"rfc3168\"",
        "profile = \"rfc\", variant = \"dctcp\", delayed_ack = \"40 ms\"",
    ] {
        for queue in [CODEL, "\"dualpi2\"", "\"fq-codel\"", &step(10)] {
            let text = scenario(7, queue, tcp).replace("10 s", "3 s").replace("3 s\"\n[net", "1 s\"\n[net");
            let [reference, batched] = [Method::Reference, Method::Windowed].map(|method| run(&text, method));
            assert_eq!(
                format!("{:?}", reference.flow_rows),
                format!("{:?}", batched.flow_rows),
                "{tcp} {queue}"
            );
            assert_eq!(format!("{:?}", reference.links), format!("{:?}", batched.links), "{tcp} {queue}");
        }
    }
}
