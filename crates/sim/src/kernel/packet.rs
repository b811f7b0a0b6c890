//! A packet as the simulator carries it, the events it makes, and the one total order of simultaneous events.
//!
//! The order: time; then class (departure, arrival, acknowledgement, timer, application); then place (links by number,
//! then hosts); then, at links that ask for it, [`Precedence`]; then flow; then hop; then the order in which the previous link let them go. Consequences of an event at the same
//! instant (a sent packet reaching its first link) belong to the event and follow it at once.

use crate::kernel::precedence::Precedence;
use crate::kernel::signals::Signals;
use paceline_core::queue::Arrival;
use paceline_core::{Ecn, Instant, Span};
use std::cmp::Ordering;

/// A data packet or an acknowledgement on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    /// When its sender sent it (this time). An acknowledgement's is what [`crate::model::feedback`] makes of it.
    pub(crate) sent: Instant,
    /// Position in `Network::flows`.
    pub(crate) flow: u32,
    /// Data: the packet's number. Acknowledgement: the first packet not yet received in order.
    pub(crate) seq: u32,
    /// On the wire, bytes.
    pub(crate) bytes: u16,
    /// Where it is on its flow's round trip: the data's links, the receiver, the acknowledgements' links, the sender.
    pub(crate) hop: u8,
    /// Acknowledgements travel the reverse route.
    pub(crate) is_ack: bool,
    /// What its headers say of congestion.
    pub(crate) signals: Signals,
}

impl paceline_core::Packet for Packet {
    #[inline]
    fn bytes(&self) -> u32 {
        u32::from(self.bytes)
    }
}

/// A packet is held in the event that brought it.
impl paceline_core::Packet for Event {
    #[inline]
    fn bytes(&self) -> u32 {
        u32::from(self.bytes)
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.signals().ecn()
    }

    #[inline]
    fn mark(&mut self) {
        self.tag |= Signals::of(Ecn::Ce).bits();
    }

    /// Data and acknowledgements have other addresses.
    #[inline]
    fn flow(&self) -> u32 {
        self.flow << 1 | u32::from(self.is_ack())
    }
}

/// What happens, in the order in which simultaneous events are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A link's pacer or queue may let packets go.
    LinkWakeup,
    /// A packet reaches a link, or data reach their destination.
    Arrival,
    /// An acknowledgement reaches the sender.
    Acknowledgement,
    /// A retransmission timer may have run out.
    RetransmissionTimer,
    /// A pacing timer may have run out.
    PacingTimer,
    /// An acknowledgement that was held back may be due.
    DelayedAckTimer,
    /// A host's port may release a packet.
    PortTimer,
    /// A flow starts, or an open-loop source sends.
    Application,
}

impl Kind {
    #[inline(always)]
    const fn tag(self) -> u8 {
        (self as u8 ^ Kind::Arrival as u8) << KIND
    }
}

/// Something that will happen: 32 bytes, a packet among them (its fields lie open here, so that there is no padding). A
/// packet stays in one of these from link to link.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Event {
    /// When.
    pub(crate) at: Instant,
    pub(crate) sent: Instant,
    /// Where: a link's number, or the number of links plus a host's number.
    pub(crate) place: u32,
    pub(crate) flow: u32,
    pub(crate) seq: u32,
    pub(crate) bytes: u16,
    /// [`Packet::hop`], with the highest bit set for an acknowledgement.
    hop: u8,
    /// [`Kind`] in the highest three bits, those of an arrival 0, as most are; [`Packet::signals`] in the others.
    tag: u8,
}

/// The rest of [`Event::hop`] numbers the links of a round trip and its two hosts.
const ACK_BIT: u8 = 0x80;
/// How far [`Event::tag`] is shifted for its kind.
const KIND: u32 = Signals::MASK.count_ones();

impl Event {
    /// A packet reaches a place.
    #[inline]
    pub(crate) fn of_packet(at: Instant, place: u32, packet: Packet) -> Self {
        let Packet { sent, flow, seq, bytes, hop, is_ack, signals } = packet;
        let hop = hop | if is_ack { ACK_BIT } else { 0 };
        Event { at, sent, place, flow, seq, bytes, hop, tag: Kind::Arrival.tag() | signals.bits() }
    }

    /// What it is.
    #[inline(always)]
    pub(crate) fn kind(&self) -> Kind {
        match self.tag >> KIND ^ Kind::Arrival as u8 {
            0 => Kind::LinkWakeup,
            1 => Kind::Arrival,
            2 => Kind::Acknowledgement,
            3 => Kind::RetransmissionTimer,
            4 => Kind::PacingTimer,
            5 => Kind::DelayedAckTimer,
            6 => Kind::PortTimer,
            _ => Kind::Application,
        }
    }

    /// It is something else from now on.
    #[inline(always)]
    pub(crate) fn set_kind(&mut self, kind: Kind) {
        self.tag = self.tag & Signals::MASK | kind.tag();
    }

    /// What the packet's headers say of congestion.
    #[inline]
    pub(crate) fn signals(&self) -> Signals {
        Signals::of_bits(self.tag)
    }

    #[inline]
    pub(crate) fn is_ack(&self) -> bool {
        self.hop & ACK_BIT != 0
    }

    /// Where it is on its flow's round trip.
    #[inline]
    pub(crate) fn hop(&self) -> usize {
        usize::from(self.hop & !ACK_BIT)
    }

