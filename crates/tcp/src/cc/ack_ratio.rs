//! Growth by acknowledgements: that of BIC, and of CUBIC before 2013.
//!
//! *Idea.* An acknowledgement counts for as many packets as acknowledgements cover on average, so that delayed ones do not halve the
//! growth. Linux computes in whole numbers: the window grows by a packet every `cnt` acknowledgements.
//! *Parameters.* None.
//! *Where it breaks.* The average is in whole sixteenths, rounded down. From two it decreases to 31/16 and no further, even where every
//! packet is acknowledged by itself. Growth is then nearly twice that of the control, in Linux as here.
//! *References.* Linux net/ipv4/tcp_bic.c `bictcp_update`, `bictcp_acked`; tcp_cubic.c until commit 9cd981dcf174 (2015).

/// The state of one connection.
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

    /// An acknowledgement covers `packets`, while no loss is under repair.
    pub(super) fn update(&mut self, packets: u32) {
        self.mean = self.mean.saturating_add(packets) - (self.mean >> 4);
    }

    /// The acknowledgements for one packet of growth, where the control grows by a packet every `count` packets.
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
