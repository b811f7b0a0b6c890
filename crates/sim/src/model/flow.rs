//! A flow at work: its sender and receiver, or its open-loop source, and what is counted of it.

mod connection;
mod first_transmissions;
mod gate;
mod paths;
mod traits;

pub(crate) use self::connection::{News, Tcp};
pub(crate) use self::gate::Gate;
pub(crate) use self::paths::{AccessLink, AccessLinks, PathSuffix};
use self::traits::Traits;
use crate::kernel::packet::{Event, Packet};
use crate::network::{FlowKind, FlowSpec, Part};
use crate::workload::open_loop::OpenLoop;
use crate::workload::{Converse, Side};
use paceline_core::{Instant, Span};
use paceline_tcp::Counters;
use std::sync::Arc;

/// One flow, 256 bytes beside its links. Laid out in the order of use, from the start of a cache line: each end's part of it lies
/// together.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    /// The links that are its own at its receiver.
    pub(crate) at_sink: AccessLinks,
    /// Delays of what is delivered, since the warm-up's end.
    pub(crate) delays: DelaySums,
    /// How data reach its receiver, and acknowledgements its sender.
    pub(crate) suffixes: [PathSuffix; 2],
    /// Whether data that reach its receiver, and acknowledgements that reach its sender, may be handled ahead of their time.
    pub(crate) gates: [Gate; 2],
    /// Where its data wait that have left their host a short way, and its acknowledgements: positions among the ordered_links.
    pub(crate) ordered_links: [u16; 2],
    /// Instruments, a pacing method, a port.
    pub(crate) traits: Traits,
    /// Its sender processes an acknowledgement less than so many nanoseconds after it has come (hesitation.rs); 0 is at once.
    pub(crate) hesitates: u8,
    /// An acknowledgement that carries no more than a number, bytes: the configuration, which has it too, lies far from the receiver.
    pub(crate) ack_bytes: u16,
    pub(crate) source: Source,
    /// The links that are its own at its sender.
    pub(crate) at_source: AccessLinks,
}

/// Where a flow's packets come from, and what takes them.
#[derive(Debug)]
pub(crate) enum Source {
    Tcp(Tcp),
    OpenLoop(Box<OpenLoop>),
}

/// A dialogue at work.
#[derive(Debug)]
pub(crate) struct RunningDialogue {
    /// The opener's flow; the answerer's, if it has one, is the next.
    pub(crate) opener: u32,
    /// Each message is a transfer.
    pub(crate) messages_are_transfers: bool,
    pub(crate) started: bool,
    pub(crate) application: Box<dyn Converse>,
}

/// Counts of a flow at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Snapshot {
    /// Payload bytes delivered in order.
    pub(crate) delivered_bytes: u64,
    /// Packets delivered in order, with payload.
    pub(crate) delivered_packets: u64,
    pub(crate) counters: Counters,
}

/// Sums of delays, nanoseconds: they hold 584 years (a check would cost each packet eight instructions). Fields that are added together are not adjacent: the compiler would
/// sometimes add them as one vector, and that load would wait for two smaller stores (a store-forwarding stall).
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct DelaySums {
    /// Packets received.
    pub(crate) received: u64,
    /// First transmission to in-order delivery.
    pub(crate) delay_ns: u64,
    /// Last transmission to arrival.
    pub(crate) network_ns: u64,
}

impl DelaySums {
    /// A packet is received, so long after it was last sent.
    #[inline(always)]
    pub(crate) fn receives(&mut self, delay: Span) {
        self.received += 1;
        self.network_ns += delay.as_nanos();
    }

    /// Packets are delivered in order, and this is how long after they were first sent, added up.
    #[inline(always)]
    pub(crate) fn delivers(&mut self, delay: Span) {
        self.delay_ns += delay.as_nanos();
    }
}

