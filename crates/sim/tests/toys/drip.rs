//! A scenario with the toy under both engines.

use paceline_sim::{Control, Engine, Method, Scenario};

const SCENARIO: &str = r#"
duration = "10 s"
[network]
template = "path"
links = [{ name = "wire", rate = "8 Mbit/s", delay = "10 ms" }]
[[traffic]]
kind = "drip"
size = "2 KB"
times = 3
"#;

fn main() {
    let outputs = [Method::Reference, Method::Windowed].map(|method| {
        let network = Scenario::from_toml(SCENARIO).unwrap().network(1).unwrap();
        Engine::run_by(&network, method, 1, &Control::default(), None).unwrap()
    });
    for output in &outputs {
        let sizes: Vec<u64> = output.flow_rows[0].transfers.iter().map(|one| one.bytes).collect();
        assert_eq!(sizes, [2000; 3]);
    }
    let error = Scenario::from_toml(&SCENARIO.replace("times", "tmes")).unwrap_err().to_string();
    assert!(error.contains("did you mean") || error.contains("times"), "{error}");
}
