//! Egress: how packets leave their hosts.
//!
//! *Idea.* On the fast path a packet passes one link, private or shared, and waits for the ordered link after it: all within the sender.
//! On the slow path it goes hop by hop (`links/forwarding.rs`). Both have the same result.

use crate::engine::hosts::Hosts;
use crate::kernel::packet::{Event, Packet};
use crate::kernel::signals::Signals;
use crate::model::flow::{Flow, Source, Tcp};
use crate::model::link::Carry;
use paceline_core::Instant;
use paceline_tcp::{EcnMode, Feedback, Output, Segment};

/// What a sender sends goes straight to the ordered link.
pub(crate) struct EgressOutput<'a, L> {
    pub(crate) link: &'a mut L,
    pub(crate) arrivals: &'a mut Vec<Event>,
    pub(crate) flow: u32,
    /// Of its path: `PathSuffix::shared`.
    pub(crate) tail: u32,
    /// Number on the wire of the connection's first packet.
    pub(crate) base: u32,
    pub(crate) now: Instant,
    /// [`crate::engine::Census::sent`].
    pub(crate) sent: &'a mut u64,
}

impl<L: Carry> Output for EgressOutput<'_, L> {
    #[inline(always)]
    fn send(&mut self, segment: Segment) {
        let (bytes, seq) = (segment.bytes as u16, self.base.wrapping_add(segment.seq));
        let packet = Packet {
            sent: self.now,
            flow: self.flow,
            seq,
            bytes,
            hop: 1,
            is_ack: false,
            signals: Signals::NONE,
        };
        pass_out(self.link, packet, self.now, (self.tail, self.arrivals));
        *self.sent += 1;
    }
}

/// The one fast path out of a host: a packet is serialised on the link beside it, now, and waits for the ordered link after that, with
/// the suffix of its path.
#[inline(always)]
pub(super) fn pass_out<L: Carry>(
    link: &mut L,
    packet: Packet,
    now: Instant,
    (suffix, waiting): (u32, &mut Vec<Event>),
) {
    let at = link.carry(packet.bytes, packet.is_ack, now);
    waiting.push(Event::of_packet(at, suffix, packet));
}

impl Hosts<'_> {
    /// A packet leaves its host, now: by the fast path, or hop by hop.
    #[inline(always)]
    pub(super) fn send_out(&mut self, event: Event) {
        let (flow, end) = (&mut self.flows[event.flow as usize], usize::from(event.is_ack()));
        let (position, suffix) = (flow.ordered_links[end], flow.suffixes[end]);
        let ends = if event.is_ack() { &mut flow.at_sink } else { &mut flow.at_source };
        let Some(link) = ends.out.link(&mut self.access) else { return self.send_hop_by_hop(event) };
        let packet = event.packet();
        let packet = Packet { hop: packet.hop + 1, ..packet };
        let waiting = &mut self.mail.to_links[usize::from(position)];
        pass_out(link, packet, event.at, (suffix.shared, waiting));
    }

    /// The same by the slow path; a sender that asks for it is told when the packet will have left its host.
    #[inline(never)]
    pub(super) fn send_hop_by_hop(&mut self, event: Event) {
        if !self.own_queues.are_none() {
            let spec = &self.network.flows[event.flow as usize];
            let way = if event.is_ack() { &spec.reverse } else { &spec.forward };
            if let Some(leaves) = self.own_queues.takes(way[0], &event)
                && !event.is_ack()
                && let Source::Tcp(tcp) = &mut self.flows[event.flow as usize].source
            {
                tcp.sender.leaves_host(leaves);
            }
        }
        self.mail.departures.push(event);
    }

    /// Runs something that may make a flow's sender send, reports it, and schedules its timers.
    #[inline(always)]
    pub(crate) fn drive<F: Drive>(&mut self, id: u32, what: F) {
        let Flow { source, ordered_links, suffixes, gates, at_source, traits, .. } =
            &mut self.flows[id as usize];
        let Source::Tcp(tcp) = source else { return };
        let is_free = gates[1].is_free();
        let link = at_source.out.link(&mut self.access).filter(|_| !gates[1].sends_apart());
        let Some(link) = link else { return self.drive_slowly(id, what) };
        let (now, base, tail) = (self.now, tcp.base(), suffixes[0].shared);
        let (arrivals, sent) = (&mut self.mail.to_links[usize::from(ordered_links[0])], &mut self.sent);
        // One for each attempt: that of the fast one stays in registers.
        let out = EgressOutput {
            link: &mut *link,
            arrivals: &mut *arrivals,
            flow: id,
            tail,
            base,
            now,
            sent: &mut *sent,
        };
        if !what.drive_fast(tcp, now, out) {
            what.drive(tcp, now, &mut EgressOutput { link, arrivals, flow: id, tail, base, now, sent });
        }
        if is_free && F::ACKNOWLEDGES {
            self.deadlines.note(id, tcp.next_timer()); // for timers, their callers do
        }
        let is_scheduled = is_free || !traits.observes_window() && tcp.has_timer_events();
        if tcp.has_reached_a_mark() || !is_scheduled {
            self.note_reply(id, F::ACKNOWLEDGES);
        }
    }

    #[inline(never)]
    fn drive_slowly<F: Drive>(&mut self, id: u32, what: F) {
        if let Source::Tcp(tcp) = &mut self.flows[id as usize].source {
            if !what.drive_fast(tcp, self.now, &mut self.segments) {
                what.drive(tcp, self.now, &mut self.segments);
            }
            self.send(id);
            self.note_acknowledging(id, F::ACKNOWLEDGES);
        }
    }

    /// What a sender has done has to do with messages, or its timers are events.
    #[inline(never)]
    pub(crate) fn note_reply(&mut self, id: u32, acknowledges: bool) {
        let Source::Tcp(tcp) = &mut self.flows[id as usize].source else { return };
        let end = tcp.sender.end();
        let begun = (end > tcp.marks().send).then(|| tcp.on_message_begun(end - 1, self.now));
        self.schedule_timers(id);
        if let Some(notice) = begun {
            self.notify(id, notice);
        }
        self.note_acknowledging(id, acknowledges);
    }

    fn note_acknowledging(&mut self, id: u32, acknowledges: bool) {
        let Source::Tcp(tcp) = &self.flows[id as usize].source else { return };
        if acknowledges && tcp.sender.una() >= tcp.marks().acknowledge {
            self.on_message_acknowledged(id);
        }
    }
}

