//! Ties as ns-2 has them: which goes first, an arrival or a departure of the same instant, by when ns-2 scheduled each.
//!
//! *Idea.* ns-2 schedules a packet's arrival at a link when its service at the link before begins, and the end of a service when that
//! begins; equal times go in the order of scheduling. So an arrival goes first where service and propagation before take longer
//! than the service here. On most links that is so for all packets, or for none: the queue is set so once. Elsewhere it is looked up for
//! each packet.
//!
//! A host sends because something reaches it: what comes from there to its first link has been known since the link that brought
//! that began to send it.
//!
//! *References.* ns-2 2.35, `link/delay.cc` (`LinkDelay::recv`), `common/scheduler.cc`.

use crate::kernel::packet::Event;
use crate::network::{Fitting, FlowSpec, LinkId, LinkSpec, Network};
use paceline_core::Span;
use paceline_core::queue::Ties;
use std::collections::BTreeMap;

/// How long before ns-2 would have known of a packet: by flow, its data and its acknowledgements.
#[derive(Debug, Clone)]
pub(crate) struct Leads(Vec<[Lead; 2]>);

/// By the size of a packet: so long, and so long a byte.
#[derive(Debug, Clone, Copy, Default)]
struct Lead {
    fixed: Span,
    /// Picoseconds.
    a_byte: u64,
}

impl Leads {
    /// Of a packet at its link.
    #[inline]
    pub(crate) fn of(&self, event: &Event) -> Span {
        let leads = self.0.get(event.flow as usize).copied().unwrap_or_default();
        leads[usize::from(event.is_ack())].of(u32::from(event.bytes))
    }
}

impl Lead {
    fn of(&self, bytes: u32) -> Span {
        self.fixed + Span::from_nanos(u64::from(bytes).saturating_mul(self.a_byte) / 1_000)
    }

    /// Over this link, on which a packet takes its own time.
    fn over(link: &LinkSpec) -> Self {
        Lead { fixed: link.delay, a_byte: 8_000_000_000_000 / link.rate.bits_per_second().max(1) }
    }
}

/// What decides ties at the links whose buffers decide them as ns-2 does.
#[derive(Debug, Default)]
pub(crate) struct TieOrders(BTreeMap<LinkId, (Ties, Option<Box<Leads>>)>);

/// What passes a link: how long before ns-2 would have known of it, and how long its service takes; the least and the most.
#[derive(Debug, Clone, Copy)]
struct Passing {
    leads: [Span; 2],
    services: [Span; 2],
}

impl TieOrders {
    pub(crate) fn of(network: &Network) -> Self {
        let asks = |link: &LinkSpec| {
            let Fitting { buffer, pacer, .. } = &*link.fitting;
            buffer.ties == Ties::Ns2 && buffer.limit.is_some() && pacer.is_none()
        };
        let asks: Vec<bool> = network.links.iter().map(asks).collect();
        if !asks.contains(&true) {
            return TieOrders::default();
        }
        let mut passing: BTreeMap<LinkId, Passing> = BTreeMap::new();
        each_pass(network, |link, _, lead, sizes| {
            if asks[link as usize] {
                let spec = &network.links[link as usize];
                let leads = sizes.map(|bytes| lead.of(bytes));
                let services = sizes.map(|bytes| spec.takes(u16::try_from(bytes).unwrap_or(u16::MAX)));
                let one = Passing { leads, services };
                passing.entry(link).and_modify(|all| all.joins(one)).or_insert(one);
            }
        });
        let mut decided: BTreeMap<_, _> =
            passing.iter().map(|(link, all)| (*link, (all.ties(), None))).collect();
        let mut mixed: BTreeMap<LinkId, Leads> = BTreeMap::new();
        for (link, _) in decided.iter().filter(|(_, (ties, _))| *ties == Ties::Ns2) {
            mixed.insert(*link, Leads(vec![Default::default(); network.flows.len()]));
        }
        each_pass(network, |link, (flow, is_ack), lead, _| {
            if let Some(leads) = mixed.get_mut(&link) {
                leads.0[flow][usize::from(is_ack)] = lead;
            }
        });
        decided.extend(mixed.into_iter().map(|(link, leads)| (link, (Ties::Ns2, Some(Box::new(leads))))));
        TieOrders(decided)
    }

    /// At one of them. A pacer releases what may go now, and where nothing passes it does not matter.
    pub(crate) fn at(&mut self, link: LinkId) -> (Ties, Option<Box<Leads>>) {
        self.0.remove(&link).unwrap_or_default()
    }
}

impl Passing {
    fn joins(&mut self, other: Passing) {
        let Passing { leads, services } = other;
        self.leads = [self.leads[0].min(leads[0]), self.leads[1].max(leads[1])];
        self.services = [self.services[0].min(services[0]), self.services[1].max(services[1])];
    }

    /// Who goes first, if that is so for all.
    fn ties(&self) -> Ties {
        let ([least, most], [shortest, longest]) = (self.leads, self.services);
        if least > longest {
            Ties::Arrival
        } else if most <= shortest {
            Ties::Departure
        } else {
            Ties::Ns2
        }
    }
}

/// Each pass of a flow's data, and of its acknowledgements, over a link: with how long before ns-2 would know of it, and its smallest
/// and largest packet.
fn each_pass(network: &Network, mut pass: impl FnMut(LinkId, (usize, bool), Lead, [u32; 2])) {
    for (number, flow) in network.flows.iter().enumerate() {
        for (way, back, is_ack) in
            [(&flow.forward, &flow.reverse, false), (&flow.reverse, &flow.forward, true)]
        {
            let [own, other] = [is_ack, !is_ack].map(|is_ack| sizes(flow, is_ack));
            let mut lead = match back.last() {
                Some(&brings) => {
                    Lead { fixed: Lead::over(&network.links[brings as usize]).of(other[1]), a_byte: 0 }
                }
                // A source without feedback has known since its last packet.
                None => Lead { fixed: Span::MAX, a_byte: 0 },
            };
            for &link in way {
                pass(link, (number, is_ack), lead, own);
                lead = Lead::over(&network.links[link as usize]);
            }
        }
    }
}

/// The smallest and the largest packet of a flow's data, or of its acknowledgements, bytes.
fn sizes(flow: &FlowSpec, is_ack: bool) -> [u32; 2] {
    match (is_ack, flow.kind.tcp()) {
        (true, Some(tcp)) => [tcp.ack, tcp.ack],
        _ => [flow.kind.smallest_packet(), flow.packet_bytes()],
    }
}
