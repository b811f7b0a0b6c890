//! A flow at work: its sender and receiver, or its open-loop source, and what is counted of it.

use crate::chance::Stream;
use crate::feedback::FeedbackUnderWay;
use crate::network::{FlowKind, FlowSpec, HostId};
use crate::packet::{Event, Packet};
use paceline_core::{Instant, Span, Wire};
use paceline_tcp::{Config, Counters, Receiver, Sender};
use std::sync::Arc;

/// One flow.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Its sending host.
    pub(crate) host: HostId,
    /// A pacing method acts on it.
    pub(crate) paced: bool,
    /// An instrument looks at its window; at the delays of its packets.
    pub(crate) watched: bool,
    pub(crate) measured: bool,
    pub(crate) source: Source,
    /// Its receiver, and its sender, may handle a packet before its time: no other flow uses the link that they feed.
    pub(crate) may_run_ahead: [bool; 2],
    /// Events in the calendar that bring data to its receiver, and acknowledgements to its sender.
    pub(crate) waiting: [u32; 2],
    /// Delays of what is delivered, since the warm-up's end.
    pub(crate) delays: DelaySums,
    /// What stood when statistics started.
    pub(crate) at_warmup: Snapshot,
}

/// Where a flow's packets come from, and what takes them.
#[derive(Debug)]
pub(crate) enum Source {
    Tcp(Box<Tcp>),
    OpenLoop(Box<OpenLoop>),
}

/// A TCP connection, both ends.
#[derive(Debug)]
pub(crate) struct Tcp {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) late: Late,
    pub(crate) ack_bytes: u16,
    /// Its sender must know more of an acknowledgement than the number.
    pub(crate) needs_feedback: bool,
    pub(crate) feedback: FeedbackUnderWay,
    /// Packets without payload at the start: 1 with a SYN.
    pub(crate) syn: u32,
    /// When the timer events that count fire; others are stale.
    pub(crate) retransmission_event: Instant,
    pub(crate) pacing_event: Instant,
    pub(crate) delayed_ack_event: Instant,
    /// bit/s that the window stands for, as last added to the host's port.
    pub(crate) port_rate: u64,
    /// First data byte sent; acknowledgement of the last.
    pub(crate) first_data: Option<Instant>,
    pub(crate) finished: Option<Instant>,
}

/// Fixed-size packets without feedback.
#[derive(Debug)]
pub(crate) struct OpenLoop {
    pub(crate) bytes: u32,
    pub(crate) payload: u32,
    pub(crate) stop: Option<Instant>,
    pub(crate) next_seq: u32,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    gaps: Gaps,
}

#[derive(Debug)]
enum Gaps {
    /// The rate as a wire that is always busy: exact, without drift.
    Constant(Wire),
    /// Mean in nanoseconds, and the fraction of one that the last gap left over: no rate drifts.
    Exponential { mean_ns: f64, owed_ns: f64, draws: Stream },
}

/// Counts of a flow at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Snapshot {
    /// Payload bytes delivered in order.
    pub(crate) delivered_bytes: u64,
    pub(crate) counters: Counters,
}

/// Sums of delays, nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DelaySums {
    /// Packets delivered in order.
    pub(crate) delivered: u64,
    /// First transmission to in-order delivery.
    pub(crate) delay_ns: u64,
    /// Packets received.
    pub(crate) received: u64,
    /// Last transmission to arrival.
    pub(crate) network_ns: u64,
}

impl Flow {
    /// A flow that has not started; `configs` holds the settings met so far, which flows share.
    pub(crate) fn new(spec: &FlowSpec, configs: &mut Vec<Arc<Config>>, seed: u64) -> Self {
        let source = match &spec.kind {
            FlowKind::Bulk { tcp, packets } => {
                let config = shared(configs, tcp);
                let tick = config.tick.as_nanos();
                let mut draws = Stream::new(seed, &format!("{}:clock", spec.name));
                let phase = Span::from_nanos(if tick == 0 { 0 } else { draws.between(0, tick - 1) });
                let phase = config.tick_phase.unwrap_or(phase);
                let jitter_seed = draws.between(0, u64::MAX);
                Source::Tcp(Box::new(Tcp {
                    ack_bytes: u16::try_from(config.ack).unwrap_or(u16::MAX),
                    syn: u32::from(config.syn.is_some()),
                    needs_feedback: config.needs_feedback(),
                    feedback: FeedbackUnderWay::default(),
                    receiver: Receiver::with(&config),
                    sender: Sender::new(config, *packets, phase, jitter_seed),
                    late: Late::default(),
                    retransmission_event: Instant::MAX,
                    pacing_event: Instant::MAX,
                    delayed_ack_event: Instant::MAX,
                    port_rate: 0,
                    first_data: None,
                    finished: None,
                }))
            }
            FlowKind::OpenLoop { bytes, payload, rate, poisson, stop } => {
                let gaps = if *poisson {
                    let mean_ns = f64::from(*bytes) * 8e9 / rate.bits_per_second() as f64;
                    let draws = Stream::new(seed, &format!("{}:gaps", spec.name));
                    Gaps::Exponential { mean_ns, owed_ns: 0.0, draws }
                } else {
                    Gaps::Constant(Wire::new(*rate))
                };
                let (bytes, payload, stop) = (*bytes, *payload, *stop);
                Source::OpenLoop(Box::new(OpenLoop {
                    bytes,
                    payload,
                    stop,
                    next_seq: 0,
                    sent: 0,
                    received: 0,
                    gaps,
                }))
            }
        };
        Flow {
            host: spec.source,
            paced: spec.paced,
            watched: false,
            measured: false,
            source,
            may_run_ahead: [false; 2],
            waiting: [0; 2],
            delays: DelaySums::default(),
            at_warmup: Snapshot::default(),
        }
    }

