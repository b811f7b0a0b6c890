//! A scenario in a few words and groups: for a report's text and its drawing of the network.

use paceline_core::Span;
use paceline_core::pacer::parameters::Value as Parameter;
use paceline_tcp::config::PacingRule;
use serde::Serialize;

use super::Scenario;
use super::buffers::{bandwidth_delay, round_trip};
use super::pacing::{Method, Pacing};
use crate::compile::draw::Draw;
use crate::compile::layout::{Back, Layout, Stage};
use crate::input::Result;
use crate::network::{Network, PortPacing};

/// What a report prints of a scenario. Seconds and bytes where the name has them; quantities in text as one would write
/// them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Description {
    /// As in the file; empty if it has none.
    pub title: String,
    /// `dumbbell`, `path`, …
    pub template: &'static str,
    /// End of the simulated time, seconds.
    pub duration_s: f64,
    /// Statistics start here, seconds.
    pub warmup_s: f64,
    /// Hosts in the network.
    pub hosts: u64,
    /// Flows in the network.
    pub flows: u64,
    /// Name of the link that the network is about.
    pub core: String,
    /// Its buffer: `5 KB`; `None` is unlimited.
    pub buffer: Option<String>,
    /// The least propagation round-trip time that any seed can draw, seconds.
    pub rtt_min_s: f64,
    /// The greatest, seconds.
    pub rtt_max_s: f64,
    /// Bandwidth-delay product of the core, bytes: its rate times the mean propagation round-trip time of its flows
    /// as this seed draws them; `None` where no flow passes.
    pub bdp_bytes: Option<u64>,
    /// Each method at work: `edge 10 ms`; `none` where there is none.
    pub pacing: Vec<String>,
    /// Nodes that are alike.
    pub nodes: Vec<NodeGroup>,
    /// Forward links that are alike.
    pub links: Vec<LinkGroup>,
}

/// Nodes that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeGroup {
    /// `left`, `edge.l`, … or the node's own name.
    pub name: String,
    /// Whether traffic starts and ends there.
    pub is_host: bool,
    /// How many there are.
    pub count: u32,
}

/// Links that are alike, in the direction of the data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkGroup {
    /// `access.l`, `core`, … or the link's own name.
    pub name: String,
    /// Position in [`Description::nodes`].
    pub from: usize,
    /// Position in [`Description::nodes`].
    pub to: usize,
    /// How many there are.
    pub count: u32,
    /// `8 Mbit/s .. 12 Mbit/s`.
    pub rate: String,
    /// `1 ms .. 5 ms`.
    pub delay: String,
    /// `5 KB`; `None` is unlimited.
    pub buffer: Option<String>,
    /// The queue discipline, `fq-codel`; `None` is drop-tail.
    pub queue: Option<String>,
    /// What its policer lets through: `10 Mbit/s, burst 15 KB`.
    pub policer: Option<String>,
    /// The memory that it shares, and with how many links: `300 KB, shared by 2 links`.
    pub memory: Option<String>,
    /// Whether packets can go back over them.
    pub two_way: bool,
    /// How many have a pacer.
    pub paced: u32,
    /// The pacer: `edge delay = 10 ms, release = start`.
    pub pacer: Option<String>,
}

impl Scenario {
    /// What a report prints of the scenario as this seed draws it. Refuses what [`Scenario::network`] refuses.
    pub fn describe(&self, seed: u64) -> Result<Description> {
        let network = self.network(seed)?;
        let layout = self.template.layout(Draw::Seeded(seed));
        let (lowest, highest) = (self.template.layout(Draw::Lowest), self.template.layout(Draw::Highest));
        let least = network.flows.iter().map(|flow| round_trip(&lowest, flow)).min();
        let most = network.flows.iter().map(|flow| round_trip(&highest, flow)).max();
        let seconds = |nanos: Option<u64>| Span::from_nanos(nanos.unwrap_or(0)).as_seconds();
        let core = &layout.links[network.core as usize];
        let pacing = match self.pacing.as_slice() {
            [] => vec!["none".to_owned()],
            all => all.iter().map(Pacing::in_words).collect(),
        };
        let nodes = layout.nodes.iter();
        Ok(Description {
            title: self.title.clone(),
            template: self.template.name(),
            duration_s: self.duration.as_seconds(),
            warmup_s: self.warmup.as_seconds(),
            hosts: self.hosts(),
            flows: network.flows.len() as u64,
            core: core.name.to_string(),
            buffer: layout.plan_of(core).buffer.map(|buffer| buffer.to_string()),
            rtt_min_s: seconds(least),
            rtt_max_s: seconds(most),
            bdp_bytes: bandwidth_delay(&layout, &network.flows, network.core),
            pacing,
            nodes: nodes
                .map(|node| NodeGroup { name: node.name.clone(), is_host: node.is_host, count: node.count })
                .collect(),
            links: link_groups(&layout, &network),
        })
    }
}

