//! Puts pacing methods to work: which hosts, which links, and which flows that paces.

use paceline_core::pacer::PacerSpec;
use paceline_tcp::config::{Config, HostPacing, PacingRule, Profile};

use super::names::{NameList, Names};
use super::pacing::{LinkMethod, Method, Pacing};
use super::settings::Settings;
use crate::compile::layout::Layout;
use crate::compile::link_plan::LinkPlan;
use crate::input::{Result, ScenarioError};
use crate::kernel::chance::Stream;
use crate::network::{FlowSpec, HostId, LinkId, PortPacing};

/// Hosts and links with the methods that act on them.
#[derive(Debug)]
pub(crate) struct Deployment {
    /// For each host: its port's pacing, where there is one.
    pub(crate) ports: Vec<Option<PortPacing>>,
    /// For each link.
    pub(crate) pacers: Vec<Option<Box<PacerSpec>>>,
    /// For each method of the file, in its order.
    pub(crate) sites: Vec<Site>,
}

/// Where a method could act, and where it does.
#[derive(Debug, Default)]
pub(crate) struct Site {
    /// How many hosts or links it could act on: those that `at` names, or the default.
    pub(crate) candidates: usize,
    /// The hosts or links that its share takes, those for acknowledgements aside.
    pub(crate) chosen: Vec<u32>,
}

/// What to deploy in, and where each flow's constants came from.
#[derive(Debug)]
pub(crate) struct Context<'a, 'n> {
    pub(crate) layout: &'a Layout,
    pub(crate) names: &'a Names<'n>,
    /// For each flow.
    pub(crate) profiles: &'a [Profile],
    pub(crate) seed: u64,
}

/// Deploys every method; marks the flows that they act on.
pub(crate) fn deploy(
    all: &[Pacing],
    context: &Context<'_, '_>,
    flows: &mut [FlowSpec],
) -> Result<Deployment> {
    let mut deployment = Deployment {
        ports: vec![None; context.layout.hosts.len()],
        pacers: vec![None; context.layout.links.len()],
        sites: Vec::with_capacity(all.len()),
    };
    for pacing in all {
        let site = match &pacing.method {
            Method::None => Site::default(),
            Method::Host { rule, gain, jitter, quantum, at } => {
                let site = chosen_hosts(pacing, at.as_ref(), context, flows)?;
                let paced = site.among(context.layout.hosts.len());
                pace_flows(pacing, context, flows, &paced, |profile| HostPacing {
                    rule: rule.unwrap_or_else(|| PacingRule::of_profile(profile)),
                    gain: *gain,
                    jitter: *jitter,
                    quantum: *quantum,
                })?;
                site
            }
            Method::Port { per_flow, pacing: of_port, at } => {
                let site = chosen_hosts(pacing, at.as_ref(), context, flows)?;
                let paced = site.among(context.layout.hosts.len());
                let hosts = deployment.ports.iter_mut().zip(&context.layout.hosts).zip(&paced);
                for ((port, name), _) in hosts.filter(|(_, paced)| **paced) {
                    if port.replace(*of_port).is_some() {
                        let problem = format!("{name} is port-paced already; write other hosts in at");
                        return Err(ScenarioError::at(&pacing.path, problem));
                    }
                }
                if *per_flow {
                    pace_flows(pacing, context, flows, &paced, |profile| HostPacing {
                        rule: PacingRule::of_profile(profile),
                        gain: 1.0,
                        jitter: 0.0,
                        quantum: None,
                    })?;
                } else {
                    flows.iter_mut().for_each(|flow| flow.paced |= paced[flow.source as usize]);
                }
                site
            }
            Method::Link(method) => place_pacers(pacing, method, context, &mut deployment.pacers)?,
        };
        deployment.sites.push(site);
    }
    for flow in flows {
        flow.paced |= flow.forward.iter().any(|link| deployment.pacers[*link as usize].is_some());
    }
    Ok(deployment)
}

impl Site {
    /// For each of so many hosts or links, whether it is chosen.
    fn among(&self, count: usize) -> Vec<bool> {
        let mut chosen = vec![false; count];
        self.chosen.iter().for_each(|id| chosen[*id as usize] = true);
        chosen
    }
}

/// The hosts that a method is deployed on.
fn chosen_hosts(
    pacing: &Pacing,
    at: Option<&NameList>,
    context: &Context<'_, '_>,
    flows: &[FlowSpec],
) -> Result<Site> {
    let mut sends_tcp = vec![false; context.layout.hosts.len()];
    for flow in flows.iter().filter(|flow| flow.kind.tcp().is_some()) {
        sends_tcp[flow.source as usize] = true;
    }
    let candidates: Vec<HostId> = match at {
        Some(named) => context.names.hosts(named)?,
        None => (0..context.layout.hosts.len() as HostId).collect(),
    };
    let candidates: Vec<HostId> = candidates.into_iter().filter(|host| sends_tcp[*host as usize]).collect();
    if candidates.is_empty() {
        let problem =
            "none of the hosts sends TCP, which is what this paces; write a method that actions on links";
        return Err(ScenarioError::at(&pacing.path, problem));
    }
    let name_of = |host: HostId| context.layout.hosts[host as usize].as_str();
    let chosen = share_of(&candidates, pacing, context.seed, name_of);
    Ok(Site { candidates: candidates.len(), chosen })
}

