//! A scenario with the toys under both engines.

use paceline_sim::{Control, Engine, Method, Scenario};

const SCENARIO: &str = r#"
duration = "10 s"
[network]
template = "path"
links = [{ name = "wire", rate = { square = "8 Mbit/s", half = "500 ms" }, delay = "10 ms", buffer = "20 KB" }]
[[traffic]]
kind = "drip"
size = "2 KB"
times = 3
start = "2 s"
[probes]
silence = { links = "wire", from = "1 s", to = "3 s" }
"#;

fn main() {
    let outputs = [Method::Reference, Method::Windowed].map(|method| {
        let network = Scenario::from_toml(SCENARIO).unwrap().network(1).unwrap();
        Engine::run_by(&network, method, 1, &Control::default(), None).unwrap()
    });
    let network = Scenario::from_toml(SCENARIO).unwrap().network(1).unwrap();
    assert_eq!(network.links[0].rate.bits_per_second(), 4_000_000);
    for output in &outputs {
        let sizes: Vec<u64> = output.flow_rows[0].transfers.iter().map(|one| one.bytes).collect();
        assert_eq!(sizes, [2000; 3]);
        // Nothing leaves from 1 s on until the first SYN, at 2 s; later the wire is idle for a round trip at most.
        let [silence] = &output.curves[..] else { panic!("{:?}", output.curves) };
        assert_eq!((silence.instrument, silence.link.as_str()), ("silence", "wire"));
        assert_eq!(silence.points[0].y, 1.0);
    }
    for (right, wrong) in [("times", "tmes"), ("silence", "silense"), ("from", "form"), ("half", "halve")] {
        let error = Scenario::from_toml(&SCENARIO.replace(right, wrong)).unwrap_err().to_string();
        assert!(error.contains(right), "{error}");
    }
}
