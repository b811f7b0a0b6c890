//! Trains: what leaves where the host segments for TCP ([`crate::segmentation`]).
//!
//! *References.* Linux 6.18 net/ipv4/tcp_output.c `tcp_write_xmit`, `tcp_cwnd_test`, `tcp_tso_segs`; tcp_input.c `tcp_update_pacing_rate`.

use super::Sender;
use crate::config::Config;
use crate::pacing::{Pacing, Window, linux_ratio, pacing_window};
use crate::recovery;
use crate::segment::Output;
use crate::segmentation::{LEAST_TRAIN, Waiting, defers, train};
use crate::state::State;
use crate::state::small_queue::Next;
use paceline_core::{Instant, Span};

impl Sender {
    /// With [`Config::tsq`]: the first packet of which the sender does not know it yet will have left its host then, or is dropped there. To be called of each that it
    /// sends, in their order.
    pub fn leaves_host(&mut self, at: Instant) {
        if let Some(cold) = self.state.cold.written()
            && let Some(queue) = &mut cold.small_queue
        {
            queue.leaves(at);
            cold.host_at = queue.due();
        }
    }

    /// Sends at most `burst` packets without pacing, train by train. Returns how many.
    #[inline(never)]
    pub(super) fn send_trains(&mut self, burst: u32, now: Instant, out: &mut impl Output) -> u32 {
        let state = &mut self.state;
        let longest = longest_train(state);
        let mut sent = 0;
        while sent < burst
            && let Some((seq, packets)) = next_train(state, longest, now)
        {
            if is_held_back(state, (seq, packets.min(burst - sent)), now) {
                break;
            }
            let (first, before, mut next) = (state.end, sent, Some(seq));
            for _ in 0..packets.min(burst - sent) {
                let Some(seq) = next.take().or_else(|| recovery::next_packet(state)) else { break };
                state.transmit(seq, now, out);
                if state.cold.sack.is_blank() {
                    state.next = seq + 1;
                } else {
                    recovery::on_sent(state, seq, now);
                }
                sent += 1;
            }
            if state.end > first {
                state.cold.trains.close(sent - before);
            }
            if let Some(queue) = state.cold.written().and_then(|cold| cold.small_queue.as_mut()) {
                queue.join(sent - before);
            }
            if state.cold.pacing.as_ref().is_some_and(Pacing::holds_back) {
                break; // the next train has a time of its own (`tcp_pacing_check`)
            }
        }
        note_usage(state, sent, now);
        sent
    }
}

/// With small queues: whether so many packets from `seq` on have to wait until others have left the host.
fn is_held_back(state: &mut State, (seq, packets): (u32, u32), now: Instant) -> bool {
    if state.cold.small_queue.is_none() {
        return false;
    }
    let Config { payload, gso, tsq, .. } = *state.config;
    let is_one_train = || gso.is_some() && state.cold.trains.of(state.una).end >= state.end;
    let next = Next {
        payload: u64::from(packets) * u64::from(payload),
        is_retransmission: seq < state.end,
        is_alone: state.end - state.una <= 1 || is_one_train(),
        rate: payload_rate(state),
        most: tsq.map_or(u64::MAX, u64::from),
    };
    let Some(cold) = state.cold.written() else { return false };
    cold.small_queue.as_mut().is_some_and(|queue| {
        let waits = queue.holds_back(next, now);
        cold.host_at = queue.due();
        waits
    })
}

/// With small queues: whether the congestion window was used up, now that so many packets have been sent.
fn note_usage(state: &mut State, sent: u32, now: Instant) {
    if state.cold.small_queue.is_none() {
        return;
    }
    let waits = state.cold.small_queue.as_ref().is_some_and(|queue| queue.waits());
    let is_full = recovery::room(state) == 0 && state.cwnd as u32 <= state.config.max_window;
    let defers = !waits
        && recovery::next_packet(state).is_some()
        && next_train(state, longest_train(state), now).is_none();
    let (una, end) = (state.una, state.end);
    if (sent > 0 || is_full || defers)
        && let Some(queue) = state.cold.written().and_then(|cold| cold.small_queue.as_mut())
    {
        queue.usage.note(is_full || defers, una, end);
    }
}

/// Packets of the longest train now (`tcp_tso_segs`).
pub(super) fn longest_train(state: &State) -> u32 {
    let most = state.config.gso.unwrap_or(1);
    let (cold, payload) = (&state.cold, state.config.payload);
    if let Some(pace) = cold.control.as_ref().and_then(|control| control.pace()) {
        return pace.burst.min(most); // `min_tso_segs` is the control's
    }
    let of_pacing = |pacing: &Pacing| pacing.longest_train(pacing_window!(state));
    if let Some(packets) = cold.pacing.as_ref().and_then(of_pacing) {
        return packets.min(most);
    }
    let rate = payload_rate(state);
    let min_rtt_us =
        Some(cold.least()).filter(|least| *least > Span::ZERO).map(|least| least.as_nanos() / 1000);
    train(rate, payload.into(), LEAST_TRAIN, min_rtt_us).min(most)
}

