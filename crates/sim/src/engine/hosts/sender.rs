//! Senders at work: acknowledgements, timers, ports.

use crate::engine::hosts::Hosts;
use crate::engine::hosts::egress::{Acknowledged, AcknowledgedWith, AcknowledgedWithEcho, PacingTimer};
use crate::kernel::packet::{Event, Kind, Packet};
use crate::kernel::signals::Signals;
use crate::model::flow::Source;
use paceline_core::Instant;

impl Hosts<'_> {
    /// An acknowledgement reaches the sender.
    #[inline(never)]
    pub(crate) fn on_ack(&mut self, ack: &Event) {
        self.received += 1;
        let flow = &self.flows[ack.flow as usize];
        let Source::Tcp(tcp) = &flow.source else { return };
        let needs_feedback = tcp.sender.config().needs_feedback();
        let has_ecn = tcp.has_ecn();
        let next = ack.seq.wrapping_sub(tcp.base());
        if flow.is_free() && tcp.next_timer() < ack.at {
            self.run_timers_out(ack.flow, ack.at); // it runs by itself
        }
        if self.trace.is_some() {
            self.trace_receive(ack);
        }
        if has_ecn {
            self.on_ack_with_echo(ack, next);
        } else if needs_feedback {
            self.on_ack_with_feedback(ack, next);
        } else {
            self.drive(ack.flow, Acknowledged(next));
        }
    }

    /// The same where it may carry more than a number: no timer comes before, and nothing is traced.
    #[inline(never)]
    pub(crate) fn on_ack_with_feedback(&mut self, ack: &Event, next: u32) {
        self.drive(ack.flow, AcknowledgedWith(next, ack.sent));
    }

    /// The same on a connection with ECN.
    #[inline(never)]
    fn on_ack_with_echo(&mut self, ack: &Event, next: u32) {
        self.drive(ack.flow, AcknowledgedWithEcho(AcknowledgedWith(next, ack.sent), ack.signals()));
    }

    pub(crate) fn on_retransmission_timer(&mut self, flow: u32, at: Instant) {
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        if tcp.rest.retransmission_event != at {
            return;
        }
        tcp.rest.retransmission_event = Instant::MAX;
        if tcp.sender.retransmission_at().is_some_and(|due| due <= at) {
            tcp.sender.on_retransmission_timer(at, &mut self.segments);
        }
        self.send(flow);
    }

    pub(crate) fn on_pacing_timer(&mut self, flow: u32, at: Instant) {
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        if tcp.rest.pacing_event != at {
            return;
        }
        tcp.rest.pacing_event = Instant::MAX;
        if tcp.sender.pacing_at().is_some_and(|due| due <= at) {
            self.drive(flow, PacingTimer);
        } else {
            self.schedule_timers(flow);
        }
    }

    pub(crate) fn on_application(&mut self, flow: u32) {
        match &mut self.flows[flow as usize].source {
            Source::Tcp(tcp) if tcp.rest.application.is_none() => {
                tcp.sender.start(self.now, &mut self.segments);
                self.send(flow);
            }
            Source::Tcp(_) => self.on_dialogue(flow),
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
                    let host = self.network.flows[flow as usize].source;
                    let place = self.network.links.len() as u32 + host;
                    self.mail.calendar.push(Event::of_flow(next, place, Kind::Application, flow));
                }
                let signals = Signals::of(source.ecn);
                self.leave_host((flow, seq), bytes, signals);
            }
        }
    }

    /// Puts what the flow's sender has just sent into the network, and sees to its timers.
    #[inline]
    pub(crate) fn send(&mut self, flow: u32) {
        if self.segments.0.is_empty() {
            return self.schedule_timers(flow);
        }
        let mut begun = None;
        // Taken out: what a message sets off may make other senders send.
        let mut segments = std::mem::take(&mut self.segments);
        for segment in segments.0.drain(..) {
            let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
            if segment.seq >= tcp.marks().send {
                begun = Some(tcp.on_message_begun(segment.seq, self.now));
            }
            let seq = tcp.base().wrapping_add(segment.seq);
            let signals = tcp.data_signals(segment);
            self.leave_host((flow, seq), segment.bytes as u16, signals);
        }
        self.segments = segments;
        self.schedule_timers(flow);
        if let Some(notice) = begun {
            self.notify(flow, notice);
        }
    }

    /// A packet leaves its host, now: through the host's port, if that paces, to its first link.
    #[inline]
    fn leave_host(&mut self, (flow, seq): (u32, u32), bytes: u16, signals: Signals) {
        let packet = Packet { sent: self.now, flow, seq, bytes, hop: 0, is_ack: false, signals };
        let event = Event::of_packet(self.now, 0, packet);
        self.sent += 1;
        if self.trace.is_some() {
            let copy = event;
            self.trace_send(&copy);
        }
        if self.flows[flow as usize].traits.has_port() {
            let copy = event;
            self.enter_port(&copy);
        } else {
            self.send_out(event);
        }
    }

    #[inline(never)]
    fn enter_port(&mut self, event: &Event) {
        let host = self.network.flows[event.flow as usize].source;
        if let Some(Some(port)) = self.ports.get_mut(host as usize) {
            port.enqueue(event.packet());
            self.pump_port(host);
        }
    }

    pub(crate) fn on_port_timer(&mut self, place: u32) {
        let host = place - self.network.links.len() as u32;
        if let Some(Some(port)) = self.ports.get_mut(host as usize) {
            port.timer_fired();
        }
        self.pump_port(host);
    }

    #[inline(never)]
    fn pump_port(&mut self, host: u32) {
        while let Some(Some(port)) = self.ports.get_mut(host as usize) {
            if let Some(packet) = port.dequeue(self.now) {
                self.send_out(Event::of_packet(self.now, 0, packet));
                continue;
            }
            if let Some(at) = port.timer_to_set() {
                let place = self.network.links.len() as u32 + host;
                self.mail.calendar.push(Event::of_flow(at, place, Kind::PortTimer, 0));
            }
            return;
        }
    }

    /// Events for the flow's timers, where none is due before them already.
    #[inline(always)]
    pub(crate) fn schedule_timers(&mut self, id: u32) {
        let flow = &mut self.flows[id as usize];
        let is_free = flow.is_free();
        if flow.traits.observes_window() {
            self.instruments.looks_at(id, &flow.source, self.now);
        }
        let Source::Tcp(tcp) = &mut flow.source else { return };
        if is_free {
            return self.deadlines.note(id, tcp.next_timer());
        }
        let due = tcp.sender.retransmission_due();
        if due < tcp.rest.retransmission_event {
            tcp.rest.retransmission_event = due;
            let place = self.network.links.len() as u32 + self.network.flows[id as usize].source;
            self.mail.calendar.push(Event::of_flow(due, place, Kind::RetransmissionTimer, id));
        }
        if let Some(due) = tcp.sender.pacing_at()
            && due < tcp.rest.pacing_event
        {
            tcp.rest.pacing_event = due;
            let place = self.network.links.len() as u32 + self.network.flows[id as usize].source;
            self.mail.calendar.push(Event::of_flow(due, place, Kind::PacingTimer, id));
        }
        if flow.traits.has_port()
            && let Some(Some(port)) = self.ports.get_mut(self.network.flows[id as usize].source as usize)
        {
            let rate = tcp.sender.rate_bps();
            port.change_rate(tcp.rest.port_rate, rate);
            tcp.rest.port_rate = rate;
        }
    }
}
