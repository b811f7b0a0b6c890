//! From `[[traffic]]` to flows: pairs of hosts, routes, starts.

use std::collections::HashMap;
use std::sync::Arc;

use paceline_core::Instant;
use paceline_tcp::config::Profile;
use smol_str::format_smolstr;

use super::names::{NameList, Names};
use super::routes::Routes;
use super::settings::Settings;
use super::traffic::{DialogueTraffic, Kind, MOST_FLOWS, Script, Traffic};
use crate::compile::draw::Draw;
use crate::compile::layout::Layout;
use crate::input::{Result, ScenarioError};
use crate::network::{FlowKind, FlowSpec, HostId, LinkId, Name, Part};
use crate::workload::cvec::Vector;
use crate::workload::{DialogueSpec, Side};

/// Every flow, unpaced, in the order of the file, and the profile that its constants come from.
pub(crate) fn flows(
    all: &[Traffic],
    layout: &Layout,
    names: &Names<'_>,
    draw: Draw,
) -> Result<(Vec<FlowSpec>, Vec<Profile>)> {
    let mut routes = Routes::new(layout);
    let mut all_flows = Flows::default();
    for traffic in all {
        let pairs = pairs(traffic, layout, names)?;
        let more = traffic.kind.flows(pairs.len() as u64, traffic.count);
        if (all_flows.specs.len() as u64).saturating_add(more) > MOST_FLOWS {
            let problem = format!("makes more than {MOST_FLOWS} flows; write a smaller count");
            return Err(ScenarioError::at(&format!("{}.count", traffic.path), problem));
        }
        all_flows.specs.reserve(more as usize);
        let mut way = |(source, sink): (HostId, HostId)| {
            let no_route = |from: HostId, to: HostId| {
                let (from, to) = (&layout.hosts[from as usize], &layout.hosts[to as usize]);
                let problem = format!("no way from {from} to {to}; add a link, or write other hosts");
                ScenarioError::at(&traffic.path, problem)
            };
            let forward = routes.there(source, sink).ok_or_else(|| no_route(source, sink))?;
            let reverse = match &traffic.kind {
                Kind::OpenLoop(_) => Box::default(),
                Kind::Bulk { .. } | Kind::Dialogue(_) => {
                    routes.back(source, sink, &forward).ok_or_else(|| no_route(sink, source))?
                }
            };
            Ok(Way { source, sink, forward, reverse })
        };
        match &traffic.kind {
            Kind::Dialogue(DialogueTraffic { script: Script::Vectors { vectors, .. }, .. }) => {
                let ways = pairs.into_iter().map(way).collect::<Result<Vec<_>>>()?;
                let ways = ways.iter().cycle(); // connections are dealt to the pairs in turn
                for (number, (vector, way)) in (0..).zip(vectors.iter().zip(ways)) {
                    all_flows.add(traffic, number, way, Some(vector), draw);
                }
            }
            _ => {
                for (i, pair) in (0..).zip(pairs) {
                    let way = way(pair)?;
                    for number in i * traffic.count..(i + 1) * traffic.count {
                        all_flows.add(traffic, number, &way, None, draw);
                    }
                }
            }
        }
    }
    Ok((all_flows.specs, all_flows.profiles))
}

/// [`crate::network::Network::classes`] of these flows.
pub(crate) fn classes(all: &[Traffic], flows: &[FlowSpec]) -> Arc<[u8]> {
    if all.iter().all(|traffic| traffic.class == 0) {
        return Arc::default();
    }
    let by_name: HashMap<&str, u8> =
        all.iter().map(|traffic| (traffic.name.as_str(), traffic.class)).collect();
    let class = |flow: &FlowSpec| by_name.get(flow.traffic()).copied().unwrap_or(0);
    flows.iter().flat_map(|flow| [class(flow); 2]).collect()
}

/// Two hosts and the links between them.
struct Way {
    source: HostId,
    sink: HostId,
    forward: Box<[LinkId]>,
    reverse: Box<[LinkId]>,
}

impl Way {
    /// The same from the other end.
    fn turned(&self) -> Way {
        let (forward, reverse) = (self.reverse.clone(), self.forward.clone());
        Way { source: self.sink, sink: self.source, forward, reverse }
    }

    /// A flow on this way, unpaced.
    fn flow(&self, name: Name, start: Instant, kind: FlowKind) -> FlowSpec {
        let (forward, reverse) = (self.forward.clone(), self.reverse.clone());
        FlowSpec { name, source: self.source, sink: self.sink, forward, reverse, start, paced: false, kind }
    }
}

/// Flows as they are made, each with the profile that its constants come from.
#[derive(Default)]
struct Flows {
    specs: Vec<FlowSpec>,
    profiles: Vec<Profile>,
    settings: Settings,
}

