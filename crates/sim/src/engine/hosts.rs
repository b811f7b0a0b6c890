//! Packets at their hosts: senders, receivers, timers, ports.

use super::Engine;
use super::exits::{Acknowledged, AcknowledgedWith, PacingTimer};
use crate::flow::{DelaySums, Flow, Source, Tcp};
use crate::instrument::Instruments;
use crate::output::Delays;
use crate::packet::{Event, Kind, Packet};
use crate::trace::TraceEvent;
use paceline_core::{Instant, Span};
use paceline_tcp::{Feedback, Reply};

impl Engine<'_> {
    /// Data reach their destination.
    pub(super) fn receive(&mut self, packet: &Event) {
        self.census.received += 1;
        if self.tracer.is_some() {
            self.trace_receive(packet);
        }
        let (id, now) = (packet.flow, self.now);
        let network_delay = now.since(packet.sent);
        let Flow { source, delays: sums, exits, tails, measured, paced, .. } = &mut self.flows[id as usize];
        let Source::Tcp(tcp) = source else { return self.receive_open_loop(packet, network_delay) };
        let Some(seq) = tcp.number_of(packet.seq) else { return }; // of a connection that is no more
        let before = tcp.receiver.next();
        let delivered = tcp.receiver.on_data(seq);
        let is_counted = self.counting && seq >= tcp.syn;
        if is_counted {
            sums.received += 1;
            sums.network_ns += network_delay.as_nanos();
        }
        let delays = &mut self.delays[usize::from(*paced)];
        if delivered == 1 && tcp.late.is_empty() && !*measured {
            if is_counted {
                sums.delivered += 1;
                sums.delay_ns += network_delay.as_nanos();
                delays.record(network_delay);
            }
        } else {
            let late = LateArrival { packet, seq, before, delivered, now, counting: self.counting };
            late.count(tcp, sums, delays, measured.then_some(&mut self.instruments));
        }
        let next = tcp.receiver.next();
        // Noted before the acknowledgement goes, which may be back at once; told after it.
        let news = if next >= tcp.marks.deliver { Some(tcp.on_delivered(next)) } else { None };
        // Nobody asks for the time that a plain one echoes.
        let echo = if tcp.receiver.is_plain() { Some(now) } else { tcp.receiver.echo(seq, packet.sent) };
        match (echo, self.links.get_mut(exits[1].link as usize)) {
            (Some(echo), Some(link)) => {
                let (seq, bytes, tail) = (tcp.base.wrapping_add(next), tcp.ack_bytes, tails[1].shared);
                let hop = self.ack_hop + 1;
                let ack = Packet { sent: echo, flow: id, seq, bytes, hop, is_ack: true, tail };
                let at = link.pass_unwatched(bytes, now);
                self.census.sent += 1;
                self.staged[exits[1].stage as usize].push(Event::of_packet(at, tail, ack));
            }
            (Some(echo), None) => {
                let (seq, bytes) = (tcp.base.wrapping_add(next), tcp.ack_bytes);
                self.acknowledge(id, seq, bytes, echo);
            }
            (None, _) => self.reply(id, seq, packet.sent),
        }
        if let Some(news) = news {
            self.on_news(id, news);
        }
    }

    /// A packet of an open-loop source reaches its destination.
    fn receive_open_loop(&mut self, packet: &Event, network_delay: Span) {
        let flow = &mut self.flows[packet.flow as usize];
        let Source::OpenLoop(source) = &mut flow.source else { return };
        source.received_bytes += u64::from(packet.bytes).saturating_sub(u64::from(source.header));
        if flow.measured {
            self.instruments.delivers(packet.flow, network_delay, self.now);
        }
        if self.counting {
            flow.delays.received += 1;
            flow.delays.delivered += 1;
            flow.delays.network_ns += network_delay.as_nanos();
            flow.delays.delay_ns += network_delay.as_nanos();
            self.delays[usize::from(flow.paced)].record(network_delay);
        }
    }

    #[cold]
    fn trace_receive(&mut self, packet: &Event) {
        let flow = &self.network.flows[packet.flow as usize];
        let (host, cwnd) = match packet.is_ack() {
            true => (flow.source, self.flows[packet.flow as usize].cwnd()),
            false => (flow.sink, f64::NAN),
        };
        let place = self.network.links.len() as u32 + host;
        if let Some(tracer) = &mut self.tracer {
            tracer.now(TraceEvent::Receive, place, &packet.packet(), cwnd, self.now);
        }
    }

    #[cold]
    fn trace_send(&mut self, host: u32, packet: &Event, cwnd: f64) {
        let place = self.network.links.len() as u32 + host;
        if let Some(tracer) = &mut self.tracer {
            tracer.now(TraceEvent::Send, place, &packet.packet(), cwnd, self.now);
        }
    }

    /// Data have reached a receiver that may report blocks, echo times or wait.
    fn reply(&mut self, flow: u32, seq: u32, sent: Instant) {
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        match tcp.receiver.reply(seq, sent, self.now) {
            Reply::Now(feedback) => self.acknowledge_with(flow, feedback),
            Reply::Later => self.schedule_delayed_ack(flow),
        }
    }

    pub(super) fn on_delayed_ack_timer(&mut self, flow: u32, at: Instant) {
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        if tcp.rest.delayed_ack_event != at {
            return;
        }
        tcp.rest.delayed_ack_event = Instant::MAX;
        if tcp.receiver.due().is_some_and(|due| due <= at) {
            let feedback = tcp.receiver.on_delayed_ack_timer();
            self.acknowledge_with(flow, feedback);
        } else {
            self.schedule_delayed_ack(flow);
        }
    }

    fn schedule_delayed_ack(&mut self, flow: u32) {
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        if let Some(due) = tcp.receiver.due()
            && due < tcp.rest.delayed_ack_event
        {
            tcp.rest.delayed_ack_event = due;
            let place = self.network.links.len() as u32 + self.network.flows[flow as usize].sink;
            self.calendar.push(Event::of_flow(due, place, Kind::DelayedAckTimer, flow));
        }
    }

    fn acknowledge_with(&mut self, id: u32, feedback: Feedback) {
        let Flow { source: Source::Tcp(tcp), exits, tails, .. } = &mut self.flows[id as usize] else {
            return;
        };
        let bytes = tcp.sender.config().ack_bytes(feedback.blocks().len()) as u16;
        let seq = tcp.base.wrapping_add(tcp.receiver.next());
        let sent = tcp.feedback.put(feedback, tcp.receiver.next(), tcp.sender.config().needs_echo());
        let Some(link) = self.links.get_mut(exits[1].link as usize) else {
            return self.acknowledge(id, seq, bytes, sent);
        };
        let (hop, tail) = (self.ack_hop + 1, tails[1].shared);
        let ack = Packet { sent, flow: id, seq, bytes, hop, is_ack: true, tail };
        let at = link.pass_unwatched(bytes, self.now);
        self.census.sent += 1;
        self.staged[exits[1].stage as usize].push(Event::of_packet(at, tail, ack));
    }

    /// The receiver sends an acknowledgement.
    #[inline(never)]
    fn acknowledge(&mut self, flow: u32, seq: u32, bytes: u16, sent: Instant) {
        let ack = Packet { sent, flow, seq, bytes, hop: self.ack_hop, is_ack: true, tail: 0 };
        let event = Event::of_packet(self.now, 0, ack);
        self.census.sent += 1;
        if self.tracer.is_some() {
            let copy = event;
            self.trace_send(self.network.flows[flow as usize].sink, &copy, f64::NAN);
        }
        self.set_out(event);
    }

    /// An acknowledgement reaches the sender.
    pub(super) fn on_ack(&mut self, ack: &Event) {
        self.census.received += 1;
        if self.tracer.is_some() {
            self.trace_receive(ack);
        }
        let flow = &self.flows[ack.flow as usize];
        let Source::Tcp(tcp) = &flow.source else { return };
        let (next, needs_feedback) = (ack.seq.wrapping_sub(tcp.base), tcp.needs_feedback);
        if flow.is_free && tcp.next_timer() < ack.at {
            self.run_timers_out(ack.flow, ack.at);
        }
        if needs_feedback {
            self.on_ack_with_feedback(ack, next);
        } else {
            self.drive(ack.flow, Acknowledged(next));
        }
    }

    #[inline(never)]
    fn on_ack_with_feedback(&mut self, ack: &Event, next: u32) {
        self.drive(ack.flow, AcknowledgedWith(next, ack.sent));
    }

    pub(super) fn on_retransmission_timer(&mut self, flow: u32, at: Instant) {
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        if tcp.retransmission_event != at {
            return;
        }
        tcp.retransmission_event = Instant::MAX;
        if tcp.sender.retransmission_at().is_some_and(|due| due <= at) {
            tcp.sender.on_retransmission_timer(at, &mut self.segments);
        }
        self.send(flow);
    }

    pub(super) fn on_pacing_timer(&mut self, flow: u32, at: Instant) {
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        if tcp.pacing_event != at {
            return;
        }
        tcp.pacing_event = Instant::MAX;
        if tcp.sender.pacing_at().is_some_and(|due| due <= at) {
            self.drive(flow, PacingTimer);
        } else {
            self.schedule_timers(flow);
        }
    }

    pub(super) fn on_application(&mut self, flow: u32) {
        match &mut self.flows[flow as usize].source {
            Source::Tcp(tcp) if tcp.rest.application.is_none() => {
                tcp.sender.start(self.now, &mut self.segments);
                self.send(flow);
            }
            Source::Tcp(_) => self.on_conversation(flow),
            Source::OpenLoop(source) => {
                if self.now >= source.stop {
                    return;
                }
                let Ok(bytes) = u16::try_from(source.bytes) else { return };
                let seq = source.next_seq;
                source.next_seq = seq.wrapping_add(1);
                source.sent += 1;
                let next = source.next_after(self.now);
                if let Some(next) = next {
                    let host = self.flows[flow as usize].host;
                    let place = self.network.links.len() as u32 + host;
                    self.calendar.push(Event::of_flow(next, place, Kind::Application, flow));
                }
                self.leave_host(flow, seq, bytes);
            }
        }
    }

    /// Puts what the flow's sender has just sent into the network, and sees to its timers.
    #[inline]
    pub(super) fn send(&mut self, flow: u32) {
        let mut begun = None;
        for index in 0..self.segments.0.len() {
            let segment = self.segments.0[index];
            let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
            if segment.seq >= tcp.marks.send {
                begun = Some(tcp.on_message_begun(segment.seq, self.now));
            }
            let seq = tcp.base.wrapping_add(segment.seq);
            self.leave_host(flow, seq, segment.bytes as u16);
        }
        self.segments.0.clear();
        self.schedule_timers(flow);
        if let Some(heard) = begun {
            self.hear(flow, heard);
        }
    }

    /// A packet leaves its host, now: through the host's port, if that paces, to its first link.
    #[inline]
    fn leave_host(&mut self, flow: u32, seq: u32, bytes: u16) {
        let event = Event::of_packet(
            self.now,
            0,
            Packet { sent: self.now, flow, seq, bytes, hop: 0, is_ack: false, tail: 0 },
        );
        self.census.sent += 1;
        if self.tracer.is_some() {
            let (sender, copy) = (&self.flows[flow as usize], event);
            self.trace_send(sender.host, &copy, sender.cwnd());
        }
        if self.flows[flow as usize].has_port {
            let copy = event;
            self.enter_port(&copy);
        } else {
            self.set_out(event);
        }
    }

    #[inline(never)]
    fn enter_port(&mut self, event: &Event) {
        let host = self.flows[event.flow as usize].host;
        if let Some(port) = &mut self.ports[host as usize] {
            port.enqueue(event.packet());
            self.pump_port(host);
        }
    }

    pub(super) fn on_port_timer(&mut self, place: u32) {
        let host = place - self.network.links.len() as u32;
        if let Some(port) = &mut self.ports[host as usize] {
            port.timer_fired();
        }
        self.pump_port(host);
    }

    fn pump_port(&mut self, host: u32) {
        while let Some(port) = &mut self.ports[host as usize] {
            if let Some(packet) = port.dequeue(self.now) {
                self.set_out(Event::of_packet(self.now, 0, packet));
                continue;
            }
            if let Some(at) = port.timer_to_set() {
                let place = self.network.links.len() as u32 + host;
                self.calendar.push(Event::of_flow(at, place, Kind::PortTimer, 0));
            }
            return;
        }
    }

    /// Events for the flow's timers, where none is due before them already.
    #[inline(always)]
    pub(super) fn schedule_timers(&mut self, id: u32) {
        let flow = &mut self.flows[id as usize];
        if flow.watched {
            self.instruments.looks_at(id, &flow.source, self.now);
        }
        if flow.is_free {
            return self.note_in_agenda(id);
        }
        let Source::Tcp(tcp) = &mut flow.source else { return };
        let due = tcp.sender.retransmission_due();
        if due < tcp.retransmission_event {
            tcp.retransmission_event = due;
            let place = self.network.links.len() as u32 + flow.host;
            self.calendar.push(Event::of_flow(due, place, Kind::RetransmissionTimer, id));
        }
        if let Some(due) = tcp.sender.pacing_at()
            && due < tcp.pacing_event
        {
            tcp.pacing_event = due;
            let place = self.network.links.len() as u32 + flow.host;
            self.calendar.push(Event::of_flow(due, place, Kind::PacingTimer, id));
        }
        if flow.has_port
            && let Some(port) = &mut self.ports[flow.host as usize]
        {
            let rate = tcp.sender.rate_bps();
            port.change_rate(tcp.rest.port_rate, rate);
            tcp.rest.port_rate = rate;
        }
    }
}

/// Packet `seq` has arrived where `before` was waited for; `delivered` packets from there on are now in order, perhaps none.
struct LateArrival<'a> {
    packet: &'a Event,
    seq: u32,
    before: u32,
    delivered: u32,
    now: Instant,
    counting: bool,
}

impl LateArrival<'_> {
    /// Counts what is delivered.
    #[inline(never)]
    fn count(
        self,
        tcp: &mut Tcp,
        sums: &mut DelaySums,
        delays: &mut Delays,
        mut instruments: Option<&mut Instruments>,
    ) {
        let sent = self.packet.sent;
        if self.seq > self.before {
            tcp.late.note(self.seq, sent, self.before); // it waits
        }
        for seq in self.before..self.before + self.delivered {
            let first_sent = tcp.late.take(seq).map_or(sent, |first| first.min(sent));
            let delay = self.now.since(first_sent);
            if seq < tcp.syn {
                continue;
            }
            if let Some(instruments) = &mut instruments {
                instruments.delivers(self.packet.flow, delay, self.now);
            }
            if self.counting {
                sums.delivered += 1;
                sums.delay_ns += delay.as_nanos();
                delays.record(delay);
            }
        }
    }
}
