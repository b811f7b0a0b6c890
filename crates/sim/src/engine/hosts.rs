//! Packets at their hosts: senders, receivers, timers, ports.

use super::Engine;
use crate::flow::Source;
use crate::packet::{Event, Kind, Packet};
use crate::trace::TraceEvent;
use paceline_core::Instant;
use paceline_tcp::{Feedback, Reply};

impl Engine<'_> {
    /// Data reach their destination.
    #[inline]
    pub(super) fn receive(&mut self, packet: Packet) {
        self.census.received += 1;
        if let Some(tracer) = &mut self.tracer {
            let place = self.network.links.len() as u32 + self.network.flows[packet.flow as usize].sink;
            tracer.now(TraceEvent::Receive, place, &packet, f64::NAN, self.now);
        }
        let flow = &mut self.flows[packet.flow as usize];
        let paced = usize::from(flow.paced);
        let network_delay = self.now.since(packet.sent);
        let counting = self.counting;
        match &mut flow.source {
            Source::Tcp(tcp) => {
                let Some(seq) = tcp.number_of(packet.seq) else { return }; // of a connection that is no more
                let before = tcp.receiver.next();
                let delivered = tcp.receiver.on_data(seq);
                if delivered != 1 || !tcp.late.is_empty() {
                    tcp.late.on_arrival(seq, packet.sent, before);
                }
                if seq >= tcp.syn && counting {
                    flow.delays.received += 1;
                    flow.delays.network_ns += network_delay.as_nanos();
                }
                for seq in before..before + delivered {
                    let first_sent = tcp.late.take(seq).map_or(packet.sent, |first| first.min(packet.sent));
                    if flow.measured && seq >= tcp.syn {
                        self.instruments.delivers(packet.flow, self.now.since(first_sent), self.now);
                    }
                    if counting && seq >= tcp.syn {
                        let delay = self.now.since(first_sent);
                        flow.delays.delivered += 1;
                        flow.delays.delay_ns += delay.as_nanos();
                        self.delays[paced].record(delay);
                    }
                }
                let next = tcp.receiver.next();
                // Noted before the acknowledgement goes, which may be back at once; told after it.
                let news = if next >= tcp.marks.deliver { Some(tcp.on_delivered(next)) } else { None };
                let (acknowledged, bytes) = (tcp.base.wrapping_add(next), tcp.ack_bytes);
                if tcp.receiver.is_plain() {
                    self.acknowledge(packet.flow, acknowledged, bytes, self.now); // nobody asks for the time
                } else if let Some(echo) = tcp.receiver.echo(seq, packet.sent) {
                    self.acknowledge(packet.flow, acknowledged, bytes, echo);
                } else {
                    self.reply(packet.flow, seq, packet.sent);
                }
                if let Some(news) = news {
                    self.on_news(packet.flow, news);
                }
            }
            Source::OpenLoop(source) => {
                source.received_bytes += u64::from(packet.bytes).saturating_sub(u64::from(source.header));
                if flow.measured {
                    self.instruments.delivers(packet.flow, network_delay, self.now);
                }
                if counting {
                    flow.delays.received += 1;
                    flow.delays.delivered += 1;
                    flow.delays.network_ns += network_delay.as_nanos();
                    flow.delays.delay_ns += network_delay.as_nanos();
                    self.delays[paced].record(network_delay);
                }
            }
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
        if tcp.delayed_ack_event != at {
            return;
        }
        tcp.delayed_ack_event = Instant::MAX;
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
            && due < tcp.delayed_ack_event
        {
            tcp.delayed_ack_event = due;
            let place = self.network.links.len() as u32 + self.network.flows[flow as usize].sink;
            self.calendar.push(Event::of_flow(due, place, Kind::DelayedAckTimer, flow));
        }
    }

    fn acknowledge_with(&mut self, flow: u32, feedback: Feedback) {
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        let bytes = tcp.sender.config().ack_bytes(feedback.blocks().len()) as u16;
        let seq = tcp.base.wrapping_add(tcp.receiver.next());
        let sent = tcp.feedback.put(feedback);
        self.acknowledge(flow, seq, bytes, sent);
    }

    /// The receiver sends an acknowledgement.
    #[inline]
    fn acknowledge(&mut self, flow: u32, seq: u32, bytes: u16, sent: Instant) {
        let ack = Packet { sent, flow, seq, bytes, hop: self.ack_hop, is_ack: true };
        self.census.sent += 1;
        if let Some(tracer) = &mut self.tracer {
            let host = self.network.links.len() as u32 + self.network.flows[flow as usize].sink;
            tracer.now(TraceEvent::Send, host, &ack, f64::NAN, self.now);
        }
        self.set_out(ack);
    }

    /// An acknowledgement reaches the sender.
    #[inline]
    pub(super) fn on_ack(&mut self, ack: Packet) {
        self.census.received += 1;
        let flow = &mut self.flows[ack.flow as usize];
        if let Some(tracer) = &mut self.tracer {
            let host = self.network.links.len() as u32 + self.network.flows[ack.flow as usize].source;
            tracer.now(TraceEvent::Receive, host, &ack, flow.cwnd(), self.now);
        }
        let Source::Tcp(tcp) = &mut flow.source else { return };
        let next = ack.seq.wrapping_sub(tcp.base);
        if tcp.needs_feedback {
            let (echo, blocks) = tcp.feedback.read(ack.sent);
            tcp.sender.on_ack_with(next, echo, blocks, self.now, &mut self.segments);
            tcp.feedback.release(ack.sent);
        } else {
            tcp.sender.on_ack(next, self.now, &mut self.segments);
        }
        let message_is_complete = tcp.sender.una() >= tcp.marks.acknowledge;
        self.send(ack.flow);
        if message_is_complete {
            self.on_message_acknowledged(ack.flow);
        }
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
            tcp.sender.on_pacing_timer(at, &mut self.segments);
        }
        self.send(flow);
    }

    pub(super) fn on_application(&mut self, flow: u32) {
        match &mut self.flows[flow as usize].source {
            Source::Tcp(tcp) if tcp.application.is_none() => {
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
                let host = self.flows[flow as usize].host;
                if let Some(next) = next {
                    let place = self.network.links.len() as u32 + host;
                    self.calendar.push(Event::of_flow(next, place, Kind::Application, flow));
                }
                self.leave_host(host, Packet { sent: self.now, flow, seq, bytes, hop: 0, is_ack: false });
            }
        }
    }

    /// Puts what the flow's sender has just sent into the network, and sees to its timers.
    #[inline]
    pub(super) fn send(&mut self, flow: u32) {
        let host = self.flows[flow as usize].host;
        let mut begun = None;
        for index in 0..self.segments.0.len() {
            let segment = self.segments.0[index];
            let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
            if segment.seq >= tcp.marks.send {
                begun = Some(tcp.on_message_begun(segment.seq, self.now));
            }
            let (seq, bytes) = (tcp.base.wrapping_add(segment.seq), segment.bytes as u16);
            self.leave_host(host, Packet { sent: self.now, flow, seq, bytes, hop: 0, is_ack: false });
        }
        self.segments.0.clear();
        self.schedule_timers(flow, host);
        if let Some(heard) = begun {
            self.hear(flow, heard);
        }
    }

    /// A packet leaves its host: through the host's port, if that paces, to its first link.
    #[inline]
    fn leave_host(&mut self, host: u32, packet: Packet) {
        self.census.sent += 1;
        if let Some(tracer) = &mut self.tracer {
            let place = self.network.links.len() as u32 + host;
            tracer.now(TraceEvent::Send, place, &packet, self.flows[packet.flow as usize].cwnd(), self.now);
        }
        if let Some(port) = &mut self.ports[host as usize] {
            port.enqueue(packet);
            self.pump_port(host);
        } else {
            self.set_out(packet);
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
                self.set_out(packet);
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
    #[inline]
    fn schedule_timers(&mut self, flow: u32, host: u32) {
        let watched = self.flows[flow as usize].watched;
        if watched {
            self.instruments.looks_at(flow, &self.flows[flow as usize].source, self.now);
        }
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        let place = self.network.links.len() as u32 + host;
        if let Some(due) = tcp.sender.retransmission_at()
            && due < tcp.retransmission_event
        {
            tcp.retransmission_event = due;
            self.calendar.push(Event::of_flow(due, place, Kind::RetransmissionTimer, flow));
        }
        if let Some(due) = tcp.sender.pacing_at()
            && due < tcp.pacing_event
        {
            tcp.pacing_event = due;
            self.calendar.push(Event::of_flow(due, place, Kind::PacingTimer, flow));
        }
        if let Some(port) = &mut self.ports[host as usize] {
            let rate = tcp.sender.rate_bps();
            port.change_rate(tcp.port_rate, rate);
            tcp.port_rate = rate;
        }
    }
}