    /// Whether a packet that reaches one of its ends at a future time can be handled now: none waits before it, and no timer
    /// of the sender runs out before.
    #[inline(always)]
    pub(crate) fn runs_ahead(&self, event: &Event) -> bool {
        let end = usize::from(event.is_ack());
        if !self.may_run_ahead[end] || self.waiting[end] != 0 {
            return false;
        }
        let not_before = |due: Option<Instant>| due.is_none_or(|due| due >= event.at);
        match &self.source {
            Source::Tcp(tcp) if event.is_ack() => {
                not_before(tcp.sender.retransmission_at()) && not_before(tcp.sender.pacing_at())
            }
            Source::Tcp(tcp) => not_before(tcp.receiver.due()),
            Source::OpenLoop(_) => true,
        }
    }

    /// What has been counted so far.
    pub(crate) fn snapshot(&self) -> Snapshot {
        match &self.source {
            Source::Tcp(tcp) => {
                let packets = tcp.receiver.next().saturating_sub(tcp.syn);
                let delivered_bytes = u64::from(packets) * u64::from(tcp.sender.config().payload);
                Snapshot { delivered_bytes, counters: tcp.sender.counters() }
            }
            Source::OpenLoop(source) => Snapshot {
                delivered_bytes: source.received * u64::from(source.payload),
                counters: Counters { sent: source.sent, ..Counters::default() },
            },
        }
    }

    /// A link dropped a packet of this flow.
    pub(crate) fn on_drop(&mut self, packet: &Packet) {
        let Source::Tcp(tcp) = &mut self.source else { return };
        if packet.is_ack {
            if tcp.needs_feedback {
                tcp.feedback.release(packet.sent);
            }
        } else if packet.seq >= tcp.receiver.next() {
            tcp.late.note(packet.seq, packet.sent);
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

impl OpenLoop {
    /// When the packet after the one that leaves at `now` leaves.
    pub(crate) fn next_after(&mut self, now: Instant) -> Instant {
        match &mut self.gaps {
            Gaps::Constant(wire) => wire.send(self.bytes, now).1,
            Gaps::Exponential { mean_ns, owed_ns, draws } => {
                let gap = draws.exponential() * *mean_ns + *owed_ns;
                let whole = gap as u64;
                *owed_ns = gap - whole as f64;
                now + Span::from_nanos(whole)
            }
        }
    }
}

/// Flows with equal settings share them.
fn shared(configs: &mut Vec<Arc<Config>>, config: &Config) -> Arc<Config> {
    if let Some(same) = configs.iter().rev().find(|other| ***other == *config) {
        return Arc::clone(same);
    }
    configs.push(Arc::new(config.clone()));
    Arc::clone(&configs[configs.len() - 1])
}

/// First transmissions of packets that come late: those that a link dropped, and those that wait behind a gap.
///
/// Any other packet is delivered the moment it arrives, and says itself when it was sent.
#[derive(Debug, Default)]
pub(crate) struct Late(Vec<(u32, Instant)>);

impl Late {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A packet was dropped, or arrived beyond a gap.
    pub(crate) fn note(&mut self, seq: u32, sent: Instant) {
        match self.0.iter_mut().find(|(late, _)| *late == seq) {
            Some((_, first)) => *first = sent.min(*first),
            None => self.0.push((seq, sent)),
        }
    }

    /// A packet arrives where `next` was waited for: it waits if it lies beyond.
    pub(crate) fn on_arrival(&mut self, packet: &Packet, next: u32) {
        if packet.seq > next {
            self.note(packet.seq, packet.sent);
        }
    }

    /// Packet `seq` is delivered: when it was first sent, if it comes late.
    #[inline]
    pub(crate) fn take(&mut self, seq: u32) -> Option<Instant> {
        if self.0.is_empty() {
            return None;
        }
        let position = self.0.iter().position(|(late, _)| *late == seq)?;
        Some(self.0.swap_remove(position).1)
    }
}
