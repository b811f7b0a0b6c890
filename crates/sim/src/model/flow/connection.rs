//! A TCP connection at work: both its ends, and what few of them ask for.

use super::first_transmissions::FirstTransmissions;
use crate::kernel::chance::Stream;
use crate::kernel::signals::Signals;
use crate::model::feedback::FeedbackInFlight;
use crate::network::{FlowKind, FlowSpec};
use crate::workload::messages::{Marks, Messages};
use crate::workload::{Notice, Side};
use paceline_core::{Ecn, Instant, Span};
use paceline_tcp::{Blank, Config, EcnMode, Receiver, Segment, Sender, Sparse, Variant};
use std::sync::Arc;

/// A TCP connection, both ends.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Tcp {
    pub(crate) rest: Sparse<Rest>,
    pub(crate) receiver: Receiver,
    pub(crate) late: FirstTransmissions,
    pub(crate) sender: Sender,
}

/// Cold state of a connection, which few packets need, stored apart (hot/cold split). One that sends
/// without end, by itself, and is acknowledged at once has none, unless what acknowledgements report does not fit into them.
#[derive(Debug)]
pub(crate) struct Rest {
    /// Number on the wire of the connection's first packet: connections that follow one another go on counting, and leave
    /// one number out between them, so that nothing of an older one passes for the present one's.
    pub(crate) base: u32,
    pub(crate) messages: Messages,
    /// Payload that earlier connections delivered, bytes.
    earlier_bytes: u64,
    /// Packets with payload that earlier connections delivered.
    earlier_packets: u64,
    /// The application: its position in the engine's list, and the side that this flow carries.
    pub(crate) application: Option<(u32, Side)>,
    /// The flow that brings what its data answer, over the same connection.
    pub(crate) answers: Option<u32>,
    opening: Opening,
    pub(crate) feedback: FeedbackInFlight,
    /// When the timer events that count fire; others are stale.
    pub(crate) retransmission_event: Instant,
    pub(crate) pacing_event: Instant,
    pub(crate) delayed_ack_event: Instant,
    /// bit/s that the window stands for, as last added to the host's port.
    pub(crate) port_rate: u64,
}

impl Rest {
    const BLANK: Rest = Rest {
        base: 0,
        messages: Messages::new(),
        earlier_bytes: 0,
        earlier_packets: 0,
        application: None,
        answers: None,
        opening: Opening { phase: Span::ZERO, jitter_seed: 0 },
        feedback: FeedbackInFlight::NONE,
        retransmission_event: Instant::MAX,
        pacing_event: Instant::MAX,
        delayed_ack_event: Instant::MAX,
        port_rate: 0,
    };
}

impl Default for Rest {
    fn default() -> Self {
        Rest::BLANK
    }
}

impl Blank for Rest {
    fn blank() -> &'static Self {
        static BLANK: Rest = Rest::BLANK;
        &BLANK
    }
}

/// What a new connection of a flow begins with.
#[derive(Debug, Clone, Copy)]
struct Opening {
    /// Where its host's clock stands within a tick at time zero.
    phase: Span,
    /// For the jitter of the next connection.
    jitter_seed: u64,
}

/// What an application is notified of at a delivery.
#[derive(Debug, Clone, Copy)]
pub(crate) struct News {
    pub(crate) opened: bool,
    /// Messages that are whole now.
    pub(crate) messages: u32,
    pub(crate) side: Side,
}

impl Tcp {
    pub(super) fn new(spec: &FlowSpec, config: Arc<Config>, packets: Option<u64>, seed: u64) -> Self {
        let tick = config.tick.as_nanos();
        let mut draws = Stream::of(seed, &spec.name, "clock");
        let phase = Span::from_nanos(if tick == 0 { 0 } else { draws.between(0, tick - 1) });
        let phase = config.tick_phase.unwrap_or(phase);
        let jitter_seed = draws.between(0, u64::MAX);
        let mut rest = Sparse::<Rest>::default();
        if matches!(spec.kind, FlowKind::Dialogue { .. }) {
            rest.opening = Opening { phase, jitter_seed };
        }
        Tcp {
            receiver: Receiver::with(&config, !jitter_seed),
            sender: Sender::new(config, packets, phase, jitter_seed),
            late: FirstTransmissions::default(),
            rest,
        }
    }

