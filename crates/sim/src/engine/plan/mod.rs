//! What is known of a network before it runs, and which fast paths follow from that: decided here, once.

pub(crate) mod eligible_hosts;
pub(crate) mod ingress;
pub(crate) mod lookahead;
pub(crate) mod ordered_links;
pub(crate) mod routes;

use self::eligible_hosts::EligibleHosts;
use self::ingress::Ingress;
use self::ordered_links::{OrderedLink, lay_ordered_links, minimum_path_delay};
use self::routes::{IS_LINK, ORDERED, PLACE, mark_at_once, routes_after, routes_of};
use crate::control::Method;
use crate::kernel::packet::Event;
use crate::model::flow::{AccessLink, Flow, PathSuffix, Source};
use crate::model::link::LinkTable;
use crate::network::Network;
use paceline_core::Span;

/// Which fast paths a network has: read-only once it has been made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Senders run by themselves, and packets pass their hosts in one step, where flows allow it: nothing is traced.
    pub(crate) uses_fast_paths: bool,
    /// Flows share nothing but ordered links, and nothing observes them.
    pub(crate) flows_are_independent: bool,
    /// And hosts and links can be shared out among threads.
    pub(crate) can_run_on_threads: bool,
    /// The least time in which data reach a receiver, where epochs can be as long as round trips.
    pub(crate) way_there: Option<Span>,
    /// The least time from a host over ordered links to a host; about how long an epoch is: that, or a round trip.
    pub(crate) one_way: Span,
    pub(crate) epoch: Span,
}

/// Where packets go from each link: the routes of all flows, and what is known of each place on them.
#[derive(Debug, Default)]
pub(crate) struct Forwarding {
    /// Places that packets of each flow pass: data, destination, acknowledgements, sender; `stride` to a flow. Empty where no packet
    /// takes the slow path.
    pub(crate) routes: Vec<u32>,
    pub(crate) stride: usize,
    /// By flow: of data and of acknowledgements.
    pub(crate) suffixes: Vec<[PathSuffix; 2]>,
}

/// A network laid out for the halves of the engine.
pub(crate) struct Layout {
    pub(crate) forwarding: Forwarding,
    /// Where in a flow's route the acknowledgements' begins.
    pub(crate) ack_hop: u8,
    /// By flow: whether what its receiver sends, and its sender, reaches no host within the epoch in which it is sent.
    pub(crate) passes_ordered: Vec<[bool; 2]>,
    /// `None` under the reference engine.
    pub(crate) epochs: Option<EpochLayout>,
}

/// What the batched engine asks for besides.
pub(crate) struct EpochLayout {
    pub(crate) ordered: Vec<OrderedLink>,
    pub(crate) eligible: EligibleHosts,
    /// By flow: how its data and its acknowledgements come to their hosts.
    pub(crate) ingress: Vec<[Ingress; 2]>,
    /// By link: how often flows pass it.
    pub(crate) passes: Vec<u32>,
}

impl Layout {
    /// Of a network, under the engine asked for; sets in each flow what is its own.
    pub(crate) fn of(
        network: &Network,
        (method, is_traced): (Method, bool),
        links: &LinkTable,
        flows: &mut [Flow],
    ) -> Self {
        let (mut routes, stride, ack_hop) = routes_of(network);
        let mut epochs = None;
        if !is_traced || method != Method::Reference {
            let needs_order = mark_at_once(&mut routes, network, links, flows);
            if method != Method::Reference {
                let is_observed = |link: u32| {
                    is_traced
                        || network.probes.iter().any(|probe| probe.link == link)
                        || network.instruments.iter().any(|one| one.link == Some(link))
                };
                let ways = (&mut routes[..], (stride, ack_hop));
                epochs = lay_ordered_links(network, links, flows, ways, &needs_order, &is_observed);
            }
        }
        let is_ordered = |entry: &u32| *entry != u32::MAX && *entry & ORDERED != 0;
        let runs_by_events = |entry: &u32| {
            *entry != u32::MAX
                && *entry & (IS_LINK | ORDERED) == IS_LINK
                && network.memory_of(*entry & PLACE).is_some()
        };
        let passes = |way: &[u32]| {
            way.iter().find(|entry| is_ordered(entry) || runs_by_events(entry)).is_some_and(is_ordered)
        };
        let of_flow = |way: &[u32]| [passes(&way[ack_hop..]), passes(&way[..ack_hop])];
        let passes_ordered = routes.chunks(stride).map(of_flow).collect();
        let suffixes = flows.iter().map(|flow| flow.suffixes).collect();
        let forwarding = Forwarding { routes, stride, suffixes };
        Layout { forwarding, ack_hop: ack_hop as u8, passes_ordered, epochs }
    }
}

