//! Queues that tell packets by their classes, in whole networks: waiting times and shares by theory, what results say of each class, and that
//! both engines say it.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use paceline_sim::output::{ClassStatistics, LinkStatistics, RunOutput};
use paceline_sim::trace::TraceRow;
use paceline_sim::{Control, Engine, Method, Scenario};

fn run(text: &str, method: Method) -> RunOutput {
    let network = Scenario::from_toml(text).unwrap().network(1).unwrap();
    Engine::run_by(&network, method, 1, &Control::default(), None).unwrap()
}

fn link(output: &RunOutput) -> &LinkStatistics {
    &output.links.iter().find(|(name, _)| name == "link.0").unwrap().1
}

/// A link of 8 Mbit/s, a byte a microsecond, and sources of these kinds, classes, sizes (bytes) and rates (kbit/s).
fn scenario(queue: &str, seconds: u32, sources: &[(&str, u32, u32, u32)]) -> String {
    let mut text = format!(
        "duration = \"{seconds} s\"\nwarmup = \"1 s\"\n[network]\ntemplate = \"path\"\n\
        links = [{{ rate = \"8 Mbit/s\", delay = \"1 ms\", ties = \"departure\", {queue} }}]\n[probes]\n"
    );
    for (number, (kind, class, bytes, rate)) in sources.iter().enumerate() {
        text += &format!(
            "[[traffic]]\nname = \"t{number}\"\nkind = \"{kind}\"\nclass = {class}\npacket = \"{bytes} B\"\nrate = \"{rate} kbit/s\"\n"
        );
    }
    text
}

/// By Cobham's formula (1954) a packet of class k waits W0 / ((1 - load above k) (1 - load from k on)); of fifty runs' worth of packets the
/// mean is within 2 % of it, and what waits is that times the rate (Little).
#[test]
fn classes_wait_as_long_as_cobham_says() {
    let sources = [("poisson", 0, 1000, 2400), ("poisson", 1, 500, 1600), ("poisson", 2, 1000, 1600)];
    let output = run(&scenario("queue = \"priority\"", 2_000, &sources), Method::Auto);
    let link = link(&output);
    let left: f64 =
        sources.iter().map(|(_, _, bytes, kbps)| f64::from(bytes * kbps) / 8e3 * 1e-6 / 2.0).sum();
    let load = |from: u32| -> f64 {
        sources.iter().filter(|(_, class, ..)| *class >= from).map(|(.., kbps)| f64::from(*kbps) / 8e3).sum()
    };
    for (flow, (_, class, bytes, kbps)) in output.flow_rows.iter().zip(sources) {
        let expected = left / ((1.0 - load(class + 1)) * (1.0 - load(class)));
        let delay = flow.network_delay_sum_ns as f64 / flow.received_packets as f64 * 1e-9;
        let wait = delay - 1e-3 - f64::from(bytes) * 1e-6;
        assert!((wait / expected - 1.0).abs() < 0.02, "class {class}: {wait} s, not {expected}");
        let ClassStatistics { queue_mean_bytes, dropped_packets, .. } = link.classes[class as usize];
        let little = f64::from(kbps) * 1e3 / 8.0 * expected;
        assert!(
            (queue_mean_bytes / little - 1.0).abs() < 0.02,
            "class {class}: {queue_mean_bytes}, not {little}"
        );
        assert_eq!(dropped_packets, 0);
    }
}

/// What classes have adds up to what the link has, to the last byte; and both engines, traced or not, say the same.
#[test]
fn classes_add_up() {
    let sources =
        [("poisson", 0, 1000, 4000), ("cbr", 1, 300, 2500), ("poisson", 5, 1500, 3000), ("cbr", 5, 700, 300)];
    for queue in [
        "queue = \"priority\"",
        "buffer = \"9 packets\", queue = \"priority\"",
        "queue = { discipline = \"priority\", limits = [\"4 packets\", \"2 KB\", \"9 packets\"] }",
        "buffer = \"12 KB\", queue = \"drr\"",
        "buffer = \"12 KB\", queue = { discipline = \"drr\", quanta = [\"300 B\", \"600 B\"], limits = \"6 packets\" }",
    ] {
        let text = scenario(queue, 8, &sources);
        let [reference, batched] = [Method::Reference, Method::Windowed].map(|method| run(&text, method));
        let link = link(&reference);
        let sum = |what: fn(&ClassStatistics) -> f64| link.classes.iter().map(what).sum::<f64>();
        assert_eq!(sum(|class| class.arrived_packets as f64), link.arrived_packets as f64, "{queue}");
        assert_eq!(sum(|class| class.dropped_packets as f64), link.dropped_packets as f64, "{queue}");
        let mean = link.queue_mean_bytes.unwrap();
        assert!((sum(|class| class.queue_mean_bytes) / mean - 1.0).abs() < 1e-9, "{queue}: {link:?}");
        assert!(queue.len() < 25 || link.dropped_packets > 100, "{queue}: {link:?}");
        assert_eq!((link.classes.len(), link.classes[2].arrived_packets), (6, 0));
        assert_eq!(reference.links, batched.links, "{queue}");
        let written = serde_json::to_value(link).unwrap();
        assert_eq!(written["class_5_dropped_packets"], link.classes[5].dropped_packets);
    }
}

