//! Whatever is done to a scenario, it is read or refused in one line; and what is read is the same in both formats.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_sim::{Scenario, scenario::ScenarioError};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Sound scenarios to damage.
const SEEDS: [&str; 5] = [
    include_str!("../../../scenarios/edge-vs-host.toml"),
    include_str!("../../../scenarios/qlbp-table2.toml"),
    include_str!("../../../scenarios/parking-lot.toml"),
    include_str!("../../../scenarios/port-pacing.toml"),
    GRAPH,
];

const GRAPH: &str = r#"
duration = "1 s"
network = { template = "graph", core = "r-s" }
node = [{ name = "a", kind = "host" }, { name = "r", kind = "router" }, { name = "s", kind = "router" },
        { name = "b", kind = "host" }]
link = [
  { from = "a", to = "r", rate = "10 Mbit/s", delay = "1 ms", buffer = "1 BDP" },
  { from = "r", to = "s", rate = "10 Mbit/s", delay = "1 ms", reverse = { rate = "1 Mbit/s", delay = "1 ms" } },
  { from = "s", to = "b", rate = "10 Mbit/s", delay = "1 ms", drop = "front", reverse_buffer = "9 packets" },
]
route = [{ from = "a", to = "b", via = ["r", "r-s"] }]
traffic = [{ kind = "poisson", from = "a", to = "b", packet = "100 B", rate = "1 Mbit/s", header = "1 B" },
           { kind = "bulk", from = "b", to = "a", size = "1 MB", tcp = { syn = false } }]
drop = [{ link = "r-s", flow = 0, arrivals = [3, 4] }, { link = "r-s.reverse", probability = 0.5 }]
probes = { queue = { links = ["*-*"], every = "1 ms", from = "0 s", to = "1 s" }, departures = {} }
pacing = [{ method = "token-bucket", rate = "1 Mbit/s", burst = "2 KB", at = "a-r", acks = true, share = 0.5 },
          { method = "host", rule = "wei", gain = 2.0, jitter = 0.5 }]
"#;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_tables_are_read_or_refused(
        seed in 0..SEEDS.len(),
        damage in prop::collection::vec((any::<u32>(), 0..4u8, value()), 0..4),
    ) {
        let mut file: Value = toml::from_str(SEEDS[seed]).unwrap();
        for (place, what, value) in damage {
            do_damage(&mut file, place as usize, what, value);
        }
        let read = Scenario::from_json(&file.to_string());
        if let Ok(text) = toml::to_string(&file) {
            // Of several faults, either may meet another first: TOML writes tables after other values.
            prop_assert_eq!(read.clone().ok(), Scenario::from_toml(&text).ok());
        }
        build(read)?;
    }

    #[test]
    fn damaged_text_is_read_or_refused(
        seed in 0..SEEDS.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..8usize, "\\PC{0,3}|[\\[\\]{}=\"'.,#\n-]"), 1..4),
    ) {
        let mut text: Vec<char> = SEEDS[seed].chars().collect();
        for (at, removed, inserted) in damage {
            let at = at.index(text.len());
            let end = (at + removed).min(text.len());
            text.splice(at..end, inserted.chars());
        }
        let text: String = text.into_iter().collect();
        build(Scenario::from_toml(&text))?;
        build(Scenario::from_json(&text))?;
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*|[ -~\n]*") {
        build(Scenario::from_toml(&text))?;
        build(Scenario::from_json(&text))?;
    }
}

