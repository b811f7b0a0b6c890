//! A scenario resolved for one seed and laid open, for whoever reasons about it without running it (`paceline doctor`).
//!
//! Unlike a [`super::Description`], which groups for a drawing, this names every link and every flow, with numbers in base
//! units. Identifiers are positions in the vectors.

mod resolved;

pub use resolved::Inspection;
use resolved::{
    Buffer, Bursts, Deployed, Dialogue, Drawn, Flow, ForcedLoss, Jitter, Link, Memory, Pacer, Plan, Policer,
    Probed, Replay, Tcp, TrafficTable,
};

use paceline_core::pacer::Method as LinkPacer;
use paceline_core::queue::Limit;
use paceline_core::{Instant, Span};
use paceline_tcp::Config;
use paceline_tcp::config::{HyStartMode, IdleRestart, PacingRule, Variant};

use super::deploy::{Context, deploy};
use super::names::Names;
use super::pacing::{Method, Pacing};
use super::{Scenario, flows};
use crate::compile::draw::Draw;
use crate::compile::layout::{Back, Layout};
use crate::compile::link_plan::LinkPlan;
use crate::input::{BufferSize, Result};
use crate::network::{
    DropRule, FlowKind, FlowSpec, ForcedDrop, LinkSpec, MemorySpec, Network, Part, ProbeKind, VaryingRate,
};
use crate::workload::open_loop::Timing;
use crate::workload::{DialogueSpec, Distribution, Messages, Side};

impl Scenario {
    /// What it comes to under this seed. Refuses what [`Scenario::network`] refuses.
    pub fn inspect(&self, seed: u64) -> Result<Inspection> {
        let network = self.network(seed)?;
        let layout = self.template.layout(Draw::Seeded(seed));
        let names = Names::new(&layout);
        let (mut flows, profiles) = flows::flows(&self.traffic, &layout, &names, Draw::Seeded(seed))?;
        let context = Context { layout: &layout, names: &names, profiles: &profiles, seed };
        let sites = deploy(&self.pacing, &context, &mut flows)?.sites;
        let deployed = self.pacing.iter().zip(sites).map(|(pacing, site)| Deployed {
            path: pacing.path.clone(),
            method: pacing.name().to_owned(),
            words: pacing.in_words(),
            on_hosts: matches!(pacing.method, Method::Host { .. } | Method::Port { .. }),
            share: pacing.share,
            candidates: site.candidates as u64,
            chosen: site.chosen,
            acks: matches!(&pacing.method, Method::Link(link) if link.acks),
        });
        let pacings = deployed.collect();
        let mut tcps: Vec<&Config> = Vec::new();
        let traffic_of = |flow: &FlowSpec| {
            self.traffic.iter().position(|traffic| traffic.name == flow.traffic()).unwrap_or(0) as u32
        };
        let mut talk: Option<&DialogueSpec> = None;
        let mut flows = Vec::new();
        for flow in &network.flows {
            let side = match &flow.kind {
                FlowKind::Dialogue { part: Part::Opens(opened), .. } => {
                    talk = Some(opened);
                    Side::Opener
                }
                _ => Side::Answerer,
            };
            let is_talk = matches!(flow.kind, FlowKind::Dialogue { .. });
            let speech = talk.filter(|_| is_talk).map(|talk| dialogue_of(talk, side));
            let message_bytes = talk.map_or(0.0, |talk| talk.kind().messages(side).size.mean());
            flows
                .push(Flow { speech, ..flow_of(flow, message_bytes, traffic_of(flow), &network, &mut tcps) });
        }
        let traffics = self.traffic.iter().map(|traffic| TrafficTable {
            path: traffic.path.clone(),
            name: traffic.name.clone(),
            profile: traffic.kind.profile().name(),
            start_ns: [traffic.start.low, traffic.start.high].map(|start| start.as_nanos()),
        });
        let largest = largest_data(&network);
        let links = layout.links.iter().zip(&network.links).zip(largest).zip(0..);
        let links = links.map(|(((laid, spec), largest), number)| {
            let plan = 2 * laid.stage + u32::from(laid.reversed);
            link_of(spec, plan, largest, network.memory_of(number))
        });
        Ok(Inspection {
            template: self.template.name(),
            duration_s: self.duration.as_seconds(),
            warmup_s: self.warmup.as_seconds(),
            core: network.core,
            hosts: network.hosts.iter().map(|host| host.name.to_string()).collect(),
            plans: plans(&layout),
            links: links.collect(),
            traffics: traffics.collect(),
            tcps: tcps.into_iter().map(tcp_of).collect(),
            flows,
            pacings,
            drops: network.drops.iter().filter(|drop| !drop.marks).map(forced_loss_of).collect(),
            probes: probes_of(&network),
        })
    }
}