    /// The same at another place.
    #[inline]
    pub(crate) fn at_place(self, place: u32) -> Self {
        Event { place, ..self }
    }

    /// The same packet at another time.
    #[inline]
    pub(crate) fn at_time(self, at: Instant) -> Self {
        let mut event = Event { at, ..self };
        event.set_kind(Kind::Arrival);
        event
    }

    /// It comes to a queue that need not know where from.
    #[inline(always)]
    pub(crate) fn arrival(&self) -> Arrival {
        let Event { at: now, flow, .. } = *self;
        Arrival { bytes: u32::from(self.bytes), now, flow, lead: Span::ZERO }
    }

    /// On to the next place of the round trip, where it arrives at `at`.
    #[inline(always)]
    pub(crate) fn move_on(&mut self, at: Instant) {
        self.at = at;
        self.hop += 1;
        self.set_kind(Kind::Arrival);
    }

    /// How it differs from another: see [`Event::are_alike`].
    #[inline(always)]
    pub(crate) fn differs(&self, other: &Event) -> u32 {
        let bits =
            |event: &Event| u32::from(event.bytes) | u32::from(event.hop) << 16 | u32::from(event.tag) << 24;
        bits(self) ^ bits(other)
    }

    /// Whether packets that all differ so, or so, from one are of its size, and all acknowledgements or all data.
    pub(crate) fn are_alike(differs: u32) -> bool {
        differs & (0xFFFF | u32::from(ACK_BIT) << 16) == 0
    }

    /// The same of all of these packets.
    pub(crate) fn all_are_like<'a>(one: &Event, packets: impl IntoIterator<Item = &'a Event>) -> bool {
        Event::are_alike(packets.into_iter().fold(0, |differs, event| differs | event.differs(one)))
    }

    /// On over so many links at once, which takes so long, and not until the end of time.
    #[inline(always)]
    pub(crate) fn pass(&mut self, way: Span, links: u8) {
        self.at = self.at.later_by(way);
        self.hop += links;
    }

    /// Goes to the end of `out`, on to the next place. It is copied whole and changed there: copied in parts, it would be read back
    /// before they are all written, for which the processor waits.
    #[inline(always)]
    pub(crate) fn goes_on(&self, arrival: Instant, out: &mut Vec<Event>) {
        out.push(*self);
        if let Some(event) = out.last_mut() {
            event.move_on(arrival);
        }
    }

    /// An event that carries no packet.
    #[inline]
    pub(crate) fn of_flow(at: Instant, place: u32, kind: Kind, flow: u32) -> Self {
        Event { at, sent: Instant::ZERO, place, flow, seq: 0, bytes: 0, hop: 0, tag: kind.tag() }
    }

    #[inline]
    pub(crate) fn packet(&self) -> Packet {
        let Event { sent, flow, seq, bytes, hop, .. } = *self;
        let is_ack = hop & ACK_BIT != 0;
        Packet { sent, flow, seq, bytes, hop: hop & !ACK_BIT, is_ack, signals: self.signals() }
    }

    /// A packet travels with this event.
    pub(crate) fn carries_packet(&self) -> bool {
        self.bytes > 0
    }

    /// The total order; events of one flow at one place, hop and instant are equal, and keep the order of their making.
    #[inline]
    pub(crate) fn order(&self, other: &Event, precedence: &Precedence<'_>) -> Ordering {
        self.order_by(other, || match self.kind() {
            Kind::Arrival => precedence.order(self.place, self, other),
            _ => Ordering::Equal,
        })
    }

    /// The same where this decides before the order of flows, of two of a kind at one place and instant.
    #[inline]
    pub(crate) fn order_by(&self, other: &Event, precedence: impl FnOnce() -> Ordering) -> Ordering {
        self.at.cmp(&other.at).then_with(|| {
            let kinds = (self.kind(), self.place).cmp(&(other.kind(), other.place));
            kinds.then_with(precedence).then_with(|| (self.flow, self.hop()).cmp(&(other.flow, other.hop())))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_fits() {
        assert!(crate::network::MOST_ROUND_TRIP + 2 <= usize::from(ACK_BIT));
    }

    #[test]
    fn an_event_is_half_a_cache_line() {
        assert_eq!(size_of::<Event>(), 32);
    }

    #[test]
    fn a_kind_and_signals_share_a_byte() {
        let kinds = [
            Kind::LinkWakeup,
            Kind::Arrival,
            Kind::Acknowledgement,
            Kind::RetransmissionTimer,
            Kind::PacingTimer,
            Kind::DelayedAckTimer,
            Kind::PortTimer,
            Kind::Application,
        ];
        let signals = Signals::of(Ecn::Ect0).with(Signals::ECE).with(Signals::AE);
        let packet = Packet { sent: Instant::ZERO, flow: 1, seq: 2, bytes: 3, hop: 4, is_ack: true, signals };
        let mut event = Event::of_packet(Instant::ZERO, 0, packet);
        for kind in kinds {
            event.set_kind(kind);
            assert_eq!((event.kind(), event.signals()), (kind, signals));
            assert_eq!(Event::of_flow(Instant::ZERO, 0, kind, 0).kind(), kind);
        }
        paceline_core::Packet::mark(&mut event);
        assert_eq!((event.kind(), event.signals().ecn()), (Kind::Application, Ecn::Ce));
        assert!(event.signals().has(Signals::ECE) && event.packet().signals == event.signals());
    }
}
