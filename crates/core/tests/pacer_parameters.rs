//! What the parser of pacers takes, what it refuses and what it says then.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::pacer::parameters::{Value, closest};
use paceline_core::pacer::{
    Backlog, Envelope, METHODS, Method, Pacer, check_keys, edge, parameters_of, parse, qlbp, table,
    token_bucket,
};
use paceline_core::queue::Limit;
use paceline_core::{Bytes, Instant, Packet, Rate, Span, Stage, Verdict};

const LINK: Rate = Rate::from_bits_per_second(100_000_000);

fn read(method: &str, values: &[(&str, &str)]) -> Result<Method, String> {
    let mut value = |wanted: &str| {
        let (_, text) = values.iter().find(|(name, _)| *name == wanted)?;
        Some(text.parse().map_or_else(|_| Value::Text((*text).to_owned()), Value::Number))
    };
    parse(method, &mut value, LINK).map(|spec| spec.method).map_err(|error| error.to_string())
}

fn refused(method: &str, values: &[(&str, &str)]) -> String {
    read(method, values).expect_err("refused")
}

#[test]
fn legal_parameters() {
    assert_eq!(read("none", &[]), Ok(Method::default()));
    let edge =
        |delay, release| Ok(Method::Edge(edge::Parameters { delay: Span::from_millis(delay), release }));
    assert_eq!(read("edge", &[("delay", "10 ms")]), edge(10, edge::Release::Start));
    assert_eq!(read("edge", &[("delay", "2 ms"), ("release", "finish")]), edge(2, edge::Release::Finish));
    let explicit = [("mu_min", "2 Mbit/s"), ("mu_max", "10 Mbit/s"), ("q_max", "10 packets")];
    let mbps = |rate: u64| Rate::from_bits_per_second(rate * 1_000_000);
    assert_eq!(
        read("qlbp", &explicit),
        Ok(Method::Qlbp(qlbp::Parameters { mu_min: mbps(2), mu_max: mbps(10), q_max: Limit::Packets(10) }))
    );
    // mu_max = 0.9 C, mu_min = 0.4 C, Q_max = 10 ms of mu_max.
    assert_eq!(
        read("qlbp", &[("load", "0.8"), ("max_delay", "10 ms")]),
        Ok(Method::Qlbp(qlbp::Parameters {
            mu_min: mbps(40),
            mu_max: mbps(90),
            q_max: Limit::Bytes(112_500)
        }))
    );
    assert_eq!(
        read("token-bucket", &[("rate", "90 Mbit/s"), ("burst", "5 KB")]),
        Ok(Method::TokenBucket(token_bucket::Parameters { rate: mbps(90), burst: Bytes::new(5_000) }))
    );
}

#[test]
fn errors_name_the_parameter() {
    assert_eq!(refused("edge", &[]), "edge needs \"delay\"; write for example delay = \"10 ms\"");
    assert_eq!(refused("edge", &[("delay", "5")]), "delay: \"5\" has no unit; write for example \"5 ms\"");
    assert_eq!(
        refused("edge", &[("delay", "5 KB")]),
        "delay: \"5 KB\" is an amount of data, not a time; write for example \"10 ms\""
    );
    assert_eq!(
        refused("edge", &[("delay", "5 ms"), ("release", "end")]),
        "release: \"end\" is none of its values; write \"start\" or \"finish\""
    );
    let qlbp =
        |mu_min, mu_max, q_max| refused("qlbp", &[("mu_min", mu_min), ("mu_max", mu_max), ("q_max", q_max)]);
    assert_eq!(
        qlbp("20 Mbit/s", "10 Mbit/s", "5 KB"),
        "mu_min: 20 Mbit/s is above mu_max = 10 Mbit/s; write at most that"
    );
    assert_eq!(
        qlbp("20 Mbit/s", "200 Mbit/s", "5 KB"),
        "mu_max: 200 Mbit/s is above the link's rate; write at most \"100 Mbit/s\""
    );
    assert_eq!(
        qlbp("1 Mbit/s", "2 Mbit/s", "1 BDP"),
        "q_max: a pacer knows no round-trip time; write bytes or packets"
    );
    assert_eq!(
        qlbp("1 Mbit/s", "2 Mbit/s", "0 packets"),
        "q_max: 0 packets would never pace; write for example \"10 packets\""
    );
    for load in ["0", "1.1", "-1", "nan"] {
        let message = refused("qlbp", &[("load", load), ("max_delay", "1 ms")]);
        assert!(
            message.ends_with("is not a number above 0 and at most 1; write for example 0.8"),
            "{message}"
        );
        assert!(message.starts_with("load: "), "{message}");
    }
    assert_eq!(
        refused("qlbp", &[("load", "0.5"), ("max_delay", "1 ms"), ("q_max", "5 KB")]),
        "q_max: follows from load and max_delay; give those two or mu_min, mu_max and q_max"
    );
    assert_eq!(
        refused("qlbp", &[]),
        "qlbp needs \"mu_min\", \"mu_max\" and \"q_max\", or \"load\" and \"max_delay\""
    );
    assert_eq!(
        refused("token-bucket", &[("rate", "0 bit/s")]),
        "rate: \"0 bit/s\" is no rate at all; write at least \"1 bit/s\""
    );
}

