//! Probes at random: any few of them, on all links, on one, or where they are by default.

use super::networks::Layout;
use proptest::prelude::*;
use proptest::sample::Index;

/// `[probes]`.
#[derive(Debug, Clone)]
pub(crate) struct Probes {
    which: Vec<&'static str>,
    link: Option<Index>,
}

/// LINKS is where it looks, FLOWS a flow of TCP.
const PROBES: &[&str] = &[
    "queue = { LINKS, every = \"7 ms\" }",
    "departures = { LINKS, from = \"20 ms\", to = \"90 ms\" }",
    "window = [{ FLOWS, every = \"7 ms\" }, { FLOWS, every = \"change\" }]",
    "rate_variation = [{ LINKS, finest = \"1 ms\" }, { LINKS, at = \"arrival\" }]",
    "auto_covariance = [{ LINKS, at = \"arrival\", lags = 3 }, { LINKS, lags = 2 }]",
    "succession = [{ LINKS, by = \"traffic\" }, { LINKS, by = \"pacing\" }]",
    "bursts = [{ LINKS }, { LINKS, of = \"flow\", gap = \"1 ms\" }]",
    "drop_events = [{ LINKS, length = \"20 ms\" }, { LINKS, gap = \"5 ms\" }]",
    "drops = { LINKS, every = \"9 ms\" }",
    "delay = [{ by = \"traffic\" }, { until = \"arrival\" }]",
    "sojourn = [{ LINKS }, { LINKS, by = \"traffic\" }]",
    "transfers = { by = \"traffic\" }",
    "fairness = { window = \"40 ms\", every = \"10 ms\" }",
    "throughput = { LINKS, by = \"traffic\", every = \"33 ms\" }",
];

/// None, or the default ones, or any.
pub(crate) fn probes() -> impl Strategy<Value = Option<Probes>> {
    let which = prop::sample::subsequence(PROBES, 0..=4);
    prop::option::weighted(
        0.7,
        (which, prop::option::of(any::<Index>())).prop_map(|(which, link)| Probes { which, link }),
    )
}

impl Probes {
    /// The table; `tcp` is the number of a traffic that is TCP.
    pub(crate) fn text(&self, layout: &Layout, tcp: Option<usize>) -> String {
        let links = match &self.link {
            Some(link) => format!("links = {:?}", link.get(&layout.links)),
            None => format!("links = {:?}", layout.links),
        };
        let mut text = "[probes]\n".to_owned();
        for probe in self.which.iter().filter(|probe| tcp.is_some() || !probe.contains("FLOWS")) {
            let flows = format!("flows = \"t{}.*\"", tcp.unwrap_or(0));
            text += &format!("{}\n", probe.replace("LINKS", &links).replace("FLOWS", &flows));
        }
        text
    }
}