    /// With the delivery of all before `next`, a message is delivered, or the connection is open.
    #[inline(always)]
    pub(crate) fn delivers_a_mark(&self, next: u32) -> bool {
        self.rest.get().is_some_and(|rest| next >= rest.messages.marks.deliver)
    }

    /// It sends without end, unasked: nothing ever happens at any packet, and no connection follows.
    pub(crate) fn never_has_messages(&self) -> bool {
        self.rest.application.is_none() && self.rest.messages.marks == Marks::NEVER
    }

    /// Packets at which something happens next.
    #[inline(always)]
    pub(crate) fn marks(&self) -> Marks {
        self.rest.messages.marks
    }

    /// See [`Rest::base`].
    #[inline(always)]
    pub(crate) fn base(&self) -> u32 {
        self.rest.get().map_or(0, |rest| rest.base)
    }

    /// Packets without payload at the start: 1 with a SYN.
    #[inline(always)]
    pub(crate) fn syn(&self) -> u32 {
        self.sender.config().syn.is_some().into()
    }

    /// This packet has no payload. The configuration lies far from the receiver: only the first packet reads it.
    #[inline(always)]
    pub(crate) fn is_syn(&self, seq: u32) -> bool {
        seq < 1 && self.syn() > 0
    }

    /// Its packets are ECN-capable.
    pub(crate) fn has_ecn(&self) -> bool {
        self.sender.config().ecn != EcnMode::Off
    }

    /// What the headers of a data packet say, which is being sent: RFC 3168 sections 6.1.1 (no SYN), 6.1.2 and 6.1.5 (no retransmission; ns-2's
    /// senders, and those that count marks, make those ECN-capable too).
    pub(crate) fn data_signals(&mut self, segment: Segment) -> Signals {
        let (syn, config) = (self.syn(), self.sender.config());
        let is_data = segment.seq >= syn;
        let is_capable = match config.ecn {
            EcnMode::Off => return Signals::NONE,
            EcnMode::Dctcp | EcnMode::Accurate => is_data,
            EcnMode::Rfc3168 if config.has_ns2_marks() => segment.seq > 0,
            EcnMode::Rfc3168 => is_data && !segment.retransmission,
        };
        // RFC 9331 section 4.1: ECT(1) is for who answers to L4S's marks.
        let is_l4s = config.variant == Variant::Prague && config.ecn == EcnMode::Accurate;
        let says_reduced = config.ecn == EcnMode::Rfc3168 && self.sender.carries_reduced(segment);
        let signals = match is_capable {
            true => Signals::of(if is_l4s { Ecn::Ect1 } else { Ecn::Ect0 }),
            false => Signals::NONE,
        };
        if says_reduced { signals.with(Signals::CWR) } else { signals }
    }

    /// What the headers of an acknowledgement say that is sent now.
    pub(crate) fn ack_signals(&self) -> Signals {
        let field = match self.sender.config().ecn {
            EcnMode::Off => return Signals::NONE,
            EcnMode::Rfc3168 => Ecn::NotEct,
            EcnMode::Dctcp => Ecn::Ect0,
            EcnMode::Accurate => return Signals::of_ace(self.receiver.ace()),
        };
        let signals = Signals::of(field);
        if self.receiver.echoes_mark() { signals.with(Signals::ECE) } else { signals }
    }

    /// Events for its sender's timers are in the calendar, if not earlier ones.
    #[inline(always)]
    pub(crate) fn has_timer_events(&self) -> bool {
        let Rest { retransmission_event, pacing_event, .. } = *self.rest;
        retransmission_event <= self.sender.retransmission_due() && pacing_event <= self.sender.pacing_due()
    }

    /// Its timer events, if there are any, are stale.
    pub(crate) fn forget_timer_events(&mut self) {
        if let Some(rest) = self.rest.written() {
            (rest.retransmission_event, rest.pacing_event) = (Instant::MAX, Instant::MAX);
        }
    }

