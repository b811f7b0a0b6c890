//! Links whose queues signal congestion early, in whole networks: what results say of them, and that both engines say it.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use paceline_sim::output::{LinkStatistics, RunOutput};
use paceline_sim::trace::{Cause, TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Method, Scenario};

/// Three sources without feedback, 3 Mbit/s each with 1000 B and this field, over 8 Mbit/s; and three TCP flows.
fn scenario(queue: &str, ecn: &str, more: &str) -> String {
    format!(
        "duration = \"8 s\"\nwarmup = \"2 s\"\n[network]\ntemplate = \"dumbbell\"\n\
        core = {{ rate = \"8 Mbit/s\", delay = \"10 ms\", buffer = \"200 packets\", queue = {queue} }}\n\
        access = {{ hosts = 3, rate = \"20 Mbit/s\", delay = \"1 ms .. 3 ms\" }}\n\
        [[traffic]]\nkind = \"poisson\"\nrate = \"3 Mbit/s\"\npacket = \"1000 B\"\necn = \"{ecn}\"\n\
        [[traffic]]\nkind = \"bulk\"\n{more}"
    )
}

fn run(text: &str, method: Method) -> (RunOutput, Vec<TraceRow>) {
    let network = Scenario::from_toml(text).unwrap().network(1).unwrap();
    let mut rows: Vec<TraceRow> = Vec::new();
    let output = Engine::run_by(&network, method, 1, &Control::default(), Some(&mut rows)).unwrap();
    (output, rows)
}

fn core(output: &RunOutput) -> &LinkStatistics {
    &output.links.iter().find(|(name, _)| name == "core").unwrap().1
}

const QUEUES: [&str; 5] = ["\"codel\"", "\"fq-codel\"", "\"pie\"", "\"red\"", "\"dualpi2\""];

#[test]
fn results_tell_marks_and_drops_by_cause_and_traces_show_them() {
    for queue in QUEUES {
        for ecn in ["not-ect", "ect0", "ect1"] {
            let text = scenario(queue, ecn, "[[drop]]\nlink = \"core\"\nprobability = 0.01\n");
            let (output, rows) = run(&text, Method::Reference);
            let link = core(&output);
            let causes = link.causes.as_ref().unwrap();
            let marked = causes.marked_packets.unwrap();
            let name = format!("{queue} {ecn}: {link:?}");
            let [early, forced_drops] = [causes.early_drops, causes.forced_drops].map(Option::unwrap);
            assert_eq!(early + causes.overflow_drops + forced_drops, link.dropped_packets, "{name}");
            let forced = forced_drops as f64 / link.arrived_packets as f64;
            let error = (0.01 * 0.99 / link.arrived_packets as f64).sqrt();
            assert!((forced - 0.01).abs() < 3.89 * error, "{name}"); // once in 10,000
            // PIE and RED mark only while the probability is small, and these sources do not give way
            let drops_in_the_end = queue.contains("pie") || queue.contains("red");
            assert!(ecn != "not-ect" || marked == 0, "{name}");
            assert!(ecn == "not-ect" || drops_in_the_end || marked > 0, "{name}");
            assert!(early + marked > 100, "{name}");
            assert!(link.utilisation > 0.95, "{name}");
            let from = 2_000_000_000;
            let count =
                |what: TraceEvent| rows.iter().filter(|row| row.event == what && row.time_ns >= from).count();
            assert_eq!(count(TraceEvent::Mark) as u64, marked, "{name}");
            let for_this = |cause| {
                let dropped = rows.iter().filter(|row| row.event == TraceEvent::Drop && row.time_ns >= from);
                dropped.filter(|row| row.cause == Some(cause)).count() as u64
            };
            let shown = [Cause::Early, Cause::Overflow, Cause::Forced].map(for_this);
            assert_eq!(shown, [early, causes.overflow_drops, forced_drops], "{name}");
            let has_cause = |row: &TraceRow| matches!(row.event, TraceEvent::Drop | TraceEvent::Mark);
            assert!(rows.iter().all(|row| row.cause.is_some() == has_cause(row)), "{name}");
        }
    }
}

#[test]
fn both_engines_say_the_same() {
    for queue in QUEUES {
        for ecn in ["not-ect", "ect0", "ect1"] {
            let pacing = "[pacing]\nmethod = \"token-bucket\"\nrate = \"9 Mbit/s\"\nburst = \"3 KB\"\nat = [\"core\"]\n";
            for more in ["", pacing] {
                let text = scenario(queue, ecn, more);
                let [reference, batched] =
                    [Method::Reference, Method::Windowed].map(|method| run(&text, method));
                assert_eq!(reference.0.links, batched.0.links, "{queue} {ecn}");
                assert_eq!(reference.0.flows, batched.0.flows, "{queue} {ecn}");
                assert!(same(&reference.1, &batched.1), "{queue} {ecn}");
                let marks = reference.1.iter().filter(|row| row.event == TraceEvent::Mark);
                let marked = core(&reference.0).causes.as_ref().unwrap().marked_packets;
                let in_window = marks.filter(|row| row.time_ns >= 2_000_000_000).count() as u64;
                assert_eq!(Some(in_window), marked, "{queue} {ecn} {more}");
            }
        }
    }
}

/// Windows are no numbers where there are none.
fn same(one: &[TraceRow], other: &[TraceRow]) -> bool {
    let equal = |(one, other): (&TraceRow, &TraceRow)| {
        let bits = one.cwnd.to_bits() == other.cwnd.to_bits();
        bits && TraceRow { cwnd: 0.0, ..*one } == TraceRow { cwnd: 0.0, ..*other }
    };
    one.len() == other.len() && one.iter().zip(other).all(equal)
}

