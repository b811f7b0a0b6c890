//! Rows of a trace at hosts: what leaves them and what reaches them.

use crate::engine::hosts::Hosts;
use crate::kernel::packet::Event;
use crate::model::flow::Source;
use crate::observe::trace::{Detail, TraceEvent};
use paceline_tcp::{Block, Feedback};

impl Hosts<'_> {
    /// A packet reaches the host that it is for.
    #[cold]
    pub(crate) fn trace_receive(&mut self, packet: &Event) {
        let flow = &self.network.flows[packet.flow as usize];
        let (host, detail) = match packet.is_ack() {
            true => (flow.source, self.acknowledgement_says(packet)),
            false => (flow.sink, Detail::default()),
        };
        self.trace_at(TraceEvent::Receive, host, packet, detail);
    }

    /// A packet is let go by the host that it is from.
    #[cold]
    pub(crate) fn trace_send(&mut self, packet: &Event) {
        let flow = &self.network.flows[packet.flow as usize];
        let (host, detail) = match packet.is_ack() {
            true => (flow.sink, self.acknowledgement_says(packet)),
            false => (flow.source, self.data_say(packet)),
        };
        self.trace_at(TraceEvent::Send, host, packet, detail);
    }

    fn trace_at(&mut self, what: TraceEvent, host: u32, packet: &Event, detail: Detail) {
        let place = self.network.links.len() as u32 + host;
        let is_at_sender = packet.is_ack() == (what == TraceEvent::Receive);
        let cwnd = if is_at_sender { self.flows[packet.flow as usize].cwnd() } else { f64::NAN };
        if let Some(tracer) = &mut self.trace {
            tracer.add_at_host(what, packet.at, place, &packet.packet(), cwnd, detail);
        }
    }

    fn data_say(&self, packet: &Event) -> Detail {
        let Source::Tcp(tcp) = &self.flows[packet.flow as usize].source else { return Detail::default() };
        let (first, limit) = (tcp.base(), tcp.sender.limit());
        let has_no_more = || match tcp.rest.application {
            None => true,
            Some((talk, side)) => {
                self.dialogues[talk as usize].application.has_no_more(side, tcp.rest.messages.given())
            }
        };
        let closes = packet.seq.wrapping_sub(first).wrapping_add(1) == limit && has_no_more();
        Detail { first, closes, ..Detail::default() }
    }

    fn acknowledgement_says(&self, packet: &Event) -> Detail {
        let Source::Tcp(tcp) = &self.flows[packet.flow as usize].source else { return Detail::default() };
        if !tcp.sender.config().needs_feedback() {
            return Detail::default();
        }
        let (base, mut room) = (tcp.base(), Feedback::default());
        let (echo, blocks) = tcp.rest.feedback.read(packet.sent, packet.seq.wrapping_sub(base), &mut room);
        let mut feedback = Feedback::new(echo);
        for Block { start, end } in blocks {
            feedback.push(Block { start: base.wrapping_add(*start), end: base.wrapping_add(*end) });
        }
        Detail { feedback, ..Detail::default() }
    }
}
