//! A packet through its host in one function: most packets of a large network take this path.
//!
//! *Idea.* A bulk TCP flow that nothing observes needs only its own state, if its access links are private. A packet passes the last link
//! before the host; the connection does what it does most of the time; the answer passes the first link after the host and waits for the
//! next ordered link. All else takes the slow path (`hosts/receiver.rs`, `hosts/sender.rs`), with the same result. Most connections also
//! lack what few connections have ([`crate::model::flow::Gate::is_bare`]): for these `BARE` is a copy of the code that does not ask.
//! *What it buys.* Without it 1000 flows take 27 % more time; without the copy 7 % more instructions (`benches/ablation.py --path bulk-tcp`,
//! `--path bare-copies`).

use crate::engine::hosts::Hosts;
use crate::engine::hosts::egress::{EgressOutput, pass_out};
use crate::kernel::packet::{Event, Packet};
use crate::kernel::signals::Signals;
use crate::model::feedback::FeedbackInFlight;
use crate::model::flow::{AccessLink, Flow, Source, Tcp};
use std::hint::select_unpredictable;

impl Flow {
    /// Whether packets pass its receiver, and its sender, in one function, unless something waits in the calendar. Packets are not
    /// observed.
    pub(crate) fn fast_ends(&self) -> [bool; 2] {
        let Source::Tcp(tcp) = &self.source else { return [false; 2] };
        if tcp.has_ecn() || !crate::ablation::FastPath::BulkTcp.is_on() {
            return [false; 2];
        }
        let is_own = |out: &AccessLink| out.is_private() || !crate::ablation::FastPath::PrivateLinks.is_on();
        let receives = is_own(&self.at_sink.out) && !self.traits.observes_delays();
        [receives && self.gates[0].is_free(), self.is_free() && is_own(&self.at_source.out)]
    }

    /// Whether there is nothing to ask for at its receiver, and its sender, that few connections have.
    pub(crate) fn bare_ends(&self) -> [bool; 2] {
        let Source::Tcp(tcp) = &self.source else { return [false; 2] };
        let receives = crate::ablation::FastPath::BareCopies.is_on() && tcp.never_has_messages();
        [receives && !tcp.delays_acks(), receives && tcp.sender.is_bare()]
    }

    /// Whether the end that this packet reaches is such a one, now.
    #[inline(always)]
    fn is_open_to(&self, event: &Event) -> bool {
        let gate = self.gates[usize::from(event.is_ack())];
        gate.is_open() || gate.is_open_to_one() && self.waits_for(event)
    }
}

