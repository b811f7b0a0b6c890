//! Timers of senders and receivers: events where flows depend on each other, deadlines where they do not ([`DeadlineIndex`]).

use super::Hosts;
use super::deadline_index::DeadlineIndex;
use super::egress::{PacingTimer, RetransmissionTimer};
use super::fastpath::prefetch::FLOWS_AHEAD;
use crate::model::flow::{Flow, Source, Tcp};
use paceline_core::Instant;

impl Tcp {
    /// When the first of its sender's timers runs out; [`Instant::MAX`] is never.
    #[inline(always)]
    pub(crate) fn next_timer(&self) -> Instant {
        let retransmission = self.sender.retransmission_due();
        retransmission.min(self.sender.pacing_due())
    }
}

impl Hosts<'_> {
    /// When something next happens at a host, or may.
    pub(crate) fn next_at(&mut self) -> Option<Instant> {
        let waits = self.shared.waiting().map(|event| event.at);
        let deadlines = [&self.deadlines, &self.delayed_acks].map(DeadlineIndex::next_at);
        let timers = deadlines.into_iter().chain([self.shared.next_timer()]).flatten();
        self.mail.calendar.next_at().into_iter().chain(timers).chain(waits).min()
    }

    /// Senders and receivers that run by themselves catch up with their timers before `end`: whether none had any.
    pub(crate) fn run_due_timers(&mut self, end: Instant) -> bool {
        let mut is_idle = self.keep_shared_hosts(end);
        let mut due = std::mem::take(&mut self.due);
        self.deadlines.pop_before(end, &mut due);
        is_idle &= due.is_empty();
        let has_far_flows = self.has_far_flows();
        for (place, id) in due.iter().enumerate() {
            if has_far_flows {
                self.prefetch(due.get(place + FLOWS_AHEAD).copied());
            }
            self.run_timers_out(*id, end);
            self.note_deadline(*id);
        }
        due.clear();
        self.delayed_acks.pop_before(end, &mut due);
        is_idle &= due.is_empty();
        for (place, id) in due.iter().enumerate() {
            if has_far_flows {
                self.prefetch(due.get(place + FLOWS_AHEAD).copied());
            }
            self.let_due_acknowledgement_go(*id, end);
            self.schedule_delayed_ack(*id);
        }
        due.clear();
        self.due = due;
        is_idle
    }

    /// A flow that runs by itself: its timers before `end` run out, in their order.
    #[inline(never)]
    pub(crate) fn run_timers_out(&mut self, id: u32, end: Instant) {
        let now = self.now;
        while let Source::Tcp(tcp) = &self.flows[id as usize].source {
            let (due, retransmission) = (tcp.next_timer(), tcp.sender.retransmission_due());
            if due >= end {
                break;
            }
            self.now = due;
            self.run_first_timer_out(id, due == retransmission);
        }
        self.now = now;
    }

    /// The first of its timers runs out now.
    pub(crate) fn run_timer_out(&mut self, id: u32) {
        let Source::Tcp(tcp) = &self.flows[id as usize].source else { return };
        self.run_first_timer_out(id, tcp.sender.retransmission_due() == self.now);
    }

    /// The same, where it is known which it is. Nearly always it is the pacing timer: its code stands in the loop, the other's apart.
    #[inline(always)]
    fn run_first_timer_out(&mut self, id: u32, is_retransmission: bool) {
        if is_retransmission {
            self.run_retransmission_timer_out(id);
        } else {
            self.drive(id, PacingTimer);
        }
    }

    #[inline(never)]
    fn run_retransmission_timer_out(&mut self, id: u32) {
        self.drive(id, RetransmissionTimer);
    }

    /// The next timer of a flow that runs by itself may be another one.
    #[inline(always)]
    pub(crate) fn note_deadline(&mut self, id: u32) {
        if let Source::Tcp(tcp) = &self.flows[id as usize].source {
            self.deadlines.note(id, tcp.next_timer());
        }
    }

    /// Whether senders and receivers that may run by themselves do, from now on: those, by position, of which what the receiver sends,
    /// and the sender, reaches no host within the epoch in which it is sent.
    pub(crate) fn use_fast_paths(
        &mut self,
        may_be: bool,
        passes_an_ordered_link: impl Fn(usize) -> [bool; 2],
    ) {
        let flows = self.flows.all().len();
        let delays_acks =
            |flow: &Flow| matches!(&flow.source, Source::Tcp(tcp) if may_be && tcp.delays_acks());
        let index = |is_used| {
            if is_used { DeadlineIndex::of(self.flows.first, flows) } else { DeadlineIndex::default() }
        };
        self.deadlines = index(may_be);
        self.delayed_acks = index(self.flows.all().iter().any(delays_acks));
        self.shared.forget_timers();
        for position in 0..flows {
            let passes = passes_an_ordered_link(position).map(|passes| may_be && passes);
            let id = (self.flows.first + position) as u32;
            self.free_receiver(id, passes[0]);
            self.free_sender(id, passes[1]);
            let flow = &mut self.flows.list[position];
            let mut is_fast = if may_be { flow.fast_ends() } else { [false; 2] };
            (0..2).for_each(|end| is_fast[end] &= self.shared.at(id, end).is_none());
            let is_bare = flow.bare_ends();
            for (end, gate) in flow.gates.iter_mut().enumerate() {
                gate.take_slow_path(!is_fast[end]);
                gate.ask_for_more(!is_bare[end]);
            }
        }
    }

    fn free_sender(&mut self, id: u32, may_be: bool) {
        let flow = &mut self.flows[id as usize];
        let (was_free, is_free) = (flow.is_free(), may_be && flow.may_be_free());
        if let Source::Tcp(tcp) = &mut flow.source
            && (was_free || is_free)
        {
            flow.gates[1].set_free(is_free);
            tcp.forget_timer_events();
            self.schedule_timers(id);
        }
    }

    /// A receiver that acknowledges at once has no timer, and is free.
    fn free_receiver(&mut self, id: u32, may_be: bool) {
        let is_at_shared = self.shared.at(id, 0).is_some();
        let flow = &mut self.flows[id as usize];
        let Source::Tcp(tcp) = &flow.source else { return };
        if !tcp.delays_acks() {
            return flow.gates[0].set_free(true);
        }
        let (was_free, is_free) =
            (flow.gates[0].is_free(), may_be && !is_at_shared && flow.may_answer_freely());
        if let Source::Tcp(tcp) = &mut flow.source
            && (was_free || is_free)
        {
            flow.gates[0].set_free(is_free);
            tcp.forget_delayed_ack_event();
            self.schedule_delayed_ack(id);
        }
    }
}