impl Pacing {
    fn name(&self) -> &str {
        match &self.method {
            Method::None => "none",
            Method::Host { .. } => "host",
            Method::Port { .. } => "port",
            Method::Link(link) => &link.named.name,
        }
    }
}

fn plans(layout: &Layout) -> Vec<Plan> {
    let plan = |plan: &LinkPlan, name: String, buffer_key, buffer: Option<BufferSize>| Plan {
        name,
        path: plan.path.clone(),
        buffer_key,
        buffer: buffer.map(|size| size.to_string()),
        rate_bps: [plan.rate.low, plan.rate.high].map(|rate| rate.bits_per_second()),
        delay_ns: [plan.delay.low, plan.delay.high].map(|delay| delay.as_nanos()),
    };
    let both = layout.stages.iter().flat_map(|stage| {
        let back = format!("{}.reverse", stage.name);
        [
            plan(&stage.plan, stage.name.clone(), "buffer", stage.plan.buffer),
            match &stage.back {
                Back::Own(own) => plan(own, back, "buffer", own.buffer),
                Back::Alike | Back::None => {
                    plan(&stage.plan, back, "reverse_buffer", stage.plan.reverse_buffer)
                }
            },
        ]
    });
    both.collect()
}

fn link_of(spec: &LinkSpec, plan: u32, largest: u32, memory: Option<&MemorySpec>) -> Link {
    let (bytes, packets) = both_units(spec.fitting.buffer.limit.or(memory.map(MemorySpec::alone)));
    let pacer = spec.fitting.pacer.as_ref().map(|pacer| {
        let envelope = pacer.method.envelope(spec.rate, largest);
        let (bytes, packets) = both_units(pacer.limit);
        let mut delay_ns = None;
        let (mut mu_min_bps, mut mu_max_bps, mut q_max) = (None, None, None);
        match &pacer.method {
            LinkPacer::Edge(edge) => delay_ns = Some(edge.delay.as_nanos()),
            LinkPacer::Qlbp(qlbp) => {
                [mu_min_bps, mu_max_bps] =
                    [qlbp.mu_min, qlbp.mu_max].map(|rate| Some(rate.bits_per_second()));
                q_max = Some(qlbp.q_max);
            }
            LinkPacer::None(_) | LinkPacer::TokenBucket(_) => {}
        }
        let (q_max_bytes, q_max_packets) = both_units(q_max);
        let (method, words) = (pacer.method.name(), pacer.method.to_string());
        Pacer {
            method,
            parameters: words.strip_prefix(method).unwrap_or(&words).trim().to_owned(),
            bytes,
            packets,
            rate_bps: envelope.map(|envelope| envelope.rate.bits_per_second()),
            burst_bytes: envelope.map(|envelope| envelope.burst),
            delay_ns,
            mu_min_bps,
            mu_max_bps,
            q_max_bytes,
            q_max_packets,
        }
    });
    Link {
        name: spec.name.to_string(),
        plan,
        rate_bps: spec.rate.bits_per_second(),
        varying: spec.fitting.varying.as_ref().map(VaryingRate::name),
        delay_ns: spec.delay.as_nanos(),
        buffer: Buffer {
            bytes,
            packets,
            counts: spec.fitting.buffer.counts.name(),
            discipline: spec.fitting.buffer.discipline.name(),
            signals_early: spec.fitting.buffer.discipline.acts_early(),
            has_classes: spec.fitting.buffer.discipline.has_classes(),
            ties: spec.fitting.buffer.ties.name(),
            memory: memory.map(|MemorySpec { links, size, alpha }| {
                let (bytes, packets) = both_units(Some(*size));
                Memory { bytes, packets, alpha: *alpha, links: links.len() as u32 }
            }),
        },
        pacer,
        policer: spec.fitting.policer.map(|policer| Policer {
            rate_bps: policer.rate.bits_per_second(),
            burst_bytes: policer.burst.count(),
        }),
        jitter: spec.fitting.jitter.map(|jitter| Jitter {
            mean_ns: jitter.mean.as_nanos(),
            spread_ns: jitter.spread.as_nanos(),
            shape: jitter.shape.name(),
            reorder: jitter.reorder,
        }),
        reported: spec.fitting.reported,
    }
}

