//! The retransmission timer as ns-2 had it before 2001: an acknowledgement restarts it before its own sample is taken.
//!
//! *References.* ns-2.35 tcp/tcp.cc `newack`, `timerfix_`.

use super::Sender;
use crate::feedback::Ack;
use crate::recovery;
use crate::segment::Output;
use paceline_core::Instant;

impl Sender {
    /// [`recovery::on_ack`] without [`crate::Config::timer_fix`].
    #[cold]
    pub(super) fn on_ack_before_sample(&mut self, ack: Ack<'_>, now: Instant, out: &mut impl Output) -> u32 {
        let (una, timeout) = (self.state.una, self.state.rtt.timeout());
        let burst = recovery::on_ack(&mut self.state, ack, now, out);
        let state = &mut self.state;
        if state.una > una && state.retransmission_at == now + state.rtt.timeout() {
            state.retransmission_at = now + timeout;
        }
        burst
    }
}
