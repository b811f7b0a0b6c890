//! What tables of rates say, worked by hand: means, peaks, and the bounds of what is taken.

use super::{Transmit, VaryingRate};
use crate::Scenario;
use paceline_core::{Instant, Span};

/// A link's rate as a scenario has it, or what is wrong with it.
fn read(rate: &str) -> Result<VaryingRate, String> {
    let text = format!(
        "duration = \"1 s\"\n[network]\ntemplate = \"path\"\nlinks = [{{ rate = {rate}, delay = \"1 ms\" }}]\n\
         [[traffic]]\nkind = \"bulk\"\ncount = 1\n"
    );
    let scenario = Scenario::from_toml(&text).map_err(|error| error.to_string())?;
    let network = scenario.network(1).map_err(|error| error.to_string())?;
    let mut rates = network.links.iter().filter_map(|link| link.fitting.varying.clone());
    rates.next().ok_or_else(|| "it does not vary".to_owned())
}

/// A trace file with these lines.
fn trace(name: &str, lines: &str) -> Result<VaryingRate, String> {
    let path = std::env::temp_dir().join(format!("paceline-varying-{}-{name}.up", std::process::id()));
    std::fs::write(&path, lines).unwrap();
    let rate = read(&format!("{{ trace = \"{}\" }}", path.display()));
    std::fs::remove_file(&path).unwrap();
    rate
}

/// Mean over so many milliseconds and peak, kbit/s.
fn kilobits(rate: &VaryingRate, ms: u64) -> (u64, u64) {
    (rate.mean(Span::from_millis(ms)).bits_per_second() / 1_000, rate.fastest() / 1_000)
}

#[test]
fn a_mean_is_what_is_sent_over_the_time_it_takes() {
    let steps = "steps = [[\"0 s\", \"10 Mbit/s\"], [\"1 s\", \"2 Mbit/s\"], [\"3 s\", \"4 Mbit/s\"]]";
    let once = read(&format!("{{ {steps} }}")).unwrap();
    // (10 · 1 + 2 · 2 + 4 · 5) / 8; of a run that ends before, what comes until then
    assert_eq!(kilobits(&once, 8_000), (4_250, 10_000));
    assert_eq!(kilobits(&once, 2_000), (6_000, 10_000));
    assert_eq!(kilobits(&once, 500), (10_000, 10_000));
    let again = read(&format!("{{ {steps}, every = \"4 s\" }}")).unwrap();
    assert_eq!(kilobits(&again, 500), (4_500, 10_000));
    // (10 · 2 + 1 · 0.5 + 0 · 1) / 3.5
    let states = read(
        "{ states = [\"10 Mbit/s\", \"1 Mbit/s\", \"0 bit/s\"], hold = [\"2 s\", \"500 ms\", \"1 s\"] }",
    );
    assert_eq!(kilobits(&states.unwrap(), 1), (5_857, 10_000));
    // five packets of 1500 B in 4 ms; they may leave at once
    let trace = trace("mean", "0\n1\n2\n2\n4\n").unwrap();
    assert_eq!(kilobits(&trace, 1), (15_000, u64::MAX / 1_000));
}

/// Steps and states last a microsecond at least.
#[test]
fn what_lasts_long_enough_is_taken() {
    let step = |at: &str| {
        read(&format!(
            "{{ steps = [[\"0 s\", \"1 Mbit/s\"], [\"5 us\", \"2 Mbit/s\"], [\"{at}\", \"1 Mbit/s\"]] }}"
        ))
    };
    let every = |at: &str| {
        read(&format!("{{ steps = [[\"0 s\", \"1 Mbit/s\"], [\"5 us\", \"2 Mbit/s\"]], every = \"{at}\" }}"))
    };
    let hold = |time: &str| {
        read(&format!("{{ states = [\"1 Mbit/s\", \"2 Mbit/s\"], hold = [\"1 s\", \"{time}\"] }}"))
    };
    for at in ["6 us", "7 us", "1 s"] {
        assert!(step(at).is_ok() && every(at).is_ok(), "{at}");
    }
    for at in ["5999 ns", "5 us", "2 us"] {
        assert!(step(at).unwrap_err().contains("is not after \"5 us\""), "{at}");
        assert!(every(at).unwrap_err().contains("every ends before"), "{at}");
    }
    assert!(hold("1 us").is_ok() && hold("2 us").is_ok());
    assert!(hold("999 ns").unwrap_err().contains("is too short; write \"1 us\" at least"));
}