fn link_groups(layout: &Layout, network: &Network) -> Vec<LinkGroup> {
    let group = |stage: &Stage| LinkGroup {
        name: stage.name.clone(),
        from: stage.from,
        to: stage.to,
        count: 0,
        rate: stage.plan.rate.to_string(),
        delay: stage.plan.delay.to_string(),
        buffer: stage.plan.buffer.map(|buffer| buffer.to_string()),
        queue: (stage.plan.discipline.name != "drop-tail").then(|| stage.plan.discipline.name.clone()),
        policer: stage.plan.policer.map(|policer| format!("{}, burst {}", policer.rate, policer.burst)),
        memory: None,
        two_way: stage.back != Back::None,
        paced: 0,
        pacer: None,
    };
    let mut groups: Vec<LinkGroup> = layout.stages.iter().map(group).collect();
    let links = layout.links.iter().zip(&network.links).enumerate();
    for (number, (laid, link)) in links.filter(|(_, (laid, _))| !laid.reversed) {
        let group = &mut groups[laid.stage as usize];
        group.count += 1;
        if let Some(memory) = network.memory_of(number as u32) {
            group.memory = Some(format!("{}, shared by {} links", memory.size, memory.links.len()));
        }
        if let Some(pacer) = &link.fitting.pacer {
            group.paced += 1;
            group.pacer.get_or_insert_with(|| pacer.method.to_string());
        }
    }
    groups
}

impl Pacing {
    /// As one would write it in short: `edge 10 ms`, `host gain 1.25`, `qlbp load 0.9 max_delay 10 ms on 30 %`.
    pub(super) fn in_words(&self) -> String {
        let mut words = Vec::new();
        match &self.method {
            Method::None => words.push("none".to_owned()),
            Method::Host { rule, gain, jitter, quantum, .. } => {
                words.push("host".to_owned());
                let named = PacingRule::ALL.iter().find(|(_, other)| Some(*other) == *rule);
                words.extend(named.map(|(name, _)| (*name).to_owned()));
                words.extend((*gain != 1.0).then(|| format!("gain {gain}")));
                words.extend((*jitter != 0.0).then(|| format!("jitter {jitter}")));
                words.extend(quantum.map(|packets| format!("quantum {packets} packets")));
            }
            Method::Port { per_flow, pacing: PortPacing { gain, cap }, .. } => {
                words.push("port".to_owned());
                words.extend((*gain != 1.0).then(|| format!("gain {gain}")));
                words.extend(cap.map(|rate| format!("cap {rate}")));
                words.extend((!per_flow).then(|| "without per-flow pacing".to_owned()));
            }
            Method::Link(link) => {
                words.push(link.named.name.clone());
                for (i, (key, value)) in link.named.parameters.iter().enumerate() {
                    let value = match value {
                        Parameter::Text(text) => text.clone(),
                        other => other.to_string(),
                    };
                    let alone = i == 0 && link.named.parameters.len() == 1;
                    words.push(if alone { value } else { format!("{key} {value}") });
                }
                words.extend(link.at.as_ref().map(|at| format!("at {}", at.names.join(", "))));
                words.extend(link.acks.then(|| "both ways".to_owned()));
            }
        }
        words.extend((self.share < 1.0).then(|| format!("on {} %", self.share * 100.0)));
        words.join(" ")
    }
}
