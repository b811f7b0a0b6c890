//! Growth by acknowledgements: that of BIC, and of CUBIC before 2013.
//!
//! *Idea.* An acknowledgement counts for as many packets as acknowledgements cover in the mean, so that delayed ones do not halve
//! the growth. Linux reckons in whole numbers: it asks for a packet more each `cnt` acknowledgements.
//! *Parameters.* None.
//! *Where it breaks.* The mean is one of whole sixteenths, rounded down: from two it comes down to 31/16 and no further, though
//! every packet is acknowledged by itself. Growth is then nearly twice what the control asks for, in Linux as here.
//! *References.* Linux net/ipv4/tcp_bic.c `bictcp_update`, `bictcp_acked`; tcp_cubic.c until commit 9cd981dcf174 (2015).

/// What one connection remembers.
#[derive(Debug, Clone, Copy)]
pub(super) struct AckRatio {
    /// Packets an acknowledgement, sixteenths.
    mean: u32,
}

impl AckRatio {
    /// As if every second packet were acknowledged.
    pub(super) fn new() -> Self {
        AckRatio { mean: 2 << 4 }
    }

    /// A timeout: the mean is forgotten.
    pub(super) fn reset(&mut self) {
        self.mean = 2 << 4;
    }

    /// An acknowledgement covers so many packets, while nothing is being repaired.
    pub(super) fn update(&mut self, packets: u32) {
        self.mean = self.mean.saturating_add(packets) - (self.mean >> 4);
    }

    /// Each so many acknowledgements the window grows by one, where the control asks for a packet each `count` packets.
    pub(super) fn acknowledgements(self, count: u64) -> u64 {
        ((count << 4) / u64::from(self.mean)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_many(packets: u32) -> u32 {
        let mut ratio = AckRatio::new();
        (0..1000).for_each(|_| ratio.update(packets));
        ratio.mean
    }

    #[test]
    fn it_is_the_mean_but_never_less_than_31_sixteenths() {
        assert_eq!([1, 2, 4].map(after_many), [31, 32, 64]);
    }

    #[test]
    fn a_timeout_makes_it_two_again() {
        let mut ratio = AckRatio::new();
        (0..100).for_each(|_| ratio.update(4));
        assert_eq!(ratio.acknowledgements(20), 5);
        ratio.reset();
        assert_eq!(ratio.acknowledgements(20), 10);
    }

    #[test]
    fn it_halves_the_count_where_every_second_packet_is_acknowledged() {
        assert_eq!([0, 1, 20].map(|count| AckRatio::new().acknowledgements(count)), [1, 1, 10]);
    }
}
