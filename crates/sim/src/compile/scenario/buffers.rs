//! Sizes of buffers, once the flows are known: the bandwidth-delay product, and the largest packet that must fit.

use std::sync::Arc;

use paceline_core::policer::PolicerSpec;
use paceline_core::queue::{Counts, Limit, QueueSpec};
use paceline_core::units::NANOS_PER_SECOND;

use crate::compile::layout::{Back, Laid, Layout};
use crate::compile::link_plan::LinkPlan;
use crate::input::{BufferSize, Result, ScenarioError};
use crate::network::{FlowKind, FlowSpec, LinkId};

/// The buffer of every link; neighbours with equal ones share them.
pub(crate) fn buffers(layout: &Layout, flows: &[FlowSpec]) -> Result<Vec<Arc<QueueSpec>>> {
    let largest = largest_packets(layout, flows);
    let mut buffers: Vec<Arc<QueueSpec>> = Vec::with_capacity(layout.links.len());
    for (i, link) in layout.links.iter().enumerate() {
        let plan = layout.plan_of(link);
        let own_back = matches!(layout.stages[link.stage as usize].back, Back::Own(_));
        let (key, size) = match link.reversed && !own_back {
            true => ("reverse_buffer", plan.reverse_buffer),
            false => ("buffer", plan.buffer),
        };
        let wrong = |problem: String| ScenarioError::at(&format!("{}.{key}", plan.path), problem);
        let queue = plan.queue(size, link.rate, || {
            bandwidth_delay(layout, flows, i as LinkId).ok_or_else(|| {
                wrong(format!("no flow passes {}, so it has no BDP; write bytes or packets", link.name))
            })
        })?;
        if let (Some(limit), Some(size), packet @ 1..) = (queue.limit, size, largest[i])
            && let Some(problem) = too_small(limit, queue.counts, size, packet, &link.name)
        {
            return Err(wrong(problem));
        }
        let shared = buffers.last().filter(|before| ***before == queue).cloned();
        buffers.push(shared.unwrap_or_else(|| Arc::new(queue)));
    }
    Ok(buffers)
}

/// The policer of every link that has one; its bucket must take the largest packet.
pub(crate) fn policers(layout: &Layout, flows: &[FlowSpec]) -> Result<Vec<Option<PolicerSpec>>> {
    let plan_of = |link: &Laid| {
        let own_back = matches!(layout.stages[link.stage as usize].back, Back::Own(_));
        (!link.reversed || own_back).then(|| layout.plan_of(link))
    };
    let plans: Vec<Option<&LinkPlan>> = layout.links.iter().map(plan_of).collect();
    let policed = |plan: &Option<&LinkPlan>| plan.and_then(|plan| plan.policer);
    if plans.iter().all(|plan| policed(plan).is_none()) {
        return Ok(vec![None; plans.len()]);
    }
    let largest = largest_packets(layout, flows);
    let policers = plans.iter().zip(layout.links.iter().zip(largest)).map(|(plan, (link, packet))| {
        let (Some(plan), Some(policer)) = (plan, policed(plan)) else { return Ok(None) };
        if policer.burst.count() >= u64::from(packet) {
            return Ok(Some(policer));
        }
        let (burst, name) = (policer.burst, &link.name);
        let problem = format!(
            "\"{burst}\" lets no packet of {packet} B through, which passes {name}; write at least \"{packet} B\""
        );
        Err(ScenarioError::at(&format!("{}.police.burst", plan.path), problem))
    });
    policers.collect()
}

/// What one BDP is, bytes: the link's rate times the mean propagation round-trip time of the flows whose data pass
/// it, or else of those whose acknowledgements do.
pub(crate) fn bandwidth_delay(layout: &Layout, flows: &[FlowSpec], link: LinkId) -> Option<u64> {
    let nanos = u128::from(mean_round_trip(flows, link, |flow| round_trip(layout, flow))?);
    let bits_per_second = u128::from(layout.links[link as usize].rate.bits_per_second());
    let bytes = bits_per_second.saturating_mul(nanos) / (8 * u128::from(NANOS_PER_SECOND));
    Some(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// Mean round-trip time of the flows whose data pass a link, or else of those whose acknowledgements do; in the unit of
/// `round_trip`.
pub(crate) fn mean_round_trip(
    flows: &[FlowSpec],
    link: LinkId,
    round_trip: impl Fn(&FlowSpec) -> u64,
) -> Option<u64> {
    let mean = |passes: &dyn Fn(&FlowSpec) -> bool| {
        let (mut count, mut sum) = (0u128, 0u128);
        for flow in flows.iter().filter(|flow| passes(flow)) {
            count += 1;
            sum += u128::from(round_trip(flow));
        }
        (count > 0).then(|| (sum / count) as u64)
    };
    let data = |flow: &FlowSpec| flow.forward.contains(&link);
    let acks = |flow: &FlowSpec| flow.reverse.contains(&link);
    mean(&data).or_else(|| mean(&acks))
}

/// A flow's propagation round-trip time, nanoseconds: twice the way there where there is no way back.
pub(crate) fn round_trip(layout: &Layout, flow: &FlowSpec) -> u64 {
    round_trip_over(flow, |link| layout.links[link as usize].delay.as_nanos())
}

/// The same, with the propagation delay of each link, nanoseconds.
pub(crate) fn round_trip_over(flow: &FlowSpec, delay: impl Fn(LinkId) -> u64) -> u64 {
    let way = |links: &[LinkId]| links.iter().map(|link| delay(*link)).fold(0u64, u64::saturating_add);
    let there = way(&flow.forward);
    let back = if flow.reverse.is_empty() { there } else { way(&flow.reverse) };
    there.saturating_add(back)
}

/// The largest packet that passes each link, bytes; 0 where none does.
pub(super) fn largest_packets(layout: &Layout, flows: &[FlowSpec]) -> Vec<u32> {
    let mut largest = vec![0; layout.links.len()];
    for flow in flows {
        let (data, ack) = match &flow.kind {
            FlowKind::Bulk { tcp, .. } | FlowKind::Dialogue { tcp, .. } => {
                (tcp.data_bytes().max(tcp.syn.unwrap_or(0)), tcp.ack)
            }
            FlowKind::OpenLoop { bytes, .. } => (*bytes, 0),
        };
        for (links, bytes) in [(&flow.forward, data), (&flow.reverse, ack)] {
            for link in links.iter() {
                let known = &mut largest[*link as usize];
                *known = bytes.max(*known);
            }
        }
    }
    largest
}

/// Why a limit would never let a packet through or hold one, if so. Nothing at all may wait where only waiting counts:
/// that is a link without a buffer.
fn too_small(limit: Limit, counts: Counts, size: BufferSize, packet: u32, link: &str) -> Option<String> {
    let bufferless = |limit: u64| limit == 0 && counts == Counts::Waiting;
    match limit {
        Limit::Bytes(bytes) => {
            let least = u64::from(packet) + u64::from(counts == Counts::Ns2);
            let here = match size {
                BufferSize::Bdp(_) => format!(" ({bytes} B)"),
                _ => String::new(),
            };
            (bytes < least && !bufferless(bytes)).then(|| {
                format!(
                    "\"{size}\"{here} takes no packet of {packet} B, which passes {link}; write at least \"{least} B\""
                )
            })
        }
        Limit::Packets(packets) => {
            let least = if counts == Counts::Ns2 { 2 } else { 1 };
            (packets < least && !bufferless(packets)).then(|| {
                let rule = counts.name();
                format!("\"{size}\" takes no packet at all by the rule \"{rule}\"; write at least \"{least} packets\"")
            })
        }
    }
}