/// A link without such a queue has none of these numbers, and its results no such keys.
#[test]
fn other_links_say_nothing_of_signals() {
    let (output, rows) = run(&scenario("\"drop-front\"", "ect0", ""), Method::Reference);
    assert!(core(&output).causes.is_none());
    assert!(rows.iter().all(|row| row.event != TraceEvent::Mark));
    let written = serde_json::to_string(&output).unwrap();
    assert!(!written.contains("marked_packets") && written.contains("queue_p99_bytes"));
}

/// Three causes beside a full buffer, on a link whose departures are known at the arrival and on one behind a pacer: results and traces agree, and
/// both engines.
#[test]
fn a_drop_tail_link_tells_its_drops_by_cause_where_it_has_several() {
    let police = scenario("\"drop-tail\"", "ect0", "[[drop]]\nlink = \"core\"\nprobability = 0.02\n").replace(
        "buffer = \"200 packets\"",
        "buffer = \"6 packets\", pacer_buffer = \"9 packets\", police = { rate = \"9 Mbit/s\", burst = \"20 KB\" }",
    );
    let pacing =
        "[pacing]\nmethod = \"token-bucket\"\nrate = \"8.1 Mbit/s\"\nburst = \"12 KB\"\nat = [\"core\"]\n";
    for text in [police.clone(), police + pacing] {
        let runs = [Method::Reference, Method::Windowed].map(|method| run(&text, method));
        assert_eq!(runs[0].0.links, runs[1].0.links);
        assert!(same(&runs[0].1, &runs[1].1));
        let (output, rows) = &runs[0];
        let causes = core(output).causes.as_ref().unwrap();
        assert_eq!((causes.marked_packets, causes.early_drops, causes.memory_drops), (None, None, None));
        assert_eq!(causes.pacer_drops.is_some(), text.contains("[pacing]"));
        let place = rows.iter().find(|row| row.event == TraceEvent::Drop).unwrap().place;
        let mut all = 0;
        for (cause, counted) in [
            (Cause::Overflow, Some(causes.overflow_drops)),
            (Cause::Forced, causes.forced_drops),
            (Cause::Policer, causes.policer_drops),
            (Cause::Pacer, causes.pacer_drops),
        ] {
            let dropped = rows.iter().filter(|row| row.event == TraceEvent::Drop && row.place == place);
            let shown =
                dropped.filter(|row| row.cause == Some(cause) && row.time_ns >= 2_000_000_000).count();
            assert_eq!(shown as u64, counted.unwrap_or(0), "{cause:?}");
            assert!(counted.is_none_or(|count| count > 10), "{cause:?}: {counted:?}");
            all += shown as u64;
        }
        assert_eq!(all, core(output).dropped_packets);
    }
}

/// What arrives marked is not marked again: over two such links in a row, each packet counts at one of them.
#[test]
fn a_packet_is_marked_once() {
    let text = "duration = \"10 s\"\n[network]\ntemplate = \"path\"\n\
        links = [{ rate = \"8 Mbit/s\", delay = \"1 ms\", buffer = \"900 packets\", queue = \"codel\" }, \
        { rate = \"4 Mbit/s\", delay = \"1 ms\", buffer = \"900 packets\", queue = \"codel\" }]\n\
        [[traffic]]\nkind = \"poisson\"\nrate = \"9 Mbit/s\"\npacket = \"1000 B\"\necn = \"ect0\"\n";
    let (output, rows) = run(text, Method::Reference);
    let mut marked: Vec<i64> =
        rows.iter().filter(|row| row.event == TraceEvent::Mark).map(|row| row.seq).collect();
    let all = marked.len();
    marked.sort_unstable();
    marked.dedup();
    assert_eq!(marked.len(), all);
    let passed = output.links.iter().filter(|(_, link)| link.arrived_packets > 0);
    let marked: Vec<u64> =
        passed.map(|(_, link)| link.causes.as_ref().unwrap().marked_packets.unwrap()).collect();
    assert!(marked.len() == 2 && marked.iter().all(|marked| *marked > 10), "{marked:?}");
}

/// `[[mark]]` marks the packets that it names, once each, where they are ECN-capable; the queue here marks none by itself.
#[test]
fn marks_are_forced_on_the_packets_that_are_named() {
    let queue = "{ discipline = \"red\", thresh = \"1000 packets\" }";
    let marks = "[[mark]]\nlink = \"core\"\nflow = 0\narrivals = [3, 5, 5]\n\
        [[mark]]\nlink = \"core\"\nflow = 0\narrivals = [5, 700]\n";
    for (ecn, expected) in [("ect0", vec![3, 5, 700]), ("not-ect", vec![])] {
        let text = scenario(queue, ecn, marks).replace("8 Mbit/s", "80 Mbit/s");
        let outputs = [Method::Reference, Method::Windowed].map(|method| run(&text, method));
        for (output, rows) in &outputs {
            let marked = rows.iter().filter(|row| row.event == TraceEvent::Mark);
            let forced = marked.inspect(|row| assert_eq!(row.cause, Some(Cause::Forced)));
            assert_eq!(forced.map(|row| row.seq).collect::<Vec<_>>(), expected, "{ecn}");
            assert_eq!(core(output).causes.as_ref().unwrap().early_drops, Some(0));
        }
        assert!(same(&outputs[0].1, &outputs[1].1));
    }
}

#[test]
fn a_mark_needs_a_queue_that_marks() {
    let text = scenario("\"drop-tail\"", "ect0", "[[mark]]\nlink = \"core\"\narrivals = [3]\n");
    let error = Scenario::from_toml(&text).and_then(|scenario| scenario.network(1)).unwrap_err();
    let expected = "mark[0].link: core has a queue that marks nothing; write queue = \"red\" there";
    assert!(error.to_string().contains(expected), "{error}");
}
