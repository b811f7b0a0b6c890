//! ns-2's `overhead_`: a host waits for a random time before it sends.
//!
//! *Idea.* Where acknowledgements clock packets out, packets reach a queue at the moment at which others leave it, and such ties are
//! always decided the same way. A short random time before each send removes the ties. A sender that may send waits for a time
//! drawn uniformly from nothing to `overhead`. Events during the wait do not change it. At its end everything leaves that the
//! window allows. Fast retransmit, limited transmit and a probe do not wait.
//! *Parameters.* `overhead`, the longest wait; the least is a nanosecond.
//! *Where it breaks.* With host pacing, packets that an acknowledgement lets out wait too; those that the pacing timer lets out do
//! not. ns-2's Sack1 draws a time even where the window has room and there is nothing to send.
//! *References.* ns-2.35 tcp/tcp.cc `TcpAgent::send_much`, `DelSndTimer`; S. Floyd, V. Jacobson, "On traffic phase effects in
//! packet-switched gateways" (1992).

use paceline_core::Span;
use rand_core::RngCore;
use rand_pcg::Pcg32;

/// The longest wait, and the generator of the next.
#[derive(Debug, Clone)]
pub(crate) struct Overhead {
    most: Span,
    draws: Pcg32,
}

/// The stream of the generator. Pacing jitter has the same seed and another stream.
const STREAM: u64 = 1;

impl Overhead {
    /// `None` where nothing waits.
    pub(super) fn new(most: Span, seed: u64) -> Option<Self> {
        (most > Span::ZERO).then(|| Overhead { most, draws: Pcg32::new(seed, STREAM) })
    }

    /// Uniform from one nanosecond to the longest wait.
    pub(crate) fn draw(&mut self) -> Span {
        let place = (u128::from(self.draws.next_u64()) * u128::from(self.most.as_nanos())) >> 64;
        Span::from_nanos(1 + place as u64)
    }
}