/// What each method promises of packets of 1500 B at most, of which three (of 3000 B) are held.
#[test]
fn what_each_method_promises() {
    let qlbp = [("mu_min", "2 Mbit/s"), ("mu_max", "10 Mbit/s"), ("q_max", "10 packets")];
    let slow_link = [("mu_min", "100 Mbit/s"), ("mu_max", "100 Mbit/s"), ("q_max", "10 packets")];
    let mbps = |rate: u64| Rate::from_bits_per_second(rate * 1_000_000);
    let backlog = Backlog { packets: 3, bytes: 3_000, largest: 1_500 };
    let promised = |method, values: &[_]| {
        let method = read(method, values).expect("legal");
        (method.delay_bound(LINK, backlog), method.envelope(LINK, 1_500), method.to_string())
    };
    let envelope = |rate, burst| Some(Envelope { rate: mbps(rate), burst });
    assert_eq!(promised("none", &[]), (Some(Span::ZERO), None, "none".into()));
    assert_eq!(
        promised("edge", &[("delay", "10 ms"), ("release", "finish")]),
        (Some(Span::from_millis(10)), None, "edge delay = 10 ms, release = finish".into())
    );
    // Each within 1500 B / mu_min = 6 ms of the one before it; none faster than the link.
    let text = "qlbp mu_min = 2 Mbit/s, mu_max = 10 Mbit/s, q_max = 10 packets";
    assert_eq!(promised("qlbp", &qlbp), (Some(Span::from_millis(18)), envelope(100, 1_500), text.into()));
    assert_eq!(promised("qlbp", &slow_link).0, Some(Span::from_nanos(3 * 120_000)));
    // What is held, and the debt of a packet larger than the bucket: 4500 B at 10 Mbit/s.
    for (burst, most) in [("5 KB", 5_000), ("1 KB", 1_500)] {
        let text = format!("token-bucket rate = 10 Mbit/s, burst = {burst}");
        let found = promised("token-bucket", &[("rate", "10 Mbit/s"), ("burst", burst)]);
        assert_eq!(found, (Some(Span::from_nanos(3_600_000)), envelope(10, most), text));
    }
}

#[test]
fn a_limit_may_be_changed_and_what_is_held_stays() {
    let spec = parse("edge", &mut |name| (name == "delay").then(|| Value::Text("10 ms".into())), LINK);
    let mut pacer = Pacer::new(&spec.expect("legal"), LINK);
    let is_taken = |pacer: &mut Pacer<_>| pacer.enqueue(Thousand, Instant::ZERO) == Verdict::Queued;
    assert!(is_taken(&mut pacer) && is_taken(&mut pacer));
    pacer.set_limit(Some(Limit::Packets(2)));
    assert!(!is_taken(&mut pacer));
    pacer.set_limit(Some(Limit::Bytes(3_000)));
    assert!(is_taken(&mut pacer) && !is_taken(&mut pacer));
    assert_eq!((pacer.held_packets(), pacer.held_bytes()), (3, 3_000));
}

