//! Scenarios as they are read: what the networks are that they become.

use paceline_sim::Scenario;

const EDGE_VS_HOST: &str = include_str!("../../../scenarios/edge-vs-host.toml");

#[test]
fn the_demo_has_the_round_trip_times_of_its_paper() {
    let scenario = Scenario::from_toml(EDGE_VS_HOST).unwrap();
    let network = scenario.network(1).unwrap();
    assert_eq!((network.hosts.len(), network.flows.len()), (2000, 1000));
    assert_eq!(network.links.len(), 2 * (2 * 1010 + 1));
    for flow in &network.flows {
        let way =
            |links: &[u32]| links.iter().map(|l| network.links[*l as usize].delay.as_nanos()).sum::<u64>();
        let rtt = way(&flow.forward) + way(&flow.reverse);
        assert_eq!((flow.forward.len(), flow.reverse.len()), (5, 5));
        assert!((224_000_000..=280_000_000).contains(&rtt), "{rtt}");
    }
    let described = scenario.describe(1).unwrap();
    println!("{}", serde_json::to_string_pretty(&described).unwrap());
    assert_eq!((described.rtt_min_s, described.rtt_max_s), (0.224, 0.280));
}