fn both_units(limit: Option<Limit>) -> (Option<u64>, Option<u64>) {
    match limit {
        None => (None, None),
        Some(Limit::Bytes(bytes)) => (Some(bytes), None),
        Some(Limit::Packets(packets)) => (None, Some(packets)),
    }
}

/// A flow; `message_bytes` is the mean size of its messages, bytes, if it belongs to a dialogue.
fn flow_of<'n>(
    flow: &'n FlowSpec,
    message_bytes: f64,
    traffic: u32,
    network: &Network,
    tcps: &mut Vec<&'n Config>,
) -> Flow {
    let mut seen = Flow {
        name: flow.name.to_string(),
        traffic,
        source: flow.source,
        sink: flow.sink,
        forward: flow.forward.to_vec(),
        reverse: flow.reverse.to_vec(),
        start_ns: flow.start.as_nanos(),
        packet_bytes: flow.packet_bytes(),
        paced: flow.paced,
        port_paced: false,
        tcp: None,
        packets: None,
        rate_bps: None,
        stop_ns: None,
        bursts: None,
        replay: None,
        speech: None,
    };
    match &flow.kind {
        FlowKind::Bulk { tcp, .. } | FlowKind::Dialogue { tcp, .. } => {
            let known = tcps.iter().rposition(|other| *other == &**tcp);
            let position = known.unwrap_or_else(|| {
                tcps.push(tcp);
                tcps.len() - 1
            });
            seen.tcp = Some(position as u32);
            seen.port_paced = network.hosts[flow.source as usize].port.is_some();
            seen.packets = match &flow.kind {
                FlowKind::Bulk { packets, .. } => *packets,
                _ => Some((message_bytes / f64::from(tcp.payload)).ceil().max(1.0) as u64),
            };
        }
        FlowKind::OpenLoop { timing, stop, .. } => {
            seen.rate_bps = Some(timing.mean_bps());
            seen.stop_ns = stop.map(|stop| stop.as_nanos());
            match &**timing {
                Timing::OnOff(periods) => {
                    let (on, off) = (drawn(periods.on), drawn(periods.off));
                    seen.bursts = Some(Bursts { rate_bps: periods.rate.bits_per_second(), on, off });
                }
                Timing::Replay(schedule) => {
                    seen.replay = Some(Replay {
                        packets: schedule.packets.len() as u64,
                        bytes: schedule.packets.iter().map(|(_, bytes)| u64::from(*bytes)).sum(),
                        lasts_ns: schedule.packets.last().map_or(0, |(after, _)| *after),
                    });
                }
                Timing::Constant(_) | Timing::Poisson(_) | Timing::SelfSimilar(_) => {}
            }
        }
    }
    seen
}

/// What `side` sends in a dialogue.
fn dialogue_of(talk: &DialogueSpec, side: Side) -> Dialogue {
    let Messages { size, pause, most } = talk.kind().messages(side);
    Dialogue {
        kind: talk.name(),
        opens: side == Side::Opener,
        size: drawn(size),
        pause: drawn(pause),
        most,
        new_connections: talk.kind().replaces_connections(),
        is_concurrent: talk.kind().is_concurrent(),
    }
}