impl Flow {
    /// Flow number `id`, which has not started; `dialogues` holds the dialogues met so far; the run is over at `end`.
    pub(crate) fn new(
        id: u32,
        spec: &FlowSpec,
        dialogues: &mut Vec<RunningDialogue>,
        seed: u64,
        end: Instant,
    ) -> Self {
        let source = match &spec.kind {
            FlowKind::Bulk { tcp, packets } => {
                let mut tcp = Tcp::new(spec, Arc::clone(tcp), *packets, seed);
                if packets.is_some() {
                    // All that there is, as one message.
                    let (syn, end, payload) = (tcp.syn(), tcp.sender.limit(), tcp.sender.config().payload);
                    let bytes = u64::from(end - syn) * u64::from(payload);
                    tcp.rest.messages.push(syn..end, payload, bytes, spec.start);
                }
                Source::Tcp(tcp)
            }
            FlowKind::Dialogue { tcp, part } => {
                let mut tcp = Tcp::new(spec, Arc::clone(tcp), Some(0), seed);
                let side = match part {
                    Part::Opens(talk) => {
                        dialogues.push(RunningDialogue {
                            opener: id,
                            messages_are_transfers: talk.kind().messages_are_transfers(),
                            started: false,
                            application: talk.kind().application(seed, &spec.name),
                        });
                        Side::Opener
                    }
                    Part::Answers => Side::Answerer,
                };
                tcp.rest.application = dialogues.len().checked_sub(1).map(|last| (last as u32, side));
                tcp.rest.answers = match part {
                    Part::Opens(talk) => talk.kind().has_flow_back().then_some(id + 1),
                    Part::Answers => id.checked_sub(1),
                };
                Source::Tcp(tcp)
            }
            FlowKind::OpenLoop { bytes, header, timing, stop, ecn } => {
                let stop = stop.map_or(end, |stop| stop.min(end));
                let times = (spec.start, stop);
                let mut source = OpenLoop::new(timing, *bytes, u32::from(*header), times, seed, &spec.name);
                source.ecn = *ecn;
                Source::OpenLoop(Box::new(source))
            }
        };
        let mut gates = Gate::SHUT;
        gates[0].look_at_trains(matches!(&source, Source::Tcp(tcp) if tcp.has_trains()));
        if matches!(&source, Source::Tcp(tcp) if tcp.has_ecn()) {
            gates[1].send_apart();
        }
        Flow {
            traits: Traits::of(spec.paced),
            hesitates: 0,
            ack_bytes: match &source {
                Source::Tcp(tcp) => tcp.sender.config().ack as u16,
                Source::OpenLoop(_) => 0,
            },
            source,
            ordered_links: [0; 2],
            suffixes: [PathSuffix::SLOW; 2],
            at_source: AccessLinks::default(),
            at_sink: AccessLinks::default(),
            gates,
            delays: DelaySums::default(),
        }
    }

    /// One of its ends (0 the receiver, 1 the sender) may handle a packet before its time, if no other waits: no other flow
    /// uses the link that it feeds. Before the run.
    pub(crate) fn let_run_ahead(&mut self, end: usize) {
        self.gates[end].keep_in_step(false);
    }

    /// It may not: it is observed at certain times. Before the run.
    pub(crate) fn keep_in_step(&mut self, end: usize) {
        self.gates[end].keep_in_step(true);
    }

    /// Whether a packet that reaches one of its ends at a future time can be handled now: none waits before it, and no timer
    /// of the sender runs out before.
    #[inline(always)]
    pub(crate) fn runs_ahead(&self, event: &Event) -> bool {
        let end = usize::from(event.is_ack());
        if !self.gates[end].lets_run_ahead() {
            return false;
        }
        let not_before = |due: Option<Instant>| due.is_none_or(|due| due >= event.at);
        match &self.source {
            Source::Tcp(tcp) if event.is_ack() => self.is_free() || tcp.next_timer() >= event.at,
            Source::Tcp(tcp) => {
                (self.gates[0].is_free() || not_before(tcp.receiver.due()))
                    && (!self.gates[0].replaces_connections() || self.waits_for(event))
            }
            Source::OpenLoop(_) => true,
        }
    }

    /// Its sender's timers are in the deadline index, not in the calendar (engine/hosts/deadline_index.rs).
    #[inline(always)]
    pub(crate) fn is_free(&self) -> bool {
        self.gates[1].is_free()
    }

