//! What the parser of pacers takes, what it refuses and what it says then.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::pacer::parameters::Value;
use paceline_core::pacer::{
    METHODS, Method, Pacer, check_keys, edge, parameters_of, parse, qlbp, table, token_bucket,
};
use paceline_core::queue::Limit;
use paceline_core::{Bytes, Instant, Packet, Rate, Span, Stage};

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

#[test]
fn a_token_bucket_does_not_drift() {
    struct Thousand;
    impl Packet for Thousand {
        fn bytes(&self) -> u32 {
            1_000
        }
    }
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
