//! Bursts: what the window and pacing let out at one event.
//!
//! *References.* ns-2.35 tcp/tcp.cc `send_much`; Linux net/ipv4/tcp_output.c `tcp_write_xmit`.

use super::Sender;
use super::trains::longest_train;
use crate::pacing::{Pacing, Permit, pacing_window};
use crate::recovery;
use crate::segment::Output;
use crate::state::pacing;
use paceline_core::Instant;

impl Sender {
    /// Sends what the window allows, at most `burst` packets, if pacing allows it and once the host is ready (ns-2 `send_much`).
    #[inline(always)]
    pub(super) fn send_allowed(&mut self, burst: u32, now: Instant, out: &mut impl Output) {
        if !self.waits_for_host(now) {
            self.send_now(burst, now, out);
        }
    }

    /// What the window allows has to wait for the host: [`crate::Config::overhead`].
    #[inline(always)]
    fn waits_for_host(&mut self, now: Instant) -> bool {
        let waits = self.state.cold.overhead.is_some();
        if waits {
            self.begin_wait(now);
        }
        waits
    }

    #[cold]
    fn begin_wait(&mut self, now: Instant) {
        let state = &mut self.state;
        if state.cold.host_at == Instant::MAX
            && recovery::next_packet(state).is_some()
            && let Some(overhead) = &mut state.cold.overhead
        {
            state.cold.host_at = now + overhead.draw();
        }
    }

    /// If the wait for the host is over now, sends what the window allows.
    pub(super) fn end_wait(&mut self, now: Instant, out: &mut impl Output) {
        let cold = &mut self.state.cold;
        if cold.host_at <= now {
            cold.host_at = Instant::MAX;
            if let Some(queue) = &mut cold.small_queue {
                queue.go_on(); // `tcp_tsq_write`
            }
            let most = recovery::before_wait_ends(&mut self.state);
            self.send_now(u32::MAX, now, out);
            if let Some(most) = most {
                recovery::after_wait(&mut self.state, most);
            }
        }
    }

    #[inline(always)]
    fn send_now(&mut self, burst: u32, now: Instant, out: &mut impl Output) {
        if self.state.cold.pacing.is_some() {
            self.send_paced(burst, now, out);
        } else {
            self.send_burst(burst, now, out);
        }
    }

    #[inline(never)]
    fn send_paced(&mut self, burst: u32, now: Instant, out: &mut impl Output) {
        let state = &mut self.state;
        if state.cold.pacing.as_ref().is_some_and(|pacing| pacing.waits(state.cold.pacing_at)) {
            return;
        }
        state.follow_control();
        if let Some((pacing, pacing_at)) = pacing!(state) {
            let permit = pacing.on_event(pacing_window!(state), pacing_at, now);
            self.send_permitted(permit, burst, now, out);
        }
    }

    #[inline]
    pub(super) fn send_permitted(&mut self, permit: Permit, burst: u32, now: Instant, out: &mut impl Output) {
        let burst = match permit {
            Permit::All => burst,
            Permit::Some(_) if self.state.config.gso.is_some() => burst.min(longest_train(&self.state)),
            Permit::Some(packets) => burst.min(packets),
            Permit::None => return,
        };
        let sent = self.send_burst(burst, now, out);
        let state = &mut self.state;
        let asks = state.cold.pacing.as_ref().is_some_and(Pacing::asks_for_more);
        let waits = state.cold.small_queue.as_ref().is_some_and(|queue| queue.waits());
        let more = asks && !waits && recovery::next_packet(state).is_some();
        if let Some((pacing, pacing_at)) = pacing!(state) {
            pacing.after_burst(pacing_window!(state), (sent, more), pacing_at, now);
        }
    }

    /// Sends at most `burst` packets without pacing. Returns how many.
    #[inline]
    fn send_burst(&mut self, burst: u32, now: Instant, out: &mut impl Output) -> u32 {
        let state = &mut self.state;
        let burst = burst.min(state.config.max_burst);
        let mut sent = 0;
        if state.config.gso.is_some() || state.config.tsq.is_some() {
            sent = self.send_trains(burst, now, out);
        } else if state.cold.sack.is_blank() {
            let room = state.window().saturating_sub(state.next - state.una);
            sent = room.min(state.limit.saturating_sub(state.next)).min(burst);
            for _ in 0..sent {
                state.transmit_inlined(state.next, now, out);
                state.next += 1;
            }
        } else {
            while sent < burst
                && let Some(seq) = recovery::next_packet(state)
            {
                state.transmit_inlined(seq, now, out);
                recovery::on_sent(state, seq, now);
                sent += 1;
            }
        }
        let state = &mut self.state;
        if sent > 0 && state.has_rack() {
            state.schedule_probe(false, now);
        }
        sent
    }
}