fn pace_flows(
    pacing: &Pacing,
    context: &Context<'_, '_>,
    flows: &mut [FlowSpec],
    at: &[bool],
    pacing_of: impl Fn(Profile) -> HostPacing,
) -> Result<()> {
    let mut settings = Settings::default();
    let all = flows.iter_mut().zip(context.profiles);
    for (flow, profile) in all.filter(|(flow, _)| at[flow.source as usize]) {
        let Some(tcp) = flow.kind.tcp_mut() else { continue };
        if tcp.pacing.is_some() {
            let name = &context.layout.hosts[flow.source as usize];
            let problem = format!("{name} is host-paced already; write other hosts in at");
            return Err(ScenarioError::at(&pacing.path, problem));
        }
        *tcp = settings.shared(Config { pacing: Some(pacing_of(*profile)), ..Config::clone(tcp) });
        flow.paced = true;
    }
    Ok(())
}

fn place_pacers(
    pacing: &Pacing,
    method: &LinkMethod,
    context: &Context<'_, '_>,
    pacers: &mut [Option<Box<PacerSpec>>],
) -> Result<Site> {
    let layout = context.layout;
    let candidates = links_of(pacing, method.at.as_ref(), context)?;
    let name_of = |link: LinkId| layout.links[link as usize].name.as_str();
    let chosen = share_of(&candidates, pacing, context.seed, name_of);
    let mut placed = chosen.clone();
    if method.acks {
        let mut taken = vec![false; layout.links.len()];
        placed.iter().for_each(|link| taken[*link as usize] = true);
        for &link in &chosen {
            let Some(mirror) = layout.links[link as usize].mirror else {
                let problem = format!("{} has no way back to pace; leave acks out", name_of(link));
                return Err(ScenarioError::at(&format!("{}.acks", pacing.path), problem));
            };
            if !std::mem::replace(&mut taken[mirror as usize], true) {
                placed.push(mirror);
            }
        }
    }
    for link in placed {
        let laid = &layout.links[link as usize];
        if pacers[link as usize].is_some() {
            let problem = format!("{} has a pacer already; write other links in at", laid.name);
            return Err(ScenarioError::at(&pacing.path, problem));
        }
        let plan = layout.plan_of(laid);
        let no_bdp = || {
            let path = format!("{}.pacer_buffer", plan.path);
            Err(ScenarioError::at(&path, "a BDP is no measure for a pacer; write bytes or packets"))
        };
        let limit = plan.pacer_buffer.map(|size| LinkPlan::limit(size, no_bdp)).transpose()?;
        let pacer = PacerSpec { limit, ..method.pacer(&pacing.path, laid.rate)? };
        pacers[link as usize] = Some(Box::new(pacer));
    }
    Ok(Site { candidates: candidates.len(), chosen })
}

/// The links that a method acts on.
fn links_of(pacing: &Pacing, at: Option<&NameList>, context: &Context<'_, '_>) -> Result<Vec<LinkId>> {
    match at {
        Some(named) => context.names.links(named),
        None if context.layout.pacable.is_empty() => {
            let core = &context.layout.links[context.layout.core as usize].name;
            let problem = format!("missing; write the links to pace, for example at = \"{core}\"");
            Err(ScenarioError::at(&format!("{}.at", pacing.path), problem))
        }
        None => Ok(context.layout.pacable.clone()),
    }
}

/// floor(share n + 1/2) of the candidates: those with the least draws, each from a stream of its own, so that a larger
/// share holds the smaller one, and one host more moves no other's draw.
fn share_of<'n>(
    candidates: &[u32],
    pacing: &Pacing,
    seed: u64,
    name_of: impl Fn(u32) -> &'n str,
) -> Vec<u32> {
    let count = ((pacing.share * candidates.len() as f64 + 0.5) as usize).min(candidates.len());
    if count == candidates.len() {
        return candidates.to_vec();
    }
    let draw = |id: u32| Stream::of(seed, name_of(id), "share").between(0, u64::MAX);
    let mut drawn: Vec<(u64, u32)> = candidates.iter().map(|id| (draw(*id), *id)).collect();
    drawn.sort_unstable();
    let mut chosen: Vec<u32> = drawn[..count].iter().map(|(_, id)| *id).collect();
    chosen.sort_unstable();
    chosen
}
