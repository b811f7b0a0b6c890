//! From `[[traffic]]` to flows: pairs of hosts, routes, starts.

use paceline_core::Instant;
use paceline_tcp::config::Profile;

use super::error::ScenarioError;
use super::names::Names;
use super::routes::Routes;
use super::traffic::{HostNames, Kind, MOST_FLOWS, Traffic};
use crate::network::{FlowKind, FlowSpec, HostId};
use crate::template::draw::Draw;
use crate::template::layout::Layout;

type Result<T> = std::result::Result<T, ScenarioError>;

/// Every flow, unpaced, in the order of the file, and the profile that its constants come from.
pub(crate) fn flows(
    all: &[Traffic],
    layout: &Layout,
    names: &Names<'_>,
    draw: Draw,
) -> Result<(Vec<FlowSpec>, Vec<Profile>)> {
    let mut routes = Routes::new(layout);
    let mut flows = Vec::new();
    let mut profiles = Vec::new();
    for traffic in all {
        let pairs = pairs(traffic, layout, names)?;
        if flows.len() as u64 + pairs.len() as u64 * traffic.count > MOST_FLOWS {
            let problem = format!("makes more than {MOST_FLOWS} flows; write a smaller count");
            return Err(ScenarioError::at(&format!("{}.count", traffic.path), problem));
        }
        let mut number = 0;
        for (source, sink) in pairs {
            let no_route = |from: HostId, to: HostId| {
                let (from, to) = (&layout.hosts[from as usize], &layout.hosts[to as usize]);
                let problem = format!("no way from {from} to {to}; add a link, or write other hosts");
                ScenarioError::at(&traffic.path, problem)
            };
            let forward = routes.there(source, sink).ok_or_else(|| no_route(source, sink))?;
            let reverse = match &traffic.kind {
                Kind::OpenLoop { .. } => Vec::new(),
                Kind::Bulk { .. } => {
                    routes.back(source, sink, &forward).ok_or_else(|| no_route(sink, source))?
                }
            };
            for _ in 0..traffic.count {
                let name = format!("{}.{number}", traffic.name);
                number += 1;
                profiles.push(traffic.kind.profile());
                flows.push(FlowSpec {
                    start: Instant::ZERO + draw.span(traffic.start, &name, "start"),
                    kind: traffic.kind.of_flow(&name, draw),
                    name,
                    source,
                    sink,
                    forward: forward.clone(),
                    reverse: reverse.clone(),
                    paced: false,
                });
            }
        }
    }
    Ok((flows, profiles))
}

/// Who sends to whom: host i of `from` to host i of `to`, the shorter list in turn; without `to`, to its partner.
fn pairs(traffic: &Traffic, layout: &Layout, names: &Names<'_>) -> Result<Vec<(HostId, HostId)>> {
    let hosts = |named: &HostNames| match names.hosts(named)? {
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
    fn profile(&self) -> Profile {
        match self {
            Kind::Bulk { profile, .. } => *profile,
            Kind::OpenLoop { .. } => Profile::Rfc,
        }
    }

    fn of_flow(&self, name: &str, draw: Draw) -> FlowKind {
        match self {
            Kind::Bulk { tcp, packets, .. } => FlowKind::Bulk { tcp: tcp.clone(), packets: *packets },
            Kind::OpenLoop { poisson, rate, bytes, payload, stop } => FlowKind::OpenLoop {
                bytes: *bytes,
                payload: *payload,
                rate: draw.rate(*rate, name),
                poisson: *poisson,
                stop: stop.map(|stop| Instant::ZERO + stop),
            },
        }
    }
}