impl Flows {
    /// A flow of one traffic, and one back if it answers.
    fn add(&mut self, traffic: &Traffic, number: u64, way: &Way, vector: Option<&Arc<Vector>>, draw: Draw) {
        let name = format_smolstr!("{}.{number}", traffic.name);
        let start = Instant::ZERO + draw.span(traffic.start, &name, "start");
        match (&traffic.kind, vector) {
            (Kind::Bulk { tcp, packets, .. }, _) => {
                let kind = FlowKind::Bulk { tcp: Arc::clone(tcp), packets: *packets };
                self.push(traffic, way.flow(name, start, kind));
            }
            (Kind::OpenLoop(source), _) => {
                let kind = source.of_flow(&name, draw);
                self.push(traffic, way.flow(name, start, kind));
            }
            (Kind::Dialogue(dialogue), Some(vector)) => {
                let talk = DialogueSpec::Vector(Arc::clone(vector));
                self.converse(traffic, dialogue, talk, way, name, start + vector.start);
            }
            (Kind::Dialogue(dialogue), None) => {
                let Script::Same(talk) = &dialogue.script else { return };
                self.converse(traffic, dialogue, talk.clone(), way, name, start);
            }
        }
    }

    /// The flow of one who opens a dialogue, and the flow back if the other answers.
    fn converse(
        &mut self,
        traffic: &Traffic,
        dialogue: &DialogueTraffic,
        talk: DialogueSpec,
        way: &Way,
        name: Name,
        start: Instant,
    ) {
        let mut tcp_of = |side| self.settings.shared(dialogue.tcp_of(side, &talk));
        let (there, back) =
            (tcp_of(Side::Opener), talk.kind().has_flow_back().then(|| tcp_of(Side::Answerer)));
        let back_name = format_smolstr!("{name}{}", Part::BACK);
        let kind = FlowKind::Dialogue { tcp: there, part: Part::Opens(Box::new(talk)) };
        self.push(traffic, way.flow(name, start, kind));
        if let Some(tcp) = back {
            let kind = FlowKind::Dialogue { tcp, part: Part::Answers };
            self.push(traffic, way.turned().flow(back_name, start, kind));
        }
    }

    fn push(&mut self, traffic: &Traffic, flow: FlowSpec) {
        self.specs.push(flow);
        self.profiles.push(traffic.kind.profile());
    }
}

/// Who sends to whom: host i of `from` to host i of `to`, the shorter list in turn; without `to`, to its partner.
fn pairs(traffic: &Traffic, layout: &Layout, names: &Names<'_>) -> Result<Vec<(HostId, HostId)>> {
    let hosts = |named: &NameList| match names.hosts(named)? {
        none if none.is_empty() => {
            Err(ScenarioError::at(&named.path, "a group without hosts; write another"))
        }
        hosts => Ok(hosts),
    };
    let from = traffic.from.as_ref().map(hosts).transpose()?;
    let to = traffic.to.as_ref().map(hosts).transpose()?;
    let partner = |host: HostId, key: &str| {
        layout.partner[host as usize].ok_or_else(|| {
            let name = &layout.hosts[host as usize];
            let problem = format!("missing; {name} has no partner, write for example {key} = \"{name}\"");
            ScenarioError::at(&format!("{}.{key}", traffic.path), problem)
        })
    };
    let pairs: Vec<(HostId, HostId)> = match (from, to) {
        (Some(from), Some(to)) => {
            let count = from.len().max(to.len());
            (0..count).map(|i| (from[i % from.len()], to[i % to.len()])).collect()
        }
        (Some(from), None) => {
            from.into_iter().map(|host| Ok((host, partner(host, "to")?))).collect::<Result<_>>()?
        }
        (None, Some(to)) => {
            to.into_iter().map(|host| Ok((partner(host, "from")?, host))).collect::<Result<_>>()?
        }
        (None, None) if layout.senders.is_empty() => {
            let path = format!("{}.from", traffic.path);
            let problem = "missing; this template has no sides, write for example from = \"a\", to = \"b\"";
            return Err(ScenarioError::at(&path, problem));
        }
        (None, None) => {
            layout.senders.clone().map(|host| Ok((host, partner(host, "to")?))).collect::<Result<_>>()?
        }
    };
    if let Some((host, _)) = pairs.iter().find(|(from, to)| from == to) {
        let name = &layout.hosts[*host as usize];
        let problem = format!("{name} would send to itself; write other hosts in from or to");
        return Err(ScenarioError::at(&traffic.path, problem));
    }
    Ok(pairs)
}

impl Kind {
    /// Traffic without TCP has none of its own.
    pub(super) fn profile(&self) -> Profile {
        match self {
            Kind::Bulk { profile, .. } | Kind::Dialogue(DialogueTraffic { profile, .. }) => *profile,
            Kind::OpenLoop(_) => Profile::DEFAULT,
        }
    }

    /// The most flows on a pair of hosts, or in all where a file lists them.
    pub(crate) fn flows(&self, pairs: u64, count: u64) -> u64 {
        match self {
            Kind::Bulk { .. } | Kind::OpenLoop(_) => pairs.saturating_mul(count),
            Kind::Dialogue(DialogueTraffic { script: Script::Vectors { vectors, .. }, .. }) => {
                2 * vectors.len() as u64
            }
            Kind::Dialogue(_) => pairs.saturating_mul(count).saturating_mul(2),
        }
    }
}