impl Hosts<'_> {
    /// A packet has come to the last link before its host. Handles it whole, if the end of its flow allows it; else returns `false`.
    #[inline(always)]
    pub(crate) fn handle_fast(&mut self, event: &mut Event) -> bool {
        if event.is_ack() { self.acknowledge_fast(event) } else { self.receive_fast(event) }
    }

    /// Data reach their receiver (see [`Engine::receive`]).
    #[inline(always)]
    fn receive_fast(&mut self, event: &mut Event) -> bool {
        if self.flows[event.flow as usize].gates[0].is_bare() {
            return self.receive_as::<true>(event);
        }
        self.receive_with_more(event)
    }

    #[inline(never)]
    fn receive_with_more(&mut self, event: &mut Event) -> bool {
        self.flows[event.flow as usize].is_open_to(event) && self.receive_as::<false>(event)
    }

    #[inline(always)]
    fn receive_as<const BARE: bool>(&mut self, event: &mut Event) -> bool {
        let flow = &mut self.flows[event.flow as usize];
        let Flow { source, ordered_links, suffixes, at_sink, delays, traits, ack_bytes, .. } = flow;
        let Source::Tcp(tcp) = source else { return false };
        let at = at_sink.pass_into(&mut self.access, (event.bytes, false), event.at);
        if at >= self.until {
            self.reach_by_event(event.at_time(at));
            return true;
        }
        if !BARE && tcp.receiver.due().is_some_and(|due| due < at) {
            self.receive_after_timer(&event.at_time(at));
            return true;
        }
        self.received += 1;
        let rest = if BARE { None } else { tcp.rest.get() };
        let (base, deliver) = rest.map_or((0, u32::MAX), |rest| (rest.base, rest.messages.marks.deliver));
        let (seq, sent, delay) = (event.seq.wrapping_sub(base), event.sent, at.after(event.sent));
        let counts = self.counting && !tcp.is_syn(seq);
        if counts {
            delays.receives(delay);
        }
        let before = tcp.receiver.next();
        if let Some((delivered, first)) = tcp.arrive_near(seq, sent) {
            let all = &mut self.delays[usize::from(traits.is_paced())];
            if counts {
                // One or none; the handshake's is over, as data come.
                let delay = at.after(select_unpredictable(delivered > 0, first, at));
                delays.delivers(delay);
                all.record((delivered > 0).into(), delay);
            }
            if delivered > 1 {
                // Data may have waited for a handshake, which does not count itself.
                tcp.deliver_rest(before + 1..before + delivered, at, self.counting.then_some((delays, all)));
            }
        } else if seq > tcp.receiver.next() {
            tcp.late.note(seq, sent, tcp.receiver.next());
            tcp.receiver.hold(seq);
        } else if seq == tcp.receiver.next() {
            let sums = self.counting.then_some((delays, &mut self.delays[usize::from(traits.is_paced())]));
            tcp.deliver_late((seq, sent), at, sums, |_| {});
        }
        let next = tcp.receiver.next();
        if (BARE || next < deliver)
            && let AccessLink::Private(link) = &mut at_sink.out
        {
            // A plain ACK echoes no time that anything reads.
            let echo = if tcp.receiver.is_cumulative() { Some(at) } else { tcp.receiver.echo(seq, sent) };
            let Some(echo) = echo else {
                self.now = at;
                self.reply(event.flow, seq, sent);
                return true;
            };
            let (bytes, hop) = (*ack_bytes, self.ack_hop + 1);
            let seq = base.wrapping_add(next);
            let ack = Packet {
                sent: echo,
                flow: event.flow,
                seq,
                bytes,
                hop,
                is_ack: true,
                signals: Signals::NONE,
            };
            self.sent += 1;
            let waiting = &mut self.mail.to_links[usize::from(ordered_links[1])];
            pass_out(link, ack, at, (suffixes[1].shared, waiting));
        } else {
            self.now = at;
            self.answer(event, seq);
        }
        true
    }

    /// The same, now; before, a delayed acknowledgement goes that was due.
    #[inline(never)]
    fn receive_after_timer(&mut self, event: &Event) {
        self.now = event.at;
        self.receive(event);
    }

    /// An acknowledgement reaches its sender (see [`Engine::on_ack`]).
    #[inline(always)]
    fn acknowledge_fast(&mut self, event: &mut Event) -> bool {
        if self.flows[event.flow as usize].gates[1].is_bare() {
            return self.acknowledge_as::<true>(event);
        }
        self.acknowledge_with_more(event)
    }

    #[inline(always)]
    fn acknowledge_with_more(&mut self, event: &mut Event) -> bool {
        self.flows[event.flow as usize].is_open_to(event) && self.acknowledge_as::<false>(event)
    }

    #[inline(always)]
    fn acknowledge_as<const BARE: bool>(&mut self, event: &mut Event) -> bool {
        let flow = &mut self.flows[event.flow as usize];
        let Flow { source, ordered_links, suffixes, at_source, hesitates, .. } = flow;
        let Source::Tcp(tcp) = source else { return false };
        let at = at_source.pass_into(&mut self.access, (event.bytes, true), event.at);
        let at = self.hesitation.after(at, event.flow, *hesitates);
        if at >= self.until {
            self.reach_by_event(event.at_time(at));
            return true;
        }
        let timer = |tcp: &Tcp| if BARE { tcp.sender.retransmission_due() } else { tcp.next_timer() };
        if timer(tcp) < at {
            self.acknowledge_after_timers(&event.at_time(at));
            return true;
        }
        if (BARE || FeedbackInFlight::is_a_time(event.sent))
            && let AccessLink::Private(link) = &mut at_source.out
        {
            let (arrivals, tail) =
                (&mut self.mail.to_links[usize::from(ordered_links[0])], suffixes[0].shared);
            let sent = &mut self.sent;
            let out = EgressOutput { link, arrivals, flow: event.flow, tail, base: 0, now: at, sent };
            let is_ordinary = if BARE {
                tcp.sender.on_ack_fast_bare(event.seq, at, out)
            } else {
                tcp.sender.on_ack_fast(event.seq, at, out)
            };
            if is_ordinary {
                self.received += 1;
                self.deadlines.note(event.flow, timer(tcp));
                if !BARE && tcp.has_reached_a_mark() {
                    self.now = at;
                    self.note_reply(event.flow, true);
                }
                return true;
            }
        }
        self.now = at;
        if !BARE && tcp.sender.config().needs_feedback() {
            self.received += 1;
            let next = event.seq.wrapping_sub(tcp.base());
            self.on_ack_with_feedback(event, next);
        } else {
            self.on_ack(&event.at_time(at));
        }
        true
    }

    /// The same, now; before, timers of the sender run out.
    #[inline(never)]
    fn acknowledge_after_timers(&mut self, event: &Event) {
        self.now = event.at;
        self.on_ack(event);
    }
}