    /// No other connection can have begun before these data come.
    #[inline(always)]
    pub(crate) fn waits_for(&self, data: &Event) -> bool {
        matches!(&self.source, Source::Tcp(tcp) if tcp.waits_for(data.seq))
    }

    /// Nothing but its own acknowledgements and timers makes its sender act, once it has started, and it is not observed.
    pub(crate) fn may_be_free(&self) -> bool {
        let has_application = match &self.source {
            Source::Tcp(tcp) => tcp.rest.application.is_some(),
            Source::OpenLoop(_) => true,
        };
        !self.gates[1].keeps_in_step()
            && !self.traits.observes_window()
            && !self.traits.has_port()
            && !has_application
    }

    /// Nothing but what reaches its receiver and the receiver's timer makes that send.
    pub(crate) fn may_answer_freely(&self) -> bool {
        let has_application = match &self.source {
            Source::Tcp(tcp) => tcp.rest.application.is_some(),
            Source::OpenLoop(_) => true,
        };
        !self.gates[0].keeps_in_step() && !has_application
    }

    /// When its first event is, if it starts at `start`; `None` where none ever comes, or another flow makes it send.
    pub(crate) fn first_event(&mut self, start: Instant) -> Option<Instant> {
        match &mut self.source {
            Source::Tcp(tcp) => (tcp.side() == Side::Opener).then_some(start),
            Source::OpenLoop(source) => source.first(start),
        }
    }

    /// Its round-trip time is used. Before the run.
    pub(crate) fn keep_round_trips(&mut self) {
        if let Source::Tcp(tcp) = &mut self.source {
            tcp.sender.keep_round_trips();
        }
    }

    /// What has been counted so far.
    pub(crate) fn snapshot(&self) -> Snapshot {
        match &self.source {
            Source::Tcp(tcp) => {
                let (delivered_bytes, delivered_packets) = (tcp.delivered_bytes(), tcp.delivered_packets());
                Snapshot { delivered_bytes, delivered_packets, counters: tcp.sender.counters() }
            }
            Source::OpenLoop(source) => Snapshot {
                delivered_bytes: source.received_bytes,
                delivered_packets: source.received,
                counters: Counters { sent: source.sent, ..Counters::default() },
            },
        }
    }

    /// A link dropped a packet of this flow.
    pub(crate) fn on_drop(&mut self, packet: &Packet) {
        let Source::Tcp(tcp) = &mut self.source else { return };
        if packet.is_ack {
            if let Some(rest) = tcp.rest.written() {
                rest.feedback.release(packet.sent);
            }
        } else if let Some(seq) = tcp.number_of(packet.seq)
            && seq >= tcp.receiver.next()
        {
            tcp.late.note(seq, packet.sent, tcp.receiver.next());
        }
    }

    /// Congestion window, packets; NaN where there is none.
    pub(crate) fn cwnd(&self) -> f64 {
        match &self.source {
            Source::Tcp(tcp) => tcp.sender.cwnd(),
            Source::OpenLoop(_) => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Host, LinkSpec};
    use paceline_tcp::Sender;
    use std::mem::offset_of;

    /// A sender is two cache lines.
    #[test]
    fn a_sender_begins_with_a_cache_line() {
        let sender = offset_of!(Flow, source) + offset_of!(Tcp, sender);
        assert_eq!((sender % 64, size_of::<Sender>()), (0, 128));
    }

    /// What each flow of a large network takes, bytes: this, beside its four links; in the network two hosts, four links and its own
    /// row. Nothing else but nine in the agenda, its start until then, and what a loss takes until it is repaired.
    #[test]
    fn a_flow_takes_little() {
        assert!(size_of::<Flow>() - 2 * size_of::<AccessLinks>() <= 256);
        assert!(size_of::<AccessLinks>() <= 64);
        assert!(size_of::<LinkSpec>() <= 48);
        assert!(size_of::<Host>() <= 40);
        assert!(size_of::<FlowSpec>() <= 112);
    }
}