/// Sources that each send what the link carries: by bytes they get what their quanta are to each other, whatever their packets, with what
/// waits shared by stealing; and the link is as busy as with a FIFO.
#[test]
fn shares_are_those_of_the_quanta() {
    let sources = [("cbr", 0, 1500, 8000), ("cbr", 1, 300, 8000), ("cbr", 2, 600, 8000)];
    for (quanta, shares) in
        [("\"1500 B\"", [1.0, 1.0, 1.0]), ("[\"600 B\", \"1800 B\", \"1200 B\"]", [1.0, 3.0, 2.0])]
    {
        let queue = format!("buffer = \"60 KB\", queue = {{ discipline = \"drr\", quanta = {quanta} }}");
        let output = run(&scenario(&queue, 21, &sources), Method::Auto);
        let all: f64 = shares.iter().sum();
        for ((flow, share), (_, _, bytes, _)) in output.flow_rows.iter().zip(shares).zip(sources) {
            let expected = 8e6 * share / all;
            // a turn and two packets, over twenty seconds
            let error = 8.0 * (1800.0 + 2.0 * f64::from(bytes)) / 20.0;
            assert!(
                (flow.goodput_bps - expected).abs() < error,
                "{quanta}: {} bit/s, not {expected}",
                flow.goodput_bps
            );
        }
        let fifo = run(&scenario("buffer = \"60 KB\"", 21, &sources), Method::Auto);
        let (one, other) = (link(&output).throughput_bps, link(&fifo).throughput_bps);
        assert!((one - other).abs() < 8.0 * 1500.0 / 20.0 && one > 7.99e6, "{one} {other}");
    }
}

/// Links that tell no classes apart have none of these numbers, and traffic with a class passes them as any other.
#[test]
fn other_links_say_nothing_of_classes() {
    let sources = |class| [("poisson", class, 1000, 4000), ("cbr", class, 300, 5000)];
    let [with, without] = [3, 0].map(|class| {
        let text = scenario("buffer = \"9 packets\"", 5, &sources(class));
        let network = Scenario::from_toml(&text).unwrap().network(1).unwrap();
        let mut rows: Vec<TraceRow> = Vec::new();
        let output = Engine::run_by(&network, Method::Auto, 1, &Control::default(), Some(&mut rows)).unwrap();
        (serde_json::to_string(&output).unwrap(), rows.len())
    });
    assert_eq!(with, without);
    assert!(!with.0.contains("class_"));
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    for (queue, class, said) in [
        (
            "queue = { discipline = \"drr\", quanta = [] }",
            0,
            "quanta: 0 values are not one for each class; write 1 to 8",
        ),
        (
            "queue = { discipline = \"drr\", quanta = [\"100 B\"] }",
            0,
            "quanta: takes many turns a packet; write at least \"256 B\"",
        ),
        ("queue = { discipline = \"drr\", quanta = [\"1500\"] }", 0, "quanta"),
        ("queue = { discipline = \"priority\", limits = [\"1 ms\"] }", 0, "limits"),
        ("queue = { discipline = \"priority\", quanta = \"1 KB\" }", 0, "unknown key"),
        (
            "queue = { discipline = \"codel\", target = [\"5 ms\"] }",
            0,
            "target: [\"5 ms\"] is a list; write \"10 ms\"",
        ),
        ("queue = \"priority\"", 8, "class: 8 is above 7"),
        ("queue = \"drrr\"", 0, "is no queue discipline; did you mean \"drr\"?"),
    ] {
        let text = scenario(queue, 5, &[("cbr", class, 1000, 4000)]);
        let error =
            Scenario::from_toml(&text).and_then(|scenario| scenario.network(1)).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains('\n'), "{error}");
    }
}
