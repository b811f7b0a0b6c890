//! The short way out of a host, on which nobody looks: one link that is the flow's alone, then a link that runs in windows.
//!
//! *Idea.* Nearly all flows of a large network leave their host so, data and acknowledgements alike. What a sender sends is
//! then put straight through that link and into the arrivals of the next, from within the sender; results are those of
//! the long way ([`super::transit`]), step by step the same.

use super::{Engine, Tail};
use crate::flow::{Source, Tcp};
use crate::link::Link;
use crate::packet::{Event, Packet};
use paceline_core::Instant;
use paceline_tcp::{Feedback, Output, Segment};

/// How packets leave one end of a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exit {
    /// The link that they pass first; `u32::MAX` where the way out is not a short one.
    pub(super) link: u32,
    /// Where they then wait: a position among the stages.
    pub(super) stage: u32,
}

impl Exit {
    /// Any other way out.
    pub(crate) const LONG: Exit = Exit { link: u32::MAX, stage: 0 };
}

/// What a sender sends goes straight to the stage.
struct Outlet<'a> {
    link: &'a mut Link,
    arrivals: &'a mut Vec<Event>,
    flow: u32,
    /// [`super::Tail::shared`] of the way.
    tail: u32,
    /// Number on the wire of the connection's first packet.
    base: u32,
    now: Instant,
    sent: u64,
    /// The highest number sent.
    last: u32,
}

impl Output for Outlet<'_> {
    #[inline(always)]
    fn send(&mut self, segment: Segment) {
        let (bytes, seq) = (segment.bytes as u16, self.base.wrapping_add(segment.seq));
        let at = self.link.pass_unwatched(bytes, self.now);
        let packet =
            Packet { sent: self.now, flow: self.flow, seq, bytes, hop: 1, is_ack: false, tail: self.tail };
        self.arrivals.push(Event::of_packet(at, self.tail, packet));
        self.sent += 1;
        self.last = self.last.max(segment.seq);
    }
}

impl Engine<'_> {
    /// Lets a flow's sender do something that may make it send; then sees to its timers.
    #[inline(always)]
    pub(super) fn drive<F: Drive>(&mut self, id: u32, what: F) {
        let flow = &mut self.flows[id as usize];
        let Source::Tcp(tcp) = &mut flow.source else { return };
        let (exit, tail) = (flow.exits[0], flow.tails[0].shared);
        let Some(link) = self.links.get_mut(exit.link as usize) else {
            what.drive(tcp, self.now, &mut self.segments);
            return self.send(id);
        };
        let arrivals = &mut self.staged[exit.stage as usize];
        let mut out =
            Outlet { link, arrivals, flow: id, tail, base: tcp.base, now: self.now, sent: 0, last: 0 };
        what.drive(tcp, self.now, &mut out);
        let (sent, last) = (out.sent, out.last);
        self.census.sent += sent;
        let begins = sent > 0 && last >= tcp.marks.send;
        let begun = if begins { Some(tcp.on_message_begun(last, self.now)) } else { None };
        self.schedule_timers(id);
        if let Some(heard) = begun {
            self.hear(id, heard);
        }
    }

    /// An acknowledgement leaves its host by the short way, if that is how it leaves.
    #[inline(always)]
    pub(super) fn acknowledge_at_once(&mut self, ack: Packet, exit: Exit, tail: Tail) -> bool {
        let Some(link) = self.links.get_mut(exit.link as usize) else { return false };
        self.census.sent += 1;
        let at = link.pass_unwatched(ack.bytes, self.now);
        let hop = ack.hop + 1;
        self.staged[exit.stage as usize].push(Event::of_packet(at, tail.shared, Packet { hop, ..ack }));
        true
    }
}

/// Something that makes a connection's sender act, whatever becomes of what it sends.
pub(super) trait Drive {
    /// Does it, now.
    fn drive(self, tcp: &mut Tcp, now: Instant, out: &mut impl Output);
}

/// Acknowledgement of all before this packet.
pub(super) struct Acknowledged(pub(super) u32);

impl Drive for Acknowledged {
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
        let (echo, blocks) = tcp.feedback.read(self.1, self.0, &mut room);
        tcp.sender.on_ack_with(self.0, echo, blocks, now, out);
        tcp.feedback.release(self.1);
    }
}

/// The pacing timer.
pub(super) struct PacingTimer;

impl Drive for PacingTimer {
    #[inline(always)]
    fn drive(self, tcp: &mut Tcp, now: Instant, out: &mut impl Output) {
        tcp.sender.on_pacing_timer(now, out);
    }
}
