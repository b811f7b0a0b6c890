//! How far acknowledgements come in bunches: packets acknowledged beyond what the bandwidth explains.
//!
//! *Idea.* Since some time more was acknowledged than the bandwidth delivers in it. The greatest excess of the last five to ten round trips
//! is added to the window, so that the sender does not run dry between bunches; at most what the bandwidth delivers in 100 ms.
//! *Parameters.* None.
//! *References.* Linux net/ipv4/tcp_bbr.c `bbr_update_ack_aggregation`, `bbr_ack_aggregation_cwnd`.

use crate::cc::rate::{BW_UNIT, micros};
use paceline_core::Instant;

/// `bbr_extra_acked_win_rtts`
const ROUNDS: u32 = 5;
/// `bbr_ack_epoch_acked_reset_thresh`, and the most that is counted, packets.
const RESET: u32 = 1 << 20;
const MOST: u32 = 0xF_FFFF;
/// `bbr_extra_acked_max_us`
const MOST_US: u64 = 100_000;

#[derive(Debug, Clone, Default)]
pub(super) struct Aggregation {
    /// The greatest excess of this window of [`ROUNDS`], and of the one before.
    extra: [u32; 2],
    window: usize,
    rounds: u32,
    /// Since when packets are counted, and how many were acknowledged.
    since: Instant,
    acked: u32,
}

impl Aggregation {
    /// Counts anew from now on.
    pub(super) fn restart(&mut self, now: Instant) {
        (self.since, self.acked) = (now, 0);
    }

    /// So many packets are acknowledged now.
    pub(super) fn add(&mut self, acked: u32, round_start: bool, bw: u64, now: Instant, cwnd: u32) {
        if round_start {
            self.rounds = (self.rounds + 1).min(31);
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.window = 1 - self.window;
                self.extra[self.window] = 0;
            }
        }
        let length_us = micros(now).saturating_sub(micros(self.since));
        let mut expected = u128::from(bw) * u128::from(length_us) / u128::from(BW_UNIT);
        if u128::from(self.acked) <= expected || self.acked + acked >= RESET {
            self.restart(now);
            expected = 0;
        }
        self.acked = (self.acked + acked).min(MOST);
        let extra = self.acked.saturating_sub(expected as u32).min(cwnd);
        let most = &mut self.extra[self.window];
        *most = (*most).max(extra);
    }

    /// What is added to the window at this bandwidth, packets.
    pub(super) fn cwnd(&self, bw: u64) -> u32 {
        let most = bw * MOST_US / BW_UNIT;
        u64::from(self.extra[0].max(self.extra[1])).min(most) as u32
    }
}