/// Released each at its time, all having come at once: the times of all but the first, nanoseconds.
fn released<const N: usize>(values: (&str, &[(&str, &str)])) -> [u64; N] {
    let mut value = |wanted: &str| {
        let (_, text) = values.1.iter().find(|(name, _)| *name == wanted)?;
        Some(Value::Text((*text).to_owned()))
    };
    let mut pacer = Pacer::new(&parse(values.0, &mut value, LINK).expect("legal"), LINK);
    for _ in 0..=N {
        assert_eq!(pacer.enqueue(Thousand, Instant::ZERO), Verdict::Queued);
    }
    assert_eq!(pacer.dequeue(Instant::ZERO), Some(Thousand));
    [0; N].map(|_| {
        let wakeup = pacer.next_wakeup().expect("one is held");
        assert_eq!(pacer.dequeue(wakeup), Some(Thousand));
        wakeup.as_nanos()
    })
}

/// Equation 1 of the paper, q in bytes: mu_min 2, mu_max 10 Mbit/s, Q_max 4000 B, so that 1000 B are 2 Mbit/s.
#[test]
fn a_queue_that_is_counted_in_bytes_is_released_by_what_is_held() {
    let values = [("mu_min", "2 Mbit/s"), ("mu_max", "10 Mbit/s"), ("q_max", "4 KB")];
    // Held, the head included: 5000 B, above Q_max, at the link's 100 Mbit/s; then at 10, 8, 6 and 4 Mbit/s.
    let gaps = [80_000, 800_000, 1_000_000, 1_333_334, 2_000_000];
    let times = gaps.iter().scan(0, |now, gap| {
        *now += gap;
        Some(*now)
    });
    assert_eq!(released::<5>(("qlbp", &values)).to_vec(), times.collect::<Vec<_>>());
}

#[test]
fn a_method_may_have_its_rates_equal_up_to_the_link_s() {
    for [mu_min, mu_max] in [["10 Mbit/s"; 2], ["100 Mbit/s"; 2]] {
        assert!(read("qlbp", &[("mu_min", mu_min), ("mu_max", mu_max), ("q_max", "5 KB")]).is_ok());
    }
    let half = refused("qlbp", &[("load", "0.5")]);
    assert_eq!(half, "qlbp needs \"max_delay\"; write for example max_delay = \"10 ms\"");
    let half = refused("qlbp", &[("max_delay", "1 ms")]);
    assert_eq!(half, "qlbp needs \"load\"; write for example load = 0.8");
}

/// A packet that leaves late has no more than the part of a nanosecond that came in before it could, for those behind it.
#[test]
fn a_full_bucket_keeps_less_than_a_nanosecond_for_the_next() {
    let mut values = |name: &str| Some(Value::Text(if name == "rate" { "1 Gbit/s" } else { "1 KB" }.into()));
    let mut pacer = Pacer::new(&parse("token-bucket", &mut values, LINK).expect("legal"), LINK);
    for _ in 0..3 {
        assert_eq!(pacer.enqueue(Thousand, Instant::ZERO), Verdict::Queued);
    }
    assert_eq!(pacer.dequeue(Instant::ZERO), Some(Thousand));
    assert_eq!(pacer.dequeue(Instant::from_nanos(9_000)), Some(Thousand)); // due at 8000
    assert_eq!(pacer.next_wakeup(), Some(Instant::from_nanos(17_000)));
}

