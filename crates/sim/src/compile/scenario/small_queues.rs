//! `tsq`: which links are the queue of a host's own interface, and whether they can be.
//!
//! *Idea.* What TCP small queues count waits before the first link of a flow's way. A host knows when its packets leave there if it alone feeds that link, and if
//! what becomes of a packet is known as it arrives. Where that is not so, the scenario is refused.

use super::traffic::Traffic;
use crate::input::{Result, ScenarioError};
use crate::network::{LinkId, Network};
use paceline_core::Span;
use paceline_core::queue::Ties;

/// Refuses a network where some host cannot know when its packets leave.
pub(crate) fn check(network: &Network, traffic: &[Traffic]) -> Result<()> {
    let own = network.own_queues();
    if own.is_empty() {
        return Ok(());
    }
    let mut is_fed = vec![false; network.links.len()];
    for way in network.flows.iter().flat_map(|flow| [&flow.forward, &flow.reverse]) {
        way.iter().skip(1).for_each(|link| is_fed[*link as usize] = true);
    }
    for flow in network.flows.iter().filter(|flow| flow.kind.tcp().is_some_and(|tcp| tcp.tsq.is_some())) {
        let link = flow.forward[0];
        let (host, name) = (&network.hosts[flow.source as usize], &network.links[link as usize].name);
        let has_overhead = flow.kind.tcp().is_some_and(|tcp| tcp.overhead > Span::ZERO);
        let problem = if has_overhead {
            String::from("overhead is a wait of the host too; write one of them")
        } else if is_fed[link as usize] {
            format!(
                "{name}, the first link of {}, also takes packets from other links; write hosts with links of their own",
                host.name
            )
        } else if host.port.is_some() {
            format!("{} paces its port, where packets wait as well; write tsq = false", host.name)
        } else if let Some(what) = obstacle(network, link) {
            format!(
                "{name}, the first link of {}, has {what}; put that on a later link, or write tsq = false",
                host.name
            )
        } else {
            continue;
        };
        let path = traffic.iter().find(|one| one.name == flow.traffic()).map_or("traffic", |one| &one.path);
        return Err(ScenarioError::at(&format!("{path}.tcp.tsq"), problem));
    }
    Ok(())
}

/// What makes a link's departures unknown to its host.
fn obstacle(network: &Network, link: LinkId) -> Option<&'static str> {
    let fitting = &network.links[link as usize].fitting;
    let buffer = &fitting.buffer;
    let obstacles = [
        (fitting.pacer.is_some(), "a pacer"),
        (fitting.policer.is_some(), "a policer"),
        (fitting.varying.is_some(), "a rate that varies"),
        (!buffer.discipline.has_closed_form(buffer.limit.is_some()), "another queue than drop-tail"),
        (buffer.limit.is_some() && buffer.ties == Ties::Ns2, "a buffer with ns-2's ties"),
        (network.memory_of(link).is_some(), "a memory that it shares"),
        (network.drops.iter().any(|drop| drop.link == link && !drop.marks), "forced losses"),
    ];
    obstacles.into_iter().find_map(|(has, what)| has.then_some(what))
}