fn drawn(values: Distribution) -> Drawn {
    let (shape, first, second) = match values {
        Distribution::Fixed(value) => ("fixed", value, 0.0),
        Distribution::Uniform { low, high } => ("uniform", low, high),
        Distribution::Exponential { mean } => ("exponential", mean, 0.0),
        Distribution::Pareto { minimum, shape } => ("pareto", minimum, shape),
    };
    Drawn { shape, first, second }
}

fn probes_of(network: &Network) -> Vec<Probed> {
    let probed = |kind, link, flows, every: Option<Span>, from: Instant, to: Instant| Probed {
        kind,
        link,
        flows,
        every_ns: every.map(Span::as_nanos),
        from_ns: from.as_nanos(),
        to_ns: to.as_nanos(),
    };
    let series = network.probes.iter().map(|probe| {
        let (kind, every) = match probe.what {
            ProbeKind::Queue { every } => ("queue", Some(every)),
            ProbeKind::Departures => ("departures", None),
        };
        probed(kind, Some(probe.link), Vec::new(), every, probe.from, probe.to)
    });
    let instruments = network.instruments.iter().map(|instrument| {
        let (flows, every) = instrument.sampling();
        probed(instrument.key, instrument.link, flows, every, instrument.from, instrument.to)
    });
    series.chain(instruments).collect()
}

fn forced_loss_of(drop: &ForcedDrop) -> ForcedLoss {
    let (probability, packets) = match &drop.rule {
        DropRule::Probability(probability) => (*probability, 0),
        DropRule::Bursts(chain) => (chain.loss(), 0),
        DropRule::Arrivals(arrivals) => (0.0, arrivals.len() as u64),
    };
    ForcedLoss { link: drop.link, flow: drop.flow, probability, packets }
}

fn tcp_of(tcp: &Config) -> Tcp {
    let idle = IdleRestart::ALL.iter().find(|(_, other)| *other == tcp.idle_restart);
    let variant = Variant::ALL.iter().find(|(_, other)| *other == tcp.variant);
    let rule = |rule: PacingRule| PacingRule::ALL.iter().find(|(_, other)| *other == rule);
    Tcp {
        variant: variant.map_or("", |(name, _)| name),
        data_bytes: tcp.data_bytes(),
        payload_bytes: tcp.payload,
        ack_bytes: tcp.ack,
        syn_bytes: tcp.syn,
        delayed_ack_s: tcp.delayed_ack.map_or(0.0, Span::as_seconds),
        ack_every: tcp.ack_every,
        quick_acks: tcp.quick_acks > 0,
        gso_packets: tcp.gso,
        tsq_bytes: tcp.tsq,
        gro_s: tcp.gro.map_or(0.0, Span::as_seconds),
        max_window: tcp.max_window,
        initial_window: tcp.initial_window,
        initial_ssthresh: tcp.initial_ssthresh.unwrap_or(tcp.max_window),
        limited_transmit: tcp.limited_transmit,
        min_rto_s: tcp.min_rto.as_seconds(),
        initial_rto_s: tcp.initial_rto.as_seconds(),
        max_rto_s: tcp.max_rto.as_seconds(),
        hystart: tcp.hystart != HyStartMode::Off,
        idle_restart: idle.map_or("", |(name, _)| *name),
        timestamps: tcp.timestamps,
        duplicate_threshold: tcp.duplicate_threshold,
        draws_phase: tcp.tick_phase.is_none() && tcp.tick.as_nanos() > 0,
        rule: tcp.pacing.and_then(|pacing| rule(pacing.rule)).map(|(name, _)| *name),
        gain: tcp.pacing.map_or(1.0, |pacing| pacing.gain),
        jitter: tcp.pacing.map_or(0.0, |pacing| pacing.jitter),
    }
}

/// The largest data packet on each link, bytes; 0 where none passes.
fn largest_data(network: &Network) -> Vec<u32> {
    let mut largest = vec![0; network.links.len()];
    for flow in &network.flows {
        for link in &flow.forward {
            let known: &mut u32 = &mut largest[*link as usize];
            *known = flow.packet_bytes().max(*known);
        }
    }
    largest
}
