//! Open-loop sources: packets that leave by a schedule, whatever becomes of them.
//!
//! A source returns when its first packet leaves and, at each, when the next one does. That may be into a link's pacer at once:
//! where a pacer stands on the first link of a flow's way, the source feeds it.

use super::modulated::Modulated;
use super::on_off::OnOff;
use super::self_similar::SelfSimilar;
use crate::kernel::chance::Stream;
use paceline_core::{Ecn, Instant, Rate, Span, Wire};
use std::sync::Arc;

/// When packets leave.
#[derive(Debug, Clone, PartialEq)]
pub enum Timing {
    /// At equal gaps, for this rate on the wire.
    Constant(Rate),
    /// At exponential gaps, for this mean rate on the wire.
    Poisson(Rate),
    /// At equal gaps while on, not at all while off.
    OnOff(OnOff),
    /// At gaps that follow fractional Gaussian noise.
    SelfSimilar(SelfSimilar),
    /// As they were captured.
    Replay(Arc<Schedule>),
}

impl Timing {
    /// The mean rate on the wire, bit/s.
    pub(crate) fn mean_bps(&self) -> u64 {
        match self {
            Timing::Constant(rate) | Timing::Poisson(rate) => rate.bits_per_second(),
            Timing::OnOff(OnOff { rate, on, off }) => {
                let share = on.mean() / (on.mean() + off.mean());
                (rate.bits_per_second() as f64 * share) as u64
            }
            Timing::SelfSimilar(spec) => spec.mean.bits_per_second(),
            Timing::Replay(schedule) => {
                let bits: u64 = schedule.packets.iter().map(|(_, bytes)| u64::from(*bytes) * 8).sum();
                let over = schedule.packets.last().map_or(1, |(after, _)| (*after).max(1));
                (bits as f64 * 1e9 / over as f64) as u64
            }
        }
    }
}

/// Packets by time and size.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schedule {
    /// Nanoseconds after the first, never decreasing, and bytes on the wire.
    pub packets: Vec<(u64, u16)>,
}

/// An open-loop source at work.
#[derive(Debug)]
pub(crate) struct OpenLoop {
    /// The next packet on the wire.
    pub(crate) bytes: u32,
    /// Of each packet, bytes that goodput does not count.
    pub(crate) header: u32,
    /// The ECN field of each.
    pub(crate) ecn: Ecn,
    /// Nothing leaves from then on.
    pub(crate) stop: Instant,
    pub(crate) next_seq: u32,
    pub(crate) sent: u64,
    /// Packets received, and their payload, bytes.
    pub(crate) received: u64,
    pub(crate) received_bytes: u64,
    gaps: Gaps,
}

#[derive(Debug)]
enum Gaps {
    /// The rate as a wire that is always busy: exact, without drift.
    Constant(Wire),
    /// Mean in nanoseconds, and the fraction of one that the last gap left over: no rate drifts.
    Exponential {
        mean_ns: f64,
        owed_ns: f64,
        draws: Stream,
    },
    Modulated(Box<Modulated>),
    Replay {
        schedule: Arc<Schedule>,
        started: Instant,
        next: usize,
    },
}

impl OpenLoop {
    /// The source of `flow`, which sends packets of `bytes` from `start` until before `stop`.
    pub(crate) fn new(
        timing: &Timing,
        bytes: u32,
        header: u32,
        (start, stop): (Instant, Instant),
        seed: u64,
        flow: &str,
    ) -> Self {
        let stream = |what: &str| Stream::of(seed, flow, what);
        let gaps = match timing {
            Timing::Constant(rate) => Gaps::Constant(Wire::new(*rate)),
            Timing::Poisson(rate) => {
                let mean_ns = f64::from(bytes) * 8e9 / rate.bits_per_second() as f64;
                Gaps::Exponential { mean_ns, owed_ns: 0.0, draws: stream("gaps") }
            }
            Timing::OnOff(spec) => {
                Gaps::Modulated(Box::new(Modulated::on_off(spec, start, stop, stream("on-off"))))
            }
            Timing::SelfSimilar(spec) => {
                Gaps::Modulated(Box::new(Modulated::self_similar(spec, start, stop, stream("noise"))))
            }
            Timing::Replay(schedule) => {
                Gaps::Replay { schedule: Arc::clone(schedule), started: start, next: 0 }
            }
        };
        OpenLoop {
            bytes,
            header,
            ecn: Ecn::NotEct,
            stop,
            next_seq: 0,
            sent: 0,
            received: 0,
            received_bytes: 0,
            gaps,
        }
    }

    /// When the first packet leaves, of a source that starts at `start`; `None` if none ever does.
    pub(crate) fn first(&mut self, start: Instant) -> Option<Instant> {
        match &self.gaps {
            Gaps::Constant(_) | Gaps::Exponential { .. } => Some(start),
            Gaps::Modulated(_) | Gaps::Replay { .. } => self.next_after(start),
        }
    }

    /// When the packet after the one that leaves at `now` leaves, and how large it is; `None` if none does.
    #[inline]
    pub(crate) fn next_after(&mut self, now: Instant) -> Option<Instant> {
        let next = match &mut self.gaps {
            Gaps::Constant(wire) => wire.send(self.bytes, now).1,
            Gaps::Exponential { mean_ns, owed_ns, draws } => {
                let gap = draws.exponential() * *mean_ns + *owed_ns;
                let whole = gap as u64;
                *owed_ns = gap - whole as f64;
                now + Span::from_nanos(whole)
            }
            Gaps::Modulated(modulated) => modulated.next_after(now, self.bytes)?,
            Gaps::Replay { schedule, started, next } => {
                let (after, bytes) = *schedule.packets.get(*next)?;
                *next += 1;
                self.bytes = u32::from(bytes);
                *started + Span::from_nanos(after)
            }
        };
        (next < self.stop).then_some(next)
    }
}