    /// So does the receiver's.
    pub(crate) fn forget_delayed_ack_event(&mut self) {
        if let Some(rest) = self.rest.written() {
            rest.delayed_ack_event = Instant::MAX;
        }
    }

    /// Its receiver delays acknowledgements.
    pub(crate) fn delays_acks(&self) -> bool {
        self.sender.config().delays_acks()
    }

    /// Its receiver has to look at the trains that packets come in: they are joined, or their ends acknowledged at once.
    pub(crate) fn has_trains(&self) -> bool {
        let config = self.sender.config();
        config.gro.is_some() || config.gso.is_some() && config.delayed_ack.is_some()
    }

    /// The number within the connection of a data packet by its number on the wire; `None` for one of an older connection.
    #[inline]
    pub(crate) fn number_of(&self, on_the_wire: u32) -> Option<u32> {
        let base = self.base();
        let seq = on_the_wire.wrapping_sub(base);
        (base == 0 || seq < self.sender.end()).then_some(seq)
    }

    /// The packet with this number on the wire is of this connection, and has not been delivered before.
    #[inline]
    pub(super) fn waits_for(&self, on_the_wire: u32) -> bool {
        let seq = on_the_wire.wrapping_sub(self.base());
        seq >= self.receiver.next() && seq < self.sender.end()
    }

    /// Packets with payload delivered in order.
    pub(super) fn delivered_packets(&self) -> u64 {
        self.rest.earlier_packets + u64::from(self.receiver.next().saturating_sub(self.syn()))
    }

    /// Payload delivered in order, bytes.
    pub(super) fn delivered_bytes(&self) -> u64 {
        let packets = self.receiver.next().saturating_sub(self.syn());
        let full = u64::from(packets) * u64::from(self.sender.config().payload);
        self.rest.earlier_bytes + full - self.rest.messages.lacking
    }

    /// The application writes a message; the sender has to be started.
    pub(crate) fn write(&mut self, bytes: u64, now: Instant) {
        let first = self.sender.limit();
        let end = self.sender.write(bytes);
        let payload = self.sender.config().payload;
        self.rest.messages.push(first..end, payload, bytes, now);
    }

    /// Another connection takes the place of this one, all of whose data have been acknowledged.
    pub(crate) fn reopen(&mut self) {
        let (bytes, packets) = (self.delivered_bytes(), self.delivered_packets());
        let rest = &mut *self.rest;
        (rest.earlier_bytes, rest.earlier_packets) = (bytes, packets);
        rest.messages.lacking = 0;
        rest.base = rest.base.wrapping_add(self.sender.end() + 1);
        let Opening { phase, jitter_seed } = &mut rest.opening;
        *jitter_seed = jitter_seed.wrapping_add(1);
        self.sender = self.sender.reopened(*phase, *jitter_seed);
        self.receiver = Receiver::with(self.sender.config(), !*jitter_seed);
        self.late = FirstTransmissions::default();
    }

    /// With what its sender has done a message begins, or has been acknowledged.
    #[inline(always)]
    pub(crate) fn has_reached_a_mark(&self) -> bool {
        self.rest.get().is_some_and(|rest| {
            let Marks { send, acknowledge, .. } = rest.messages.marks;
            self.sender.end() > send || self.sender.una() >= acknowledge
        })
    }

    /// A packet at or beyond the mark is sent for the first time.
    #[cold]
    pub(crate) fn on_message_begun(&mut self, seq: u32, now: Instant) -> Notice {
        self.rest.messages.on_sent(seq, now);
        Notice::Begun(self.side())
    }

    /// All before packet `next` have been delivered, and with them a message, or the connection is open.
    #[cold]
    pub(crate) fn on_delivered(&mut self, next: u32) -> News {
        let opened = self.rest.messages.on_opened(next);
        let messages = self.rest.messages.on_delivered(next);
        News { opened, messages, side: self.side() }
    }

    /// The side that this flow carries.
    pub(crate) fn side(&self) -> Side {
        self.rest.application.map_or(Side::Opener, |(_, side)| side)
    }
}