/// The rate of a connection, paced or not, payload, byte/s (`sk_pacing_rate`); without bound before the first round trip.
fn payload_rate(state: &State) -> u64 {
    let (cold, payload) = (&state.cold, state.config.payload);
    if let Some(pace) = cold.control.as_ref().and_then(|control| control.pace()) {
        return pace.rate;
    }
    let window = pacing_window!(state)();
    match &cold.pacing {
        Some(pacing) => pacing.payload_rate(&window, payload),
        None => unpaced_rate(&window, cold.smoothed, payload),
    }
}

/// The pacing rate that Linux computes of every connection, paced or not, payload, byte/s (`tcp_update_pacing_rate`).
fn unpaced_rate(window: &Window, srtt: f64, payload: u32) -> u64 {
    let packets = window.cwnd.floor().max(window.in_flight);
    (f64::from(payload) * packets * linux_ratio(window) / srtt) as u64 // without a round trip, without bound
}

/// The first packet of a train that leaves now, and of how many it is, if any may: a retransmission waits for nothing, new data for more
/// of them.
fn next_train(state: &State, longest: u32, now: Instant) -> Option<(u32, u32)> {
    let seq = recovery::next_packet(state)?;
    if seq < state.end || recovery::is_repairing(state) {
        return Some((seq, longest));
    }
    let room = recovery::room(state);
    let window = state.window().max(1);
    // `tcp_cwnd_test`: at least two trains fill a congestion window.
    let quota = room.min((state.cwnd as u32 / 2).max(1)).min(longest);
    let unsent = state.limit - state.next;
    let buffer = rest_of_buffer(state).max(quota).min(unsent);
    let srtt = Span::from_seconds(state.cold.smoothed);
    let waiting = Waiting {
        room,
        window,
        longest,
        buffer,
        is_last: buffer == unsent,
        idle: now.since(last_write(state)),
        next_ack: (state.una < state.end).then(|| (state.last_sent_at(state.una) + srtt).since(now)),
        srtt,
    };
    (!defers(waiting)).then(|| (seq, quota.min(buffer)))
}

/// Packets from the next one to the end of its buffer in the send queue: buffers hold as many as the longest train may have.
fn rest_of_buffer(state: &State) -> u32 {
    let buffer = state.config.gso.unwrap_or(1);
    let first = u32::from(state.config.syn.is_some());
    buffer - state.next.saturating_sub(first) % buffer
}

/// When the last packet left, or when pacing lets the next one leave (`tcp_wstamp_ns`).
fn last_write(state: &State) -> Instant {
    let next = state.cold.pacing.as_ref().map_or(Instant::ZERO, |pacing| pacing.next_train());
    state.cold.last_sent.max(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Profile, Variant};
    use crate::segment::Segment;
    use std::sync::Arc;

    #[derive(Default)]
    struct Sent(u32);

    impl Output for Sent {
        fn send(&mut self, _: Segment) {
            self.0 += 1;
        }
    }

    /// The window in congestion avoidance after a round trip of a connection with small queues that has so many packets to send; each
    /// leaves its host a microsecond after it has been sent.
    fn after_a_round_trip(given: Option<u64>) -> (u32, f64) {
        let config = Config {
            variant: Variant::Rfc6675,
            tsq: Some(4 << 20),
            syn: None,
            initial_ssthresh: Some(2),
            ..Config::new(Profile::Linux)
        };
        let mut sender = Sender::new(Arc::new(config), given, Span::ZERO, 1);
        let (mut out, mut now, mut left) = (Sent::default(), Instant::ZERO, 0);
        sender.start(now, &mut out);
        for ack in 0..=10 {
            loop {
                (left..out.0).for_each(|_| sender.leaves_host(now + Span::from_nanos(1_000)));
                left = out.0;
                if sender.pacing_due() == Instant::MAX {
                    break;
                }
                now = sender.pacing_due();
                sender.on_pacing_timer(now, &mut out);
            }
            if ack < sender.end() {
                now += Span::from_millis(if ack == 0 { 50 } else { 1 });
                sender.on_ack_with(ack + 1, now, &[], Instant::ZERO, &mut out);
            }
        }
        (sender.end(), sender.cwnd())
    }

    #[test]
    fn with_small_queues_a_window_grows_that_was_used_up() {
        let (sent, window) = after_a_round_trip(None);
        assert!(sent > 20 && window > 10.5, "{sent}, {window}");
        let (sent, window) = after_a_round_trip(Some(5));
        assert!(sent < 10 && window == 10.0, "{sent}, {window}");
    }
}