#[test]
fn something_has_to_be_sent_and_said_of_all_times() {
    let steps = |steps: &str, every: &str| read(&format!("{{ steps = [{steps}]{every} }}"));
    let (on, off) = (
        "[\"0 s\", \"1 Mbit/s\"], [\"1 s\", \"0 bit/s\"]",
        "[\"0 s\", \"0 bit/s\"], [\"1 s\", \"1 Mbit/s\"]",
    );
    assert!(
        steps(off, "").is_ok()
            && steps(on, ", every = \"2 s\"").is_ok()
            && steps(off, ", every = \"2 s\"").is_ok()
    );
    assert!(steps(on, "").unwrap_err().contains("sends nothing from its last step on"));
    assert!(
        steps("[\"0 s\", \"0 bit/s\"]", ", every = \"2 s\"").unwrap_err().contains("sends nothing at all")
    );
    assert!(steps("[\"1 ns\", \"1 Mbit/s\"]", "").unwrap_err().contains("\"1 ns\" is after the start"));
    assert!(steps("", "").unwrap_err().contains("no steps"));
    let states = |states: &str, hold: &str| read(&format!("{{ states = [{states}], hold = [{hold}] }}"));
    assert!(states("\"0 bit/s\", \"1 Mbit/s\"", "\"1 s\", \"1 s\"").is_ok());
    assert!(states("\"0 bit/s\", \"0 bit/s\"", "\"1 s\", \"1 s\"").unwrap_err().contains("in any state"));
    assert!(states("\"1 Mbit/s\"", "\"1 s\"").unwrap_err().contains("fewer than two states"));
    assert!(states("\"1 Mbit/s\", \"2 Mbit/s\"", "\"1 s\"").unwrap_err().contains("1 times for 2 states"));
}

#[test]
fn a_trace_has_times_that_never_fall_and_takes_some() {
    assert!(trace("equal", "1\n1\n1000000000000\n").is_ok());
    for (name, lines, told) in [
        ("falls", "1\n5\n4\n", "line 3: is before the line above"),
        ("long", "1\n1000000000001\n", "line 2: is more than thirty years"),
        ("word", "1\nx\n", "line 2: is no whole number of milliseconds"),
        ("zero", "0\n0\n", "ends at 0 ms"),
        ("empty", "", "is empty"),
    ] {
        assert!(trace(name, lines).unwrap_err().contains(told), "{name}");
    }
}

#[test]
fn one_way_alone_says_how_a_rate_varies() {
    let ways = "does not say in one way how the rate varies; write steps = [[\"0 s\", \"10 Mbit/s\"], …], \
                states = [\"10 Mbit/s\", …] with hold, or trace = \"cell.up\"";
    let steps = "steps = [[\"0 s\", \"1 Mbit/s\"]]";
    for rate in ["{ every = \"1 s\" }".to_owned(), format!("{{ {steps}, trace = \"cell.up\" }}")] {
        assert!(read(&rate).unwrap_err().ends_with(ways), "{rate}");
    }
    let told = read(&format!("{{ {steps}, hold = [\"1 s\"] }}")).unwrap_err();
    assert!(told.contains("rate.hold: has no meaning beside steps; leave it out"), "{told}");
}

/// A chain of two states alternates between them.
#[test]
fn two_states_follow_each_other_in_turn() {
    let states = [(8_000_000, Span::from_millis(1)), (0, Span::from_millis(1))];
    let mut transmitter = VaryingRate::of_states(states.into_iter()).transmitter(3, "link");
    // A packet of 1000 B takes a millisecond of the first state: nothing else is sent, and over long half of the time is.
    let mut now = Instant::ZERO;
    for _ in 0..10_000 {
        (_, now) = transmitter.send(1000, now);
    }
    let seconds = now.as_nanos() as f64 * 1e-9;
    // About 10,000 outages, as chance has it, of exponential times: 3.29 standard deviations of their sum, √(10,000 · 2) ms.
    assert!((seconds - 20.0).abs() < 0.465, "{seconds} s");
}
