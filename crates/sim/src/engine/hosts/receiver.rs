//! Receivers at work: data at their destination, and what is sent back.

use crate::engine::hosts::Hosts;
use crate::engine::hosts::egress::pass_out;
use crate::kernel::packet::{Event, Kind, Packet};
use crate::kernel::signals::Signals;
use crate::model::feedback::FeedbackInFlight;
use crate::model::flow::{DelaySums, Flow, Source, Tcp};
use crate::observe::output::Delays;
use paceline_core::{Ecn, Instant, Span};
use paceline_tcp::{Feedback, Reply};
use std::hint::select_unpredictable;
use std::ops::Range;

impl Tcp {
    /// Packet `seq`, last sent then, arrives, for which others may wait, or which may have been delivered before; `tell`
    /// is called with the delay of each that is delivered.
    #[inline(never)]
    pub(crate) fn deliver_late(
        &mut self,
        (seq, sent): (u32, Instant),
        now: Instant,
        mut sums: Option<(&mut DelaySums, &mut Delays)>,
        mut tell: impl FnMut(Span),
    ) {
        let before = self.receiver.next();
        let delivered = self.receiver.on_data(seq);
        for place in before..before + delivered {
            // Those behind it have waited; where packets are reordered, they may have been sent after it.
            let late = self.late.take(place);
            let own = select_unpredictable(place == seq, sent, Instant::MAX);
            let delay = now.since(select_unpredictable(late < own, late, own));
            if self.is_syn(place) {
                continue;
            }
            tell(delay);
            if let Some((flow, all)) = &mut sums {
                flow.delivers(delay);
                all.record(1, delay);
            }
        }
    }

    /// Packet `seq`, last sent then, arrives, if it is little beyond what is waited for, as all is that is late: how many are delivered
    /// now, and when the first of them was sent first. Branchless: whether there are any is unpredictable.
    #[inline(always)]
    pub(crate) fn arrive_near(&mut self, seq: u32, sent: Instant) -> Option<(u32, Instant)> {
        let next = self.receiver.next();
        if !self.late.note_near(seq, sent, next) {
            return None;
        }
        let delivered = self.receiver.on_near(seq)?; // if that is one of many, `sent` is noted again
        Some((delivered, self.late.take_near(next, delivered > 0)))
    }

    /// These are delivered too, for which the one before them has come.
    #[inline(never)]
    pub(crate) fn deliver_rest(
        &mut self,
        packets: Range<u32>,
        now: Instant,
        mut sums: Option<(&mut DelaySums, &mut Delays)>,
    ) {
        for seq in packets {
            let delay = now.since(self.late.take(seq));
            if let Some((flow, all)) = &mut sums {
                flow.delivers(delay);
                all.record(1, delay);
            }
        }
    }
}

