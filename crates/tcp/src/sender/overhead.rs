//! ns-2's `overhead_`: a host takes a random time to get its next packets out.
//!
//! *Idea.* Where acknowledgements clock packets out, these reach a queue at the very moment at which others leave it, and what
//! happens then is decided by such ties, always the same way. A short random time before each send undoes that. A sender
//! that may send waits for a time drawn uniformly from nothing to `overhead`; what else comes meanwhile does not change
//! it; then all leaves that the window allows. Fast retransmit, limited transmit and a probe go at once.
//! *Parameters.* `overhead`, the longest wait; the least is a nanosecond.
//! *Where it breaks.* With host pacing, what an acknowledgement lets go waits too; what the pacing timer lets go does not.
//! ns-2's Sack1 draws a time even where the window has room and there is nothing to send.
//! *References.* ns-2.35 tcp/tcp.cc `TcpAgent::send_much`, `DelSndTimer`; S. Floyd, V. Jacobson, "On traffic phase effects in
//! packet-switched gateways" (1992).

use super::{Output, Sender};
use crate::recovery;
use paceline_core::{Instant, Span};
use rand_core::RngCore;
use rand_pcg::Pcg32;

/// The longest wait, and what draws the next.
#[derive(Debug, Clone)]
pub(super) struct Overhead {
    most: Span,
    draws: Pcg32,
}

/// Of the generator that one seed gives it and pacing jitter: each has numbers of its own.
const STREAM: u64 = 1;

impl Overhead {
    /// `None` where nothing waits.
    pub(super) fn new(most: Span, seed: u64) -> Option<Self> {
        (most > Span::ZERO).then(|| Overhead { most, draws: Pcg32::new(seed, STREAM) })
    }

    /// From one nanosecond to the longest, each as likely.
    fn draw(&mut self) -> Span {
        let place = (u128::from(self.draws.next_u64()) * u128::from(self.most.as_nanos())) >> 64;
        Span::from_nanos(1 + place as u64)
    }
}

impl Sender {
    /// What the window allows has to wait, or waits: whether that is so.
    #[inline(always)]
    pub(super) fn waits_for_its_host(&mut self, now: Instant) -> bool {
        let waits = self.rare.overhead.is_some();
        if waits {
            self.begin_wait(now);
        }
        waits
    }

    #[cold]
    fn begin_wait(&mut self, now: Instant) {
        if self.rare.overhead_at == Instant::MAX
            && recovery::next_packet(self).is_some()
            && let Some(overhead) = &mut self.rare.overhead
        {
            self.rare.overhead_at = now + overhead.draw();
        }
    }

    /// The wait, if it is over now, ends, and what the window allows leaves.
    pub(super) fn end_wait(&mut self, now: Instant, out: &mut impl Output) {
        if self.rare.overhead_at <= now {
            self.rare.overhead_at = Instant::MAX;
            self.send_now(u32::MAX, now, out);
        }
    }
}
