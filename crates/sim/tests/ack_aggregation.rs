//! A way back that sends at granted times only: acknowledgements come in bunches, and what they clock leaves in bursts.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use crate::sweeps::settings;
use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Scenario};
use serde_json::Value;
use std::path::Path;

/// Of `scenarios/ack-aggregation.toml` with 80 packets of buffer: the share of data that leaves the senders just after a grant, in the second half.
///
/// A grant begins 7.5 ms into each 8 and lasts half a millisecond; its acknowledgements are at the senders 10 ms later, and 1.1 us, for two links.
fn share_after_a_grant(pacing: &str) -> f64 {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/ack-aggregation.toml");
    let file: Value = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let is_asked = |setting: &Value| {
        let buffer = &setting["network"]["links"][1]["buffer"];
        (buffer == "80 packets" || buffer["limit"] == "80 packets")
            && setting["pacing"].to_string().contains(pacing)
    };
    let setting = settings(file).into_iter().find(is_asked).unwrap();
    let network = Scenario::from_json(&setting.to_string()).unwrap().network(1).unwrap();
    let mut rows: Vec<TraceRow> = Vec::new();
    Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
    let sent = rows
        .iter()
        .filter(|row| row.place == 0 && row.event == TraceEvent::Enqueue && row.time_ns > 30_000_000_000);
    let after = |row: &&TraceRow| (1_500_000..2_010_000).contains(&(row.time_ns % 8_000_000));
    let (all, bunched) = (sent.clone().count(), sent.filter(after).count());
    assert!(all > 100_000, "{all}");
    bunched as f64 / all as f64
}

#[test]
fn unpaced_data_leave_after_a_grant_and_paced_data_at_any_time() {
    let unpaced = share_after_a_grant("none");
    assert!(unpaced > 0.999, "{unpaced}");
    // A sixteenth of the time, at 1.2 windows a round trip; and each of four flows begins with two packets at once, of the 33 that leave a grant.
    let most = 1.2 / 16.0 + 8.0 / 33.0;
    let paced = share_after_a_grant("host");
    assert!((1.0 / 16.0..most).contains(&paced), "{paced}");
}
