//! Rate-based pacing after an idle period: until something is heard of it, a new window is spread over a round trip.
//!
//! *Idea.* After a pause no acknowledgements clock the sender: it sends its old window in one burst, or begins anew with one packet. With
//! [`IdleRestart::Paced`] it keeps three quarters of the window, two packets at least, and sends them a smoothed round trip over the
//! window apart. The first acknowledgement ends that: the window is then what is in flight, so that it lets no burst out.
//! *Where it breaks.* The window may be of a path that has changed. A pacer of the host (`[pacing]`) spreads packets all the time, and
//! takes the place of this one. A timeout ends the pacing here; in ns-2 it goes on until an acknowledgement comes.
//! *References.* V. Visweswaraiah, J. Heidemann, "Improving restart of idle TCP connections", University of Southern California, technical
//! report 97-661, 1997; ns-2.35 tcp/tcp-rbp.cc, Agent/TCP/Reno/RBP.

use super::Sender;
use crate::config::IdleRestart;
use crate::segment::Output;
use crate::state::State;
use paceline_core::{Instant, Span};

impl Sender {
    /// The application sends again after nothing was outstanding. Returns whether the window leaves packet by packet from now on.
    #[cold]
    pub(super) fn restarts_paced(&mut self, now: Instant, out: &mut impl Output) -> bool {
        let state = &mut self.state;
        let was_idle = now.since(state.cold.idle_since) >= state.rtt.timeout();
        state.restart_after_idle(now);
        let gap = state.rtt.smoothed(&state.config) / f64::from(state.window());
        let is_asked = state.config.idle_restart == IdleRestart::Paced && state.cold.pacing.is_none();
        let begins = is_asked && was_idle && gap > 0.0;
        if begins {
            state.cold.restart_gap = Some(Span::from_seconds(gap));
            self.send_one_of_restart(now, out);
        }
        begins
    }

    /// The next packet leaves, if the window lets it out.
    #[cold]
    pub(super) fn send_one_of_restart(&mut self, now: Instant, out: &mut impl Output) {
        let state = &mut self.state;
        state.cold.pacing_at = Instant::MAX;
        let Some(gap) = state.cold.restart_gap else { return };
        if state.next < state.limit && state.next - state.una < state.window() {
            state.cold.pacing_at = now + gap;
            state.transmit(state.next, now, out);
            state.next += 1;
        }
    }
}

impl State {
    /// An acknowledgement of all before `next` has come, or a timeout: acknowledgements clock the sender again.
    #[inline(always)]
    pub(crate) fn end_restart(&mut self, next: Option<u32>) {
        if self.config.idle_restart == IdleRestart::Paced && self.cold.restart_gap.is_some() {
            (self.cold.restart_gap, self.cold.pacing_at) = (None, Instant::MAX);
            if next.is_some_and(|next| next > self.una) {
                self.cwnd = f64::from(self.end - self.una);
            }
        }
    }
}
