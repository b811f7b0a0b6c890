//! The shortest way of a packet through a host, on which nobody looks: most packets of a large network take it.
//!
//! *Idea.* A flow whose sender runs by itself and whose ways in and out are short needs nothing but its own state: what reaches
//! one of its hosts passes the flow's own link, makes the connection do what it mostly does, and what is sent in answer
//! passes another of its links and waits for the next window. All that is done here; whatever else may happen goes the long
//! ways ([`super::receivers`], [`super::hosts`]), and comes to the same.

use super::Engine;
use super::exits::Outlet;
use crate::feedback::FeedbackUnderWay;
use crate::flow::{Flow, Source};
use crate::packet::{Event, Packet};

impl Flow {
    /// Whether its receiver, and its sender, may be taken the shortest way, unless something waits in the calendar. Nobody
    /// looks at packets.
    pub(super) fn plain_ends(&self) -> [bool; 2] {
        let Source::Tcp(tcp) = &self.source else { return [false; 2] };
        let has_timer = tcp.sender.config().delayed_ack.is_some();
        let receives = self.at_sink.out.is_some() && !self.measured && !has_timer;
        [receives, tcp.is_free && self.at_source.out.is_some()]
    }
}

impl Engine<'_> {
    /// A packet has come to the last link before its host. Does all that, if this is a plain end of its flow; else says no.
    #[inline(always)]
    pub(super) fn take_plainly(&mut self, event: &mut Event) -> bool {
        let (flow, end) = (&self.flows[event.flow as usize], usize::from(event.is_ack()));
        if !flow.plain[end] || flow.waiting[end] != 0 || flow.replaces_connections && !flow.waits_for(event) {
            return false;
        }
        if event.is_ack() {
            self.acknowledge_plainly(event);
        } else {
            self.receive_plainly(event);
        }
        true
    }

    /// Data reach their receiver (see [`Engine::receive`]).
    #[inline(always)]
    fn receive_plainly(&mut self, event: &mut Event) {
        let flow = &mut self.flows[event.flow as usize];
        let at = flow.at_sink.come_in(event.bytes, event.at);
        let Source::Tcp(tcp) = &mut flow.source else { return };
        if at >= self.until {
            return self.reach_host_by_event(event.at_time(at));
        }
        self.census.received += 1;
        let (seq, sent, delay) = (event.seq.wrapping_sub(tcp.base), event.sent, at.since(event.sent));
        let delays = &mut self.delays[usize::from(flow.paced)];
        let counts = self.counting && seq >= tcp.syn;
        if counts {
            flow.delays.received += 1;
            flow.delays.network_ns += delay.as_nanos();
        }
        if tcp.receiver.is_next(seq) && tcp.late.is_empty() {
            tcp.receiver.on_next();
            if counts {
                flow.delays.delivered += 1;
                flow.delays.delay_ns += delay.as_nanos();
                delays.record(delay);
            }
        } else if seq > tcp.receiver.next() {
            tcp.late.note(seq, sent, tcp.receiver.next());
            tcp.receiver.hold(seq);
        } else {
            flow.deliver_late((seq, sent), at, self.counting.then_some(delays), |_| {});
        }
        let Source::Tcp(tcp) = &mut flow.source else { return };
        let next = tcp.receiver.next();
        if next < tcp.marks.deliver
            && let Some(link) = &mut flow.at_sink.out
            // Nobody asks for the time that a plain one echoes.
            && let Some(echo) = if tcp.receiver.is_plain() { Some(at) } else { tcp.receiver.echo(seq, sent) }
        {
            let (bytes, hop) = (tcp.ack_bytes, self.ack_hop + 1);
            let seq = tcp.base.wrapping_add(next);
            let ack = Packet { sent: echo, flow: event.flow, seq, bytes, hop, is_ack: true };
            let arrival = link.pass_unwatched(bytes, at);
            self.census.sent += 1;
            let event = Event::of_packet(arrival, flow.tails[1].shared, ack);
            self.staged[flow.exits[1].stage as usize].push(event);
        } else {
            self.now = at;
            self.answer(event, seq);
        }
    }

    /// An acknowledgement reaches its sender (see [`Engine::on_ack`]).
    #[inline(always)]
    fn acknowledge_plainly(&mut self, event: &mut Event) {
        let flow = &mut self.flows[event.flow as usize];
        let at = flow.at_source.come_in(event.bytes, event.at);
        if at >= self.until {
            return self.reach_host_by_event(event.at_time(at));
        }
        if matches!(&flow.source, Source::Tcp(tcp) if tcp.next_timer() < at) {
            self.run_timers_out(event.flow, at);
        }
        let Flow { source, exits, tails, at_source, .. } = &mut self.flows[event.flow as usize];
        let Source::Tcp(tcp) = source else { return };
        let says_no_more = !tcp.needs_feedback || FeedbackUnderWay::is_a_time(event.sent);
        if says_no_more && let Some(link) = &mut at_source.out {
            let (arrivals, tail) = (&mut self.staged[exits[0].stage as usize], tails[0].shared);
            let mut out = Outlet { link, arrivals, flow: event.flow, tail, base: 0, now: at, sent: 0 };
            if tcp.sender.on_ordinary_ack(event.seq, at, &mut out) {
                self.census.received += 1;
                self.census.sent += out.sent;
                self.agenda.note(event.flow, tcp);
                if tcp.has_reached_a_mark() {
                    self.now = at;
                    self.tell(event.flow, true);
                }
                return;
            }
        }
        self.now = at;
        self.on_odd_ack(&event.at_time(at));
    }
}