/// Something that makes a connection's sender act, whatever becomes of what it sends.
pub(crate) trait Drive {
    /// Packets may be acknowledged by it; else it is a timer.
    const ACKNOWLEDGES: bool = true;

    /// Does it, now, if the sender has a fast path for it; else nothing has changed.
    #[inline(always)]
    fn drive_fast(&self, _tcp: &mut Tcp, _now: Instant, _out: impl Output) -> bool {
        false
    }

    /// Does it, now.
    fn drive(self, tcp: &mut Tcp, now: Instant, out: &mut impl Output);
}

/// Acknowledgement of all before this packet.
pub(crate) struct Acknowledged(pub(crate) u32);

impl Drive for Acknowledged {
    #[inline(always)]
    fn drive_fast(&self, tcp: &mut Tcp, now: Instant, out: impl Output) -> bool {
        tcp.sender.on_ack_fast(self.0, now, out)
    }

    #[inline]
    fn drive(self, tcp: &mut Tcp, now: Instant, out: &mut impl Output) {
        tcp.sender.on_ack(self.0, now, out);
    }
}

/// The same of one with feedback: what it carries for [`Packet::sent`].
pub(crate) struct AcknowledgedWith(pub(crate) u32, pub(crate) Instant);

impl Drive for AcknowledgedWith {
    #[inline]
    fn drive(self, tcp: &mut Tcp, now: Instant, out: &mut impl Output) {
        let mut room = Feedback::default();
        let (echo, blocks) = tcp.rest.feedback.read(self.1, self.0, &mut room);
        tcp.sender.on_ack_with(self.0, echo, blocks, now, out);
        if let Some(rest) = tcp.rest.written() {
            rest.feedback.release(self.1);
        }
    }
}

/// The same on a connection with ECN: what its flags say.
pub(crate) struct AcknowledgedWithEcho(pub(crate) AcknowledgedWith, pub(crate) Signals);

impl Drive for AcknowledgedWithEcho {
    fn drive(self, tcp: &mut Tcp, now: Instant, out: &mut impl Output) {
        let AcknowledgedWithEcho(AcknowledgedWith(next, carried), signals) = self;
        match tcp.sender.config().ecn {
            EcnMode::Accurate => tcp.sender.on_ace(next, signals.ace()),
            _ => tcp.sender.on_ecn_echo(next, signals.has(Signals::ECE)),
        }
        if tcp.sender.config().needs_feedback() {
            AcknowledgedWith(next, carried).drive(tcp, now, out);
        } else {
            tcp.sender.on_ack(next, now, out);
        }
    }
}

/// The retransmission timer.
pub(crate) struct RetransmissionTimer;

impl Drive for RetransmissionTimer {
    const ACKNOWLEDGES: bool = false;

    #[inline]
    fn drive(self, tcp: &mut Tcp, now: Instant, out: &mut impl Output) {
        tcp.sender.on_retransmission_timer(now, out);
    }
}

/// The pacing timer.
pub(crate) struct PacingTimer;

impl Drive for PacingTimer {
    const ACKNOWLEDGES: bool = false;

    #[inline(always)]
    fn drive(self, tcp: &mut Tcp, now: Instant, out: &mut impl Output) {
        tcp.sender.on_pacing_timer(now, out);
    }
}
