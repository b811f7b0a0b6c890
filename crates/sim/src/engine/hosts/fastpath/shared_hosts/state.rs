//! Which hosts are shared, and what waits at each.

use crate::engine::hosts::deadline_index::DeadlineIndex;
use crate::engine::plan::eligible_hosts::{EligibleHosts, ends};
use crate::engine::plan::ingress::Ingress;
use crate::kernel::packet::Event;
use crate::model::flow::Flow;
use crate::network::{FlowSpec, Network};
use paceline_core::{Instant, Span};
use std::collections::VecDeque;

/// The hosts of a network that are handled so; none, in most large ones.
#[derive(Debug, Default)]
pub(crate) struct SharedHosts {
    /// By flow: the hosts which its data reach, and its acknowledgements. Empty where no host is shared.
    pub(super) hosts_of: Vec<[u32; 2]>,
    /// By host, `None` where it is not shared.
    pub(super) hosts: Vec<Option<Box<SharedHost>>>,
    /// By host: no timer of its senders or receivers runs out before.
    pub(super) timers: Vec<Instant>,
    /// By flow: when an acknowledgement that is held back has to go, if any ever are.
    pub(super) held_back: DeadlineIndex,
    /// They are handled up to here ahead of their time, no further: what they send would be searched in each epoch up to its own.
    pub(super) until: Instant,
    /// Those at which packets wait, or did.
    pub(super) late: Vec<usize>,
}

/// One of them.
#[derive(Debug, Default)]
pub(in crate::engine::hosts) struct SharedHost {
    /// When flows start there that have not: the last of these is the next one.
    pub(super) starts: Vec<Instant>,
    /// Packets that come too late for the present: after the next start, or too far ahead.
    pub(super) waiting: VecDeque<Event>,
    /// It is in the list of such hosts.
    pub(super) is_late: bool,
    /// The link partitions of the deadlines that its senders are in; and its receivers, if they hold back acknowledgements.
    pub(super) senders: Vec<u32>,
    pub(super) receivers: Vec<u32>,
}

impl SharedHost {
    /// When the next flow starts there.
    pub(super) fn next_start(&self) -> Instant {
        self.starts.last().copied().unwrap_or(Instant::MAX)
    }
}

impl SharedHosts {
    /// These, but for those whose links are all one flow's own; they handle packets ahead of their time from now on.
    pub(crate) fn new(
        network: &Network,
        flows: &mut [Flow],
        eligible: &EligibleHosts,
        ways: &[[Ingress; 2]],
    ) -> Self {
        let holds_back = |spec: &FlowSpec| spec.kind.tcp().is_some_and(|tcp| tcp.delays_acks());
        let mut hosts: Vec<Option<Box<SharedHost>>> = Vec::new();
        hosts.resize_with(network.hosts.len(), || None);
        for ((spec, flow), ways) in network.flows.iter().zip(&*flows).zip(ways) {
            for (end, (host, ..)) in ends(spec).into_iter().enumerate() {
                let own = [&flow.at_sink, &flow.at_source][end];
                if eligible.has(host) && (!own.out.is_private() || ways[end].into.is_some()) {
                    hosts[host as usize].get_or_insert_default();
                }
            }
        }
        if hosts.iter().all(Option::is_none) {
            return SharedHosts::default();
        }
        for (id, (spec, flow)) in (0..).zip(network.flows.iter().zip(&mut *flows)) {
            for (end, (host, ..)) in ends(spec).into_iter().enumerate() {
                let Some(host) = &mut hosts[host as usize] else { continue };
                flow.let_run_ahead(end);
                if end == 1 {
                    host.starts.push(spec.start);
                    host.senders.push(DeadlineIndex::group_of(id));
                } else if holds_back(spec) {
                    host.receivers.push(DeadlineIndex::group_of(id));
                }
            }
        }
        for host in hosts.iter_mut().flatten() {
            host.starts.sort_by(|one, other| other.cmp(one));
            host.senders.dedup();
            host.receivers.dedup();
        }
        let some_do = network.flows.iter().any(holds_back);
        let held_back =
            if some_do { DeadlineIndex::of(0, network.flows.len()) } else { DeadlineIndex::default() };
        let hosts_of = network.flows.iter().map(|spec| [spec.sink, spec.source]).collect();
        let timers = vec![Instant::MAX; hosts.len()]; // until they are first searched
        SharedHosts { hosts_of, hosts, timers, held_back, ..SharedHosts::default() }
    }

    pub(crate) fn are_none(&self) -> bool {
        self.hosts_of.is_empty()
    }

    /// By flow, where some host is shared: the hosts which its data reach, and its acknowledgements; and how many hosts there are.
    pub(crate) fn hosts_of(&self) -> Option<(&[[u32; 2]], usize)> {
        (!self.are_none()).then_some((&self.hosts_of, self.hosts.len()))
    }

    /// The shared host at this end of a flow.
    #[inline]
    pub(crate) fn at(&self, flow: u32, end: usize) -> Option<usize> {
        let host = self.hosts_of.get(flow as usize)?[end] as usize;
        self.hosts[host].is_some().then_some(host)
    }

    /// Hosts run up to there in an epoch of so many nanoseconds: how far these may, if the run goes on up to `until`.
    pub(crate) fn begin_epoch(&mut self, (hosts_until, nanos): (Instant, u64), until: Instant) {
        self.until = until.min(hosts_until + Span::from_nanos(nanos.saturating_mul(2)));
    }

    /// Packets that wait at them.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Event> {
        self.hosts.iter().flatten().flat_map(|shared| &shared.waiting)
    }

    /// No timer runs out at them before.
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        self.timers.iter().copied().min().filter(|timer| *timer < Instant::MAX)
    }

    /// Timers of all are to be searched, or searched again.
    pub(crate) fn forget_timers(&mut self) {
        for (timer, host) in self.timers.iter_mut().zip(&self.hosts) {
            *timer = if host.is_some() { Instant::ZERO } else { Instant::MAX };
        }
    }
}
