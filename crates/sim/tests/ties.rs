//! Who goes first where a packet arrives as another leaves: one flow and a buffer in which one packet waits, where that decides all.
//!
//! *Oracle.* ns-2 2.35 (Debian's package) on the same network, `benches/peers/dumbbell.tcl -flows 1 -edges 0 -variant Newreno -header 1
//! -buffer 2 -unit packets -core_rate 20 -core_delay 20 -access_rate 100 -access_delay 5 -start 0 -duration 60 -warmup 10`:
//! goodput 0.450 Mbit/s, loss 7.43 %, with every seed.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Method, RunOutput, Scenario};

const NS2_GOODPUT: f64 = 0.450e6;
const NS2_LOSS: f64 = 0.0743;

fn run(settings: &str, buffer: u32, core_kbps: u32, (seed, method): (u64, Method)) -> RunOutput {
    let text = format!(
        r#"
        duration = "60 s"
        warmup = "10 s"
        [network]
        template = "dumbbell"
        {settings}
        core = {{ rate = "{core_kbps} kbit/s", delay = "20 ms", buffer = "{buffer} packets" }}
        access = {{ hosts = 1, rate = "100 Mbit/s", delay = "5 ms" }}
        [[traffic]]
        kind = "bulk"
        tcp = {{ profile = "ns2", variant = "newreno", max_window = "1000 packets" }}
        "#
    );
    let network = Scenario::from_toml(&text).unwrap().network(seed).unwrap();
    Engine::run_by(&network, method, 1, &Control::default(), None).unwrap()
}

/// Goodput in bit/s, loss, and what hung on a tie: packets, and drops as a share of all.
fn found(output: &RunOutput) -> (f64, f64, u64, f64) {
    let core = &output.links.iter().find(|(name, _)| name == "core").unwrap().1;
    let tied_drops = core.tied_drops as f64 / core.dropped_packets.max(1) as f64;
    (output.flows.goodput_mean_bps.unwrap(), core.loss_ratio.unwrap(), core.tied_packets, tied_drops)
}

#[test]
fn a_buffer_that_counts_as_ns2_decides_ties_as_ns2() {
    for method in [Method::Reference, Method::Windowed] {
        let (goodput, loss, _, tied_drops) = found(&run("counts = \"ns2\"", 2, 20_000, (1, method)));
        assert!((goodput / NS2_GOODPUT - 1.0).abs() < 0.01, "{goodput}");
        assert!((loss / NS2_LOSS - 1.0).abs() < 0.01, "{loss}");
        assert!(tied_drops > 0.2, "{tied_drops}");
        // With departures first, which no real network has, it loses next to nothing.
        let (goodput, loss, tied, _) =
            found(&run("counts = \"ns2\"\nties = \"departure\"", 2, 20_000, (1, method)));
        assert!(goodput > 14e6 && loss < 0.001 && tied > 1000, "{goodput}, {loss}, {tied}");
    }
}

#[test]
fn by_default_no_result_hangs_on_a_tie() {
    let mean = |core_kbps| {
        let goodputs = (1..=5).map(|seed| found(&run("", 1, core_kbps, (seed, Method::Auto))).0);
        goodputs.sum::<f64>() / 5.0
    };
    // A hundred times nearer to ns-2 than to departures first, and the same at a rate that is 0.1 % higher.
    let (at, above) = (mean(20_000), mean(20_020));
    assert!((0.4e6..1.0e6).contains(&at), "{at}");
    assert!((above / at - 1.0).abs() < 0.1, "{at}, {above}");
    let (_, _, tied, tied_drops) = found(&run("", 1, 20_000, (1, Method::Auto)));
    assert!(tied > 100 && tied_drops > 0.2, "{tied}, {tied_drops}");
}

#[test]
fn a_bare_rule_is_told_its_names() {
    let text = "duration = \"1 s\"\n[network]\ntemplate = \"path\"\nties = \"departures\"\n\
        links = [{ rate = \"1 Mbit/s\", delay = \"1 ms\" }]\n[[traffic]]\nkind = \"bulk\"\n";
    let error = Scenario::from_toml(text).unwrap_err().to_string();
    assert!(error.contains("network.ties") && error.contains("departure"), "{error}");
}

/// Flows in the order in which their packets come to `core`, from hosts so far from it, all at the same instants.
fn order_at_core(delays_ms: [u64; 2], (settings, buffer): (&str, &str), method: Method) -> Vec<u32> {
    let mut text = format!(
        "duration = \"2 s\"\n[network]\ntemplate = \"graph\"\n{settings}\n\
         [[node]]\nname = \"r\"\nkind = \"router\"\n[[node]]\nname = \"k\"\nkind = \"host\"\n\
         [[link]]\nname = \"core\"\nfrom = \"r\"\nto = \"k\"\nrate = \"10 Mbit/s\"\ndelay = \"1 ms\"\n{buffer}\n"
    );
    for (number, delay_ms) in delays_ms.into_iter().enumerate() {
        let start_ms = 1_000 - delay_ms;
        text += &format!(
            "[[node]]\nname = \"h{number}\"\nkind = \"host\"\n\
             [[link]]\nfrom = \"h{number}\"\nto = \"r\"\nrate = \"10 Mbit/s\"\ndelay = \"{delay_ms} ms\"\n\
             [[traffic]]\nname = \"t{number}\"\nkind = \"cbr\"\nfrom = \"h{number}\"\nto = \"k\"\n\
             packet = \"1000 B\"\nrate = \"1 Mbit/s\"\nstart = \"{start_ms} ms\"\n"
        );
    }
    let network = Scenario::from_toml(&text).unwrap().network(1).unwrap();
    let core = network.links.iter().position(|link| &*link.name == "core").unwrap() as u32;
    let mut rows: Vec<TraceRow> = Vec::new();
    Engine::run_by(&network, method, 1, &Control::default(), Some(&mut rows)).unwrap();
    let arrivals = rows.iter().filter(|row| row.place == core && row.event == TraceEvent::Enqueue);
    arrivals.map(|row| row.flow).collect()
}

/// ns-2 2.35 schedules an arrival when the packet's service at the link before begins (`LinkDelay::recv`), and equal times go in the
/// order of scheduling: of simultaneous arrivals the one that comes the longer way is first. Elsewhere flows decide.
#[test]
fn of_simultaneous_arrivals_ns2_takes_first_what_comes_the_longer_way() {
    for method in [Method::Reference, Method::Windowed] {
        for buffer in ["", "buffer = \"10 packets\""] {
            for (delays_ms, ties, first) in [
                ([5, 200], "ties = \"ns2\"", 1),
                ([200, 5], "ties = \"ns2\"", 0),
                ([5, 200], "", 0),
                ([200, 5], "", 0),
            ] {
                let order = order_at_core(delays_ms, (ties, buffer), method);
                assert!(order.len() > 200);
                for pair in order.chunks_exact(2) {
                    assert_eq!(pair, [first, 1 - first], "{delays_ms:?} {ties} {buffer}");
                }
            }
        }
    }
}