/// Each error is one line. What is read becomes a network or an error, unless that would take long.
fn build(read: Result<Scenario, ScenarioError>) -> Result<(), TestCaseError> {
    let outcome = match read {
        Ok(scenario) if scenario.hosts() > 5000 || scenario.most_flows() > 20_000 => return Ok(()),
        Ok(scenario) => scenario.network(1).map(|network| {
            assert!(!network.flows.is_empty());
            for flow in &network.flows {
                assert!(!flow.forward.is_empty());
                assert!(
                    flow.forward
                        .iter()
                        .chain(&flow.reverse)
                        .all(|link| (*link as usize) < network.links.len())
                );
            }
        }),
        Err(error) => Err(error),
    };
    if let Err(error) = outcome {
        prop_assert_eq!(error.to_string().lines().count(), error.each().len());
        let lines = error.each().iter().map(ToString::to_string);
        for line in lines {
            prop_assert!(!line.is_empty() && !line.chars().any(char::is_control), "{:?}", line);
            prop_assert!(line.len() < 600, "{}", line);
        }
    }
    Ok(())
}

/// Replaces, removes, renames or adds, at the n-th place of the file (counted round).
fn do_damage(file: &mut Value, n: usize, what: u8, value: Value) {
    let mut places = Vec::new();
    find_places(file, String::new(), &mut places);
    if places.is_empty() {
        return;
    }
    let place = places[n % places.len()].clone();
    let (parent, key) = place.rsplit_once('/').unwrap_or(("", ""));
    let Some(parent) = file.pointer_mut(parent) else { return };
    let key = key.replace("~1", "/").replace("~0", "~");
    match (parent, what) {
        (Value::Object(table), 0) => _ = table.insert(key, value),
        (Value::Object(table), 1) => _ = table.shift_remove(&key),
        (Value::Object(table), 2) => {
            let held = table.shift_remove(&key).unwrap_or_default();
            table.insert(format!("{key}s"), held);
        }
        (Value::Object(table), _) => {
            _ = table.insert(value.as_str().unwrap_or("more").to_owned(), value.clone())
        }
        (Value::Array(list), 1) => _ = list.pop(),
        (Value::Array(list), 0) => _ = key.parse::<usize>().map(|i| list[i] = value),
        (Value::Array(list), _) => list.push(value),
        _ => {}
    }
}

/// JSON pointers of everything below `value`.
fn find_places(value: &Value, path: String, places: &mut Vec<String>) {
    let mut below = |key: String, value: &Value| {
        let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        find_places(value, path.clone(), places);
        places.push(path);
    };
    match value {
        Value::Object(table) => table.iter().for_each(|(key, value)| below(key.clone(), value)),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, value)| below(i.to_string(), value)),
        _ => {}
    }
}

/// Values that somewhere mean something, and others.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(vec![
            "",
            "0 s",
            "1 ns",
            "584 years",
            "1e9 s",
            "1e-9 s",
            "0 B",
            "1 B",
            "1e19 B",
            "5 packets",
            "0 packets",
            "1e19 packets",
            "0.1 BDP",
            "1e300 BDP",
            "0 BDP",
            "1 bit/s",
            "1e19 bit/s",
            "1 ms .. 2 ms",
            "2 ms .. 1 ms",
            "1 bit/s .. 1e19 bit/s",
            "0 s .. 1e10 s",
            "core",
            "core.reverse",
            "left",
            "right.*",
            "*",
            "**",
            "a",
            "b",
            "r",
            "r-s",
            "edge",
            "edge 10 ms",
            "qlbp load = 0.9, max_delay = 1 ms",
            "qlbp load = 9",
            "host",
            "port",
            "host wei",
            "none",
            "none 5",
            "cbr",
            "bulk",
            "poisson",
            "path",
            "tandem",
            "graph",
            "ns2",
            "rfc",
            "front",
            "reverse",
            "\u{2028}",
            "name",
            "hops",
            "template",
            "kind",
        ])
        .prop_map(Value::from),
        prop::sample::select(vec![
            json!(0),
            json!(1),
            json!(3),
            json!(-1),
            json!(i64::MAX),
            json!(0.5),
            json!(1.5),
            json!(1e308),
            json!(true),
            json!(false),
            json!([]),
            json!({}),
            json!([1]),
            json!(["a"]),
            json!([["core"]]),
            json!({ "a": 1 }),
        ]),
        "\\PC{0,8}".prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(|_| Value::Object(Map::new())),
    ]
}