impl Plan {
    /// Of ordered links and flows as they are laid out; `shares_hosts`: some host is handled as a shared
    /// one; `samples_flows`: something reads flows at regular times.
    pub(crate) fn of(
        ordered: Option<&[OrderedLink]>,
        flows: &[Flow],
        is_traced: bool,
        (shares_hosts, samples_flows): (bool, bool),
    ) -> Self {
        let one_way = minimum_path_delay(ordered.into_iter().flatten()).unwrap_or(Span::ZERO);
        let mut plan = Plan {
            uses_fast_paths: ordered.is_some() && !is_traced,
            flows_are_independent: false,
            can_run_on_threads: false,
            way_there: None,
            one_way,
            epoch: one_way,
        };
        // Rows of a trace are put in one order, in one place. Some packets leave a ring of ordered links, others go on, where all of a
        // link's go one way here.
        let ordered = ordered.unwrap_or_default();
        plan.flows_are_independent = plan.uses_fast_paths
            && !samples_flows
            && ordered.iter().all(|link| link.next.is_some() || link.ends.is_some())
            && flows.iter().all(Flow::is_independent);
        plan.can_run_on_threads =
            plan.flows_are_independent && !shares_hosts && flows.iter().all(Flow::owns_its_ways_out);
        let answers_at_once = |flow: &Flow| match &flow.source {
            Source::Tcp(tcp) => !tcp.delays_acks(),
            Source::OpenLoop(_) => true,
        };
        let is_one_way = |link: &OrderedLink| !(link.carries_data && link.carries_acks);
        if crate::ablation::FastPath::RoundTripEpochs.is_on()
            && plan.flows_are_independent
            && flows.iter().all(answers_at_once)
            && ordered.iter().all(is_one_way)
            && let (Some(there), Some(back)) = (
                minimum_path_delay(ordered.iter().filter(|link| !link.carries_acks)),
                minimum_path_delay(ordered.iter().filter(|link| link.carries_acks)),
            )
        {
            (plan.way_there, plan.epoch) = (Some(there), there + back);
        }
        plan
    }
}

impl Flow {
    /// It has fast paths out of its hosts and into them, nothing ties it to others, and nothing observes it.
    fn is_independent(&self) -> bool {
        let out = [&self.at_source.out, &self.at_sink.out];
        let is_fast = |end: usize| out[end].is_fast() && !self.suffixes[end].is_slow();
        let is_fast = match &self.source {
            Source::Tcp(tcp) => tcp.rest.application.is_none() && is_fast(0) && is_fast(1),
            Source::OpenLoop(_) => is_fast(0),
        };
        is_fast && !self.traits.observes_window() && !self.traits.observes_delays() && !self.traits.has_port()
    }

    /// No other flow passes the first links of its fast paths.
    fn owns_its_ways_out(&self) -> bool {
        [&self.at_source, &self.at_sink].iter().all(|ends| !matches!(ends.out, AccessLink::Shared(_)))
    }
}

impl Forwarding {
    /// These links are served by events from now on.
    pub(crate) fn leave_epochs(&mut self, ordered: &[OrderedLink], network: &Network, links: &LinkTable) {
        let ordered: Vec<u32> = ordered.iter().map(|one| one.link).collect();
        if self.routes.is_empty() {
            (self.routes, self.stride) = routes_after(&ordered, network, links);
            return;
        }
        for entry in self.routes.iter_mut().filter(|entry| **entry != u32::MAX && **entry & ORDERED != 0) {
            *entry = *entry & !(ORDERED | PLACE) | ordered[(*entry & PLACE) as usize];
        }
    }

    /// Where in the routes a packet stands on its round trip.
    #[inline(always)]
    pub(crate) fn way_of(&self, packet: &Event) -> usize {
        packet.flow as usize * self.stride + packet.hop()
    }
}
