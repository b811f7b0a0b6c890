//! The short way out of a host, on which nobody looks at single packets: one link, the flow's own or one that others pass too,
//! then a link that runs in windows.
//!
//! *Idea.* Nearly all flows of a large network leave their host so, data and acknowledgements alike. What a sender sends is
//! then put straight through that link and into the arrivals of the next, from within the sender; results are those of
//! the long way ([`super::transit`]), step by step the same.

use super::{Engine, Links};
use crate::kernel::packet::{Event, Packet};
use crate::model::flow::{Flow, Source, Tcp};
use crate::model::link::{Carry, Link};
use paceline_core::Instant;
use paceline_tcp::{Feedback, Output, Segment};

/// How packets leave one end of a flow.
#[derive(Debug, Default)]
pub(crate) enum Exit {
    /// No short way.
    #[default]
    Long,
    /// Over this link first, which others pass too.
    Shared(u32),
    /// Over this link first, which is the flow's own.
    Own(Link),
}

impl Exit {
    /// The link that packets pass first, if this is a short way.
    #[inline(always)]
    pub(super) fn way_out<'a>(&'a mut self, links: &'a mut Links) -> Option<&'a mut Link> {
        match self {
            Exit::Own(link) => Some(link),
            Exit::Shared(link) => links.get_mut(*link as usize),
            Exit::Long => None,
        }
    }

    pub(super) fn is_own(&self) -> bool {
        matches!(self, Exit::Own(_))
    }

    /// The flow's own link is an ordinary one.
    pub(super) fn is_slim(&self) -> bool {
        matches!(self, Exit::Own(Link::Slim(_)))
    }

    pub(super) fn is_short(&self) -> bool {
        !matches!(self, Exit::Long)
    }
}

/// What a sender sends goes straight to the stage.
pub(super) struct Outlet<'a, L> {
    pub(super) link: &'a mut L,
    pub(super) arrivals: &'a mut Vec<Event>,
    pub(super) flow: u32,
    /// [`super::Tail::shared`] of the way.
    pub(super) tail: u32,
    /// Number on the wire of the connection's first packet.
    pub(super) base: u32,
    pub(super) now: Instant,
    /// [`super::Census::sent`].
    pub(super) sent: &'a mut u64,
}

impl<L: Carry> Output for Outlet<'_, L> {
    #[inline(always)]
    fn send(&mut self, segment: Segment) {
        let (bytes, seq) = (segment.bytes as u16, self.base.wrapping_add(segment.seq));
        let at = self.link.carry(bytes, false, self.now);
        let packet = Packet { sent: self.now, flow: self.flow, seq, bytes, hop: 1, is_ack: false };
        self.arrivals.push(Event::of_packet(at, self.tail, packet));
        *self.sent += 1;
    }
}

impl Engine<'_> {
    /// Lets a flow's sender do something that may make it send, and tells of it; then sees to its timers.
    #[inline(always)]
    pub(super) fn drive<F: Drive>(&mut self, id: u32, what: F) {
        let Flow { source, stages, tails, gates, at_source, .. } = &mut self.flows[id as usize];
        let Source::Tcp(tcp) = source else { return };
        let is_free = gates[1].is_free();
        let Some(link) = at_source.out.way_out(&mut self.links) else {
            return self.drive_the_long_way(id, what);
        };
        let (arrivals, tail) = (&mut self.staged[usize::from(stages[0])], tails[0].shared);
        let sent = &mut self.census.sent;
        let mut out = Outlet { link, arrivals, flow: id, tail, base: tcp.base(), now: self.now, sent };
        what.drive(tcp, self.now, &mut out);
        if is_free && F::ACKNOWLEDGES {
            self.agenda.note(id, tcp); // of what timers do, those who let them run out
        }
        if tcp.has_reached_a_mark() || !is_free {
            self.tell(id, F::ACKNOWLEDGES);
        }
    }

    #[inline(never)]
    fn drive_the_long_way<F: Drive>(&mut self, id: u32, what: F) {
        if let Source::Tcp(tcp) = &mut self.flows[id as usize].source {
            what.drive(tcp, self.now, &mut self.segments);
            self.send(id);
            self.tell_of_acknowledged(id, F::ACKNOWLEDGES);
        }
    }

    /// What a sender has done has to do with messages, or its timers are events.
    #[inline(never)]
    pub(super) fn tell(&mut self, id: u32, acknowledges: bool) {
        let Source::Tcp(tcp) = &mut self.flows[id as usize].source else { return };
        let end = tcp.sender.end();
        let begun = (end > tcp.marks().send).then(|| tcp.on_message_begun(end - 1, self.now));
        self.schedule_timers(id);
        if let Some(heard) = begun {
            self.hear(id, heard);
        }
        self.tell_of_acknowledged(id, acknowledges);
    }

    fn tell_of_acknowledged(&mut self, id: u32, acknowledges: bool) {
        let Source::Tcp(tcp) = &self.flows[id as usize].source else { return };
        if acknowledges && tcp.sender.una() >= tcp.marks().acknowledge {
            self.on_message_acknowledged(id);
        }
    }
}

/// Something that makes a connection's sender act, whatever becomes of what it sends.
pub(super) trait Drive {
    /// Packets may be acknowledged by it; else it is a timer.
    const ACKNOWLEDGES: bool = true;

    /// Does it, now.
    fn drive(self, tcp: &mut Tcp, now: Instant, out: &mut impl Output);
}

/// Acknowledgement of all before this packet.
pub(super) struct Acknowledged(pub(super) u32);

impl Drive for Acknowledged {
    #[inline(always)]
    fn drive(self, tcp: &mut Tcp, now: Instant, out: &mut impl Output) {
        if !tcp.sender.on_ack_fast(self.0, now, &mut *out) {
            tcp.sender.on_ack(self.0, now, out);
        }
    }
}

/// The same, after [`paceline_tcp::Sender::on_ack_fast`] has said no: it is not asked again.
pub(super) struct AcknowledgedTheLongWay(pub(super) u32);

impl Drive for AcknowledgedTheLongWay {
    #[inline(always)]
    fn drive(self, tcp: &mut Tcp, now: Instant, out: &mut impl Output) {
        tcp.sender.on_ack(self.0, now, out);
    }
}

/// The same of one that says more than that: what it carries for [`Packet::sent`].
pub(super) struct AcknowledgedWith(pub(super) u32, pub(super) Instant);

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

/// The retransmission timer.
pub(super) struct RetransmissionTimer;

impl Drive for RetransmissionTimer {
    const ACKNOWLEDGES: bool = false;

    #[inline]
    fn drive(self, tcp: &mut Tcp, now: Instant, out: &mut impl Output) {
        tcp.sender.on_retransmission_timer(now, out);
    }
}

/// The pacing timer.
pub(super) struct PacingTimer;

impl Drive for PacingTimer {
    const ACKNOWLEDGES: bool = false;

    #[inline(always)]
    fn drive(self, tcp: &mut Tcp, now: Instant, out: &mut impl Output) {
        tcp.sender.on_pacing_timer(now, out);
    }
}