impl Hosts<'_> {
    /// Data reach their destination.
    pub(crate) fn receive(&mut self, packet: &Event) {
        self.let_due_acknowledgement_go(packet.flow, packet.at);
        self.received += 1;
        if self.trace.is_some() {
            self.trace_receive(packet);
        }
        let (id, now, counting) = (packet.flow, self.now, self.counting);
        let mut flow = &mut self.flows[id as usize];
        if flow.gates[0].has_trains() {
            self.receive_of_train(packet);
            flow = &mut self.flows[id as usize];
        }
        if packet.signals() != Signals::NONE {
            self.receive_ecn(packet);
            flow = &mut self.flows[id as usize];
        }
        let Source::Tcp(tcp) = &mut flow.source else { return self.receive_open_loop(packet) };
        let Some(seq) = tcp.number_of(packet.seq) else { return }; // of a connection that is no more
        if counting && !tcp.is_syn(seq) {
            flow.delays.receives(now.since(packet.sent));
        }
        if flow.traits.observes_delays() && !tcp.is_syn(seq) && !tcp.receiver.has(seq) {
            let first = tcp.late.first(seq, tcp.receiver.next()).min(packet.sent);
            self.instruments.arrives_first(id, now.since(first), now);
        }
        if seq > tcp.receiver.next() {
            tcp.late.note(seq, packet.sent, tcp.receiver.next()); // it waits
            tcp.receiver.hold(seq);
        } else {
            let sums =
                counting.then_some((&mut flow.delays, &mut self.delays[usize::from(flow.traits.is_paced())]));
            let (measured, instruments) = (flow.traits.observes_delays(), &mut self.instruments);
            tcp.deliver_late((seq, packet.sent), now, sums, |delay| {
                if measured {
                    instruments.delivers(id, delay, now);
                }
            });
        }
        self.answer(packet, seq);
    }

    /// Before a packet is received: those that wait, if it does not continue them, are answered; and whether it ends a train.
    #[inline(never)]
    fn receive_of_train(&mut self, packet: &Event) {
        let Source::Tcp(tcp) = &mut self.flows[packet.flow as usize].source else { return };
        let Some(seq) = tcp.number_of(packet.seq) else { return };
        let signals = packet.signals().bits();
        if let Some(feedback) = tcp.receiver.on_joinable(seq, packet.sent, signals, self.now) {
            self.acknowledge_with(packet.flow, feedback);
        }
        let Source::Tcp(tcp) = &mut self.flows[packet.flow as usize].source else { return };
        // What has come before is no longer in flight, as far as the sender may know.
        if seq >= tcp.receiver.next() && tcp.sender.ends_train(seq) {
            tcp.receiver.on_push();
        }
    }

    /// Before a packet is received: what its headers say of congestion.
    #[inline(never)]
    fn receive_ecn(&mut self, packet: &Event) {
        let Source::Tcp(tcp) = &mut self.flows[packet.flow as usize].source else { return };
        if !tcp.has_ecn() || tcp.number_of(packet.seq).is_none() {
            return;
        }
        let is_marked = packet.signals().ecn() == Ecn::Ce;
        if let Some(feedback) = tcp.receiver.flush_before_mark(is_marked) {
            self.acknowledge_with(packet.flow, feedback);
        }
        let Source::Tcp(tcp) = &mut self.flows[packet.flow as usize].source else { return };
        tcp.receiver.on_ecn(is_marked, packet.signals().has(Signals::CWR));
    }

    /// Packet `seq` of its connection has been received: its receiver answers, now or later.
    #[inline(never)]
    pub(crate) fn answer(&mut self, packet: &Event, seq: u32) {
        let id = packet.flow;
        let Source::Tcp(tcp) = &mut self.flows[id as usize].source else { return };
        let next = tcp.receiver.next();
        // Noted before the acknowledgement goes, which may be back at once; the application is notified after it.
        let news = if tcp.delivers_a_mark(next) { Some(tcp.on_delivered(next)) } else { None };
        if news.is_some_and(|news| news.messages > 0) {
            tcp.receiver.on_push();
        }
        // A plain ACK echoes no time that anything reads.
        let echo =
            if tcp.receiver.is_cumulative() { Some(self.now) } else { tcp.receiver.echo(seq, packet.sent) };
        match echo {
            Some(echo) => self.acknowledge_with(id, Feedback::new(echo)),
            None => self.reply(id, seq, packet.sent),
        }
        if let Some(news) = news {
            self.on_news(id, news);
        }
    }

    /// A packet of an open-loop source reaches its destination.
    fn receive_open_loop(&mut self, packet: &Event) {
        let delay = self.now.since(packet.sent);
        let flow = &mut self.flows[packet.flow as usize];
        let Source::OpenLoop(source) = &mut flow.source else { return };
        source.received += 1;
        source.received_bytes += u64::from(packet.bytes).saturating_sub(u64::from(source.header));
        if flow.traits.observes_delays() {
            self.instruments.arrives_first(packet.flow, delay, self.now);
            self.instruments.delivers(packet.flow, delay, self.now);
        }
        if self.counting {
            flow.delays.receives(delay);
            flow.delays.delivers(delay);
            self.delays[usize::from(flow.traits.is_paced())].record(1, delay);
        }
    }

    /// Data have reached a receiver that may report blocks, echo times or wait.
    #[inline(never)]
    pub(crate) fn reply(&mut self, flow: u32, seq: u32, sent: Instant) {
        let Flow { source: Source::Tcp(tcp), gates, .. } = &mut self.flows[flow as usize] else { return };
        let delays = tcp.delays_acks();
        let reply = tcp.receiver.reply(seq, sent, self.now);
        if delays && gates[0].is_free() {
            self.delayed_acks.note(flow, tcp.receiver.due().unwrap_or(Instant::MAX));
        } else if delays {
            self.schedule_delayed_ack(flow);
        }
        if let Reply::Now(feedback) = reply {
            self.acknowledge_with(flow, feedback);
        }
    }

    pub(crate) fn on_delayed_ack_timer(&mut self, flow: u32, at: Instant) {
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        if tcp.rest.delayed_ack_event != at {
            return;
        }
        tcp.rest.delayed_ack_event = Instant::MAX;
        if tcp.receiver.due().is_some_and(|due| due <= at) {
            self.let_acknowledgement_go(flow);
        }
        self.schedule_delayed_ack(flow);
    }

    /// The host at which this flow's data end sends data over the same connection, now.
    pub(crate) fn answer_with_data(&mut self, flow: u32) {
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        if let Some(feedback) = tcp.receiver.on_data_sent(self.now) {
            self.acknowledge_with(flow, feedback);
        }
    }

    /// An acknowledgement that was held back goes now; or packets that waited to be joined to others, and with them perhaps one.
    pub(crate) fn let_acknowledgement_go(&mut self, flow: u32) {
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        if let Some(feedback) = tcp.receiver.on_timer(self.now) {
            self.acknowledge_with(flow, feedback);
        }
    }

    /// The delayed acknowledgement of a free receiver goes if it is due before `end`.
    #[inline]
    pub(crate) fn let_due_acknowledgement_go(&mut self, flow: u32, end: Instant) {
        if let Source::Tcp(tcp) = &self.flows[flow as usize].source
            && let Some(due) = tcp.receiver.due()
            && due < end
        {
            self.let_due_acknowledgements_go(flow, (due, end));
        }
    }

    /// That one, due then, and what is due before `end` after it.
    #[inline(never)]
    fn let_due_acknowledgements_go(&mut self, flow: u32, (due, end): (Instant, Instant)) {
        let now = std::mem::replace(&mut self.now, due);
        self.let_acknowledgement_go(flow);
        while let Source::Tcp(tcp) = &self.flows[flow as usize].source
            && let Some(due) = tcp.receiver.due()
            && due < end
        {
            self.now = due;
            self.let_acknowledgement_go(flow);
        }
        self.now = now;
    }

    /// A deadline or an event for that, where the receiver's host does not see to it (`hosts/fastpath/shared_hosts.rs`).
    pub(crate) fn schedule_delayed_ack(&mut self, flow: u32) {
        let Flow { source: Source::Tcp(tcp), gates, .. } = &mut self.flows[flow as usize] else { return };
        if !tcp.delays_acks() || self.shared.at(flow, 0).is_some() {
            return;
        }
        if gates[0].is_free() {
            return self.delayed_acks.note(flow, tcp.receiver.due().unwrap_or(Instant::MAX));
        }
        if let Some(due) = tcp.receiver.due()
            && due < tcp.rest.delayed_ack_event
        {
            tcp.rest.delayed_ack_event = due;
            let place = self.network.links.len() as u32 + self.network.flows[flow as usize].sink;
            self.mail.calendar.push(Event::of_flow(due, place, Kind::DelayedAckTimer, flow));
        }
    }

    fn acknowledge_with(&mut self, id: u32, feedback: Feedback) {
        let Flow { source: Source::Tcp(tcp), ordered_links, suffixes, at_sink, .. } =
            &mut self.flows[id as usize]
        else {
            return;
        };
        let bytes = tcp.sender.config().ack_bytes(feedback.blocks().len()) as u16;
        let next = tcp.receiver.next();
        let seq = tcp.base().wrapping_add(next);
        let carried = FeedbackInFlight::carried(&feedback, next, tcp.sender.config().needs_echo());
        let sent = carried.unwrap_or_else(|| tcp.rest.feedback.keep(feedback));
        let signals = tcp.ack_signals();
        let ack = Packet { sent, flow: id, seq, bytes, hop: self.ack_hop, is_ack: true, signals };
        self.sent += 1;
        let Some(link) = at_sink.out.link(&mut self.access) else { return self.acknowledge_slowly(ack) };
        let waiting = &mut self.mail.to_links[usize::from(ordered_links[1])];
        pass_out(link, Packet { hop: ack.hop + 1, ..ack }, self.now, (suffixes[1].shared, waiting));
    }

    #[inline(never)]
    fn acknowledge_slowly(&mut self, ack: Packet) {
        let event = Event::of_packet(self.now, 0, ack);
        if self.trace.is_some() {
            self.trace_send(&event);
        }
        self.send_hop_by_hop(event);
    }
}