#[test]
fn a_debt_of_more_than_64_bits_is_waited_for() {
    #[derive(Debug, PartialEq)]
    struct Largest;
    impl Packet for Largest {
        fn bytes(&self) -> u32 {
            u32::MAX
        }
    }
    let mut values = |name: &str| Some(Value::Text(if name == "rate" { "1 Gbit/s" } else { "5 GB" }.into()));
    let mut pacer = Pacer::new(&parse("token-bucket", &mut values, LINK).expect("legal"), LINK);
    assert_eq!(pacer.enqueue(Largest, Instant::ZERO), Verdict::Queued);
    assert_eq!(pacer.enqueue(Largest, Instant::ZERO), Verdict::Queued);
    assert_eq!(pacer.dequeue(Instant::ZERO), Some(Largest));
    // 2 (2^32 - 1) B at 8 ns each, less the 5 GB that were there.
    let nanos = 8 * (2 * u64::from(u32::MAX) - 5_000_000_000);
    assert_eq!(pacer.next_wakeup(), Some(Instant::from_nanos(nanos)));
}

#[test]
fn a_word_is_near_another_by_the_letters_that_differ() {
    // At most a third of its letters, and `-`, a blank and `_` are one.
    for (word, name, is_near) in [
        ("q mx", "q_max", true),
        ("q-m", "q_max", true),
        ("p mox", "q_max", true),
        ("p-mox", "q_max", true),
        ("P_MOX", "q_max", true),
        ("pnmox", "q_max", false),
        ("abq", "q", false),
        ("qb", "q", true),
    ] {
        assert_eq!(closest(word, [name].into_iter()).is_some(), is_near, "{word} for {name}");
    }
}

#[test]
fn unknown_names_get_a_suggestion() {
    assert_eq!(refused("egde", &[]), "there is no pacer \"egde\"; did you mean \"edge\"?");
    assert_eq!(
        refused("tokenbucket", &[]),
        "there is no pacer \"tokenbucket\"; did you mean \"token-bucket\"?"
    );
    assert_eq!(
        refused("wheel", &[]),
        "there is no pacer \"wheel\"; there are none, edge, qlbp, token-bucket"
    );
    let keys = |method, key| check_keys(method, ["delay", key]).map_err(|error| error.to_string());
    assert_eq!(keys("edge", "release"), Ok(()));
    assert_eq!(
        keys("edge", "relaese"),
        Err("edge has no parameter \"relaese\"; did you mean \"release\"?".into())
    );
    assert_eq!(keys("edge", "rate"), Err("edge has no parameter \"rate\"; it has delay, release".into()));
    assert_eq!(keys("none", "delay"), Err("none has no parameter \"delay\"; it has none".into()));
    let error = check_keys("qlbp", ["mu-max"]).expect_err("refused");
    assert_eq!(error.to_string(), "qlbp has no parameter \"mu-max\"; did you mean \"mu_max\"?");
    assert_eq!(error.parameter(), Some("mu-max"));
}

#[test]
fn the_table_has_every_parameter() {
    let table = table();
    for row in METHODS {
        assert!(table.contains(&format!("| `{}` |", row.name)));
        assert_eq!(parameters_of(row.name).map(<[_]>::len), Some(row.parameters.len()));
        assert!(
            row.parameters.iter().all(|parameter| table.contains(&format!("| | `{}` |", parameter.name)))
        );
    }
    assert!(table.lines().all(|line| line.matches('|').count() == 6), "{table}");
}

#[derive(Debug, PartialEq)]
struct Thousand;

impl Packet for Thousand {
    fn bytes(&self) -> u32 {
        1_000
    }
}

#[test]
fn a_token_bucket_does_not_drift() {
    // 1000 B at 3 Mbit/s take 2666666.66 ns; 30,001 packets, of which the first takes no time, take 80 s.
    for burst in ["0 B", "999 B", "1000 B"] {
        let spec = parse(
            "token-bucket",
            &mut |name| Some(Value::Text(if name == "rate" { "3 Mbit/s".into() } else { burst.into() })),
            LINK,
        );
        let mut pacer = Pacer::new(&spec.expect("legal"), LINK);
        for _ in 0..30_001 {
            let _ = pacer.enqueue(Thousand, Instant::ZERO);
        }
        let mut last = Instant::ZERO;
        while let Some(wakeup) = pacer.next_wakeup() {
            last = wakeup;
            assert!(pacer.dequeue(wakeup).is_some());
        }
        assert_eq!(last, Instant::ZERO + Span::from_millis(80_000), "burst {burst}");
    }
}
