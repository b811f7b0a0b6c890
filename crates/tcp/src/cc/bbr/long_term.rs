//! The long-term rate of a policer.
//!
//! *Idea.* A policer passes bursts, then drops all beyond its rate: the delivery rate is high for a while, and a fifth and more is lost
//! after that. Intervals of four round trips and more, from loss to loss, in which so much is lost are compared. Two in a row at the
//! same rate (an eighth, or 500 byte/s) mean a policer: their mean is the bandwidth for 48 round trips.
//! *Parameters.* None.
//! *References.* Linux net/ipv4/tcp_bbr.c `bbr_lt_bw_sampling`, `bbr_lt_bw_interval_done`; T. Flach et al., "An Internet-wide analysis
//! of traffic policing", SIGCOMM 2016.

use crate::cc::rate::{BW_UNIT, Sampler, UNIT, micros, payload_rate};

/// `bbr_lt_intvl_min_rtts`, `bbr_lt_bw_max_rtts`
const LEAST_ROUNDS: u32 = 4;
const USED_ROUNDS: u32 = 48;
/// `bbr_lt_loss_thresh`: 50 / 256 of what is delivered.
const LOSSES: u64 = 50;
/// `bbr_lt_bw_ratio`, `bbr_lt_bw_diff`
const SAME_RATIO: u64 = UNIT / 8;
const SAME_BYTES: u64 = 4000 / 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    None,
    /// A policer was found: its rate is used from now on.
    Uses,
    /// Its rate was used long enough.
    ProbesAgain,
}

#[derive(Debug, Clone, Default)]
pub(super) struct LongTerm {
    is_sampling: bool,
    uses: bool,
    rounds: u32,
    bw: u64,
    /// The start of the interval: milliseconds, packets.
    began_ms: u64,
    delivered: u64,
    lost: u64,
}

impl LongTerm {
    /// The rate in use.
    pub(super) fn bw(&self) -> Option<u64> {
        self.uses.then_some(self.bw)
    }

    /// `bbr_reset_lt_bw_sampling`
    pub(super) fn reset(&mut self, rates: &Sampler) {
        *self = LongTerm::default();
        self.begin_interval(rates);
    }

    fn begin_interval(&mut self, rates: &Sampler) {
        self.began_ms = micros(rates.delivered_at) / 1000;
        (self.delivered, self.lost, self.rounds) = (rates.delivered, rates.lost, 0);
    }

    /// An acknowledgement that reports so many losses.
    pub(super) fn sample(
        &mut self,
        rates: &Sampler,
        lost: u32,
        is_app_limited: bool,
        (in_probe_bw, round_start): (bool, bool),
        payload: u64,
    ) -> Outcome {
        if self.uses {
            if in_probe_bw && round_start {
                self.rounds += 1;
                if self.rounds >= USED_ROUNDS {
                    self.reset(rates);
                    return Outcome::ProbesAgain;
                }
            }
            return Outcome::None;
        }
        if !self.is_sampling {
            if lost == 0 {
                return Outcome::None;
            }
            self.begin_interval(rates);
            self.is_sampling = true;
        }
        if is_app_limited {
            self.reset(rates);
            return Outcome::None;
        }
        self.rounds += u32::from(round_start);
        if self.rounds < LEAST_ROUNDS {
            return Outcome::None;
        }
        if self.rounds > 4 * LEAST_ROUNDS {
            self.reset(rates); // too long for one state of the policer
            return Outcome::None;
        }
        let (gone, delivered) = (rates.lost - self.lost, rates.delivered - self.delivered);
        let length_ms = (micros(rates.delivered_at) / 1000).saturating_sub(self.began_ms);
        if lost == 0 || delivered == 0 || gone * UNIT < LOSSES * delivered || length_ms < 1 {
            return Outcome::None;
        }
        self.end_interval(delivered * BW_UNIT / (length_ms * 1000), rates, payload)
    }

    /// `bbr_lt_bw_interval_done`
    fn end_interval(&mut self, bw: u64, rates: &Sampler, payload: u64) -> Outcome {
        if self.bw > 0 {
            let apart = bw.abs_diff(self.bw);
            let is_same =
                apart * UNIT <= SAME_RATIO * self.bw || payload_rate(apart, UNIT, payload) <= SAME_BYTES;
            if is_same {
                self.bw = u64::midpoint(bw, self.bw);
                (self.uses, self.rounds) = (true, 0);
                return Outcome::Uses;
            }
        }
        self.bw = bw;
        self.begin_interval(rates);
        Outcome::None
    }
}
