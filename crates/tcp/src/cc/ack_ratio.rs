//! Growth by acknowledgements: that of BIC, and of CUBIC before 2015.
//!
//! *Idea.* An acknowledgement counts for as many packets as acknowledgements cover in the mean, so that delayed ones do not halve
//! the growth. Linux reckons in whole numbers: it asks for a packet more each `cnt` acknowledgements.
//! *Parameters.* `timid`, until 2015: the acknowledgement that made the window grow did not count for the next packet. Slow start
//! went on at ssthresh, so that it ended a packet above, after each recovery too.
//! *Where it breaks.* The mean is one of whole sixteenths, rounded down: from two it comes down to 31/16 and no further, though
//! every packet is acknowledged by itself. Growth is then nearly twice what the control asks for, in Linux as here.
//! *References.* Linux net/ipv4/tcp_bic.c `bictcp_update`, `bictcp_acked`; tcp_cubic.c until commit 9cd981dcf174, tcp_cong.c
//! `tcp_cong_avoid_ai` until commit 814d488c6126 (both 2015).

use super::Constants;

/// What one connection remembers.
#[derive(Debug, Clone, Copy)]
pub(super) struct AckRatio {
    /// Packets an acknowledgement, sixteenths.
    mean: u32,
    timid: u32,
}

impl AckRatio {
    /// Of the years of these constants: as if every second packet were acknowledged.
    pub(super) fn new(constants: Constants) -> Self {
        AckRatio { mean: 2 << 4, timid: u32::from(constants == Constants::Linux2007) }
    }

    /// The window at which slow start ends.
    pub(super) fn slow_start_end(self, ssthresh: u32) -> u32 {
        ssthresh.saturating_add(self.timid)
    }

    /// A timeout: the mean is forgotten.
    pub(super) fn reset(&mut self) {
        self.mean = 2 << 4;
    }

    /// An acknowledgement covers so many packets, while nothing is being repaired.
    pub(super) fn update(&mut self, packets: u32) {
        self.mean = self.mean.saturating_add(packets) - (self.mean >> 4);
    }

    /// By how much an acknowledgement makes the window grow, where the control asks for a packet each `count` packets.
    pub(super) fn growth(self, count: u32) -> f64 {
        let acknowledgements = (u64::from(count) << 4) / u64::from(self.mean);
        1.0 / (acknowledgements.max(1) + u64::from(self.timid)) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_many(packets: u32) -> u32 {
        let mut ratio = AckRatio::new(Constants::Linux2013);
        (0..1000).for_each(|_| ratio.update(packets));
        ratio.mean
    }

    #[test]
    fn it_is_the_mean_but_never_less_than_31_sixteenths() {
        assert_eq!([1, 2, 4].map(after_many), [31, 32, 64]);
    }

    #[test]
    fn the_acknowledgement_that_made_it_grow_did_not_count_for_the_next_packet() {
        let growth = |constants| AckRatio::new(constants).growth(20);
        assert_eq!(growth(Constants::Linux2013), 1.0 / 10.0);
        assert_eq!(growth(Constants::Linux2007), 1.0 / 11.0);
    }
}
