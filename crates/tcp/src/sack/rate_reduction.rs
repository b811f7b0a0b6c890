//! Proportional rate reduction: the window during a recovery decreases in proportion to what arrives (RFC 9937).

/// Proportional rate reduction: the window during a recovery, packets (RFC 9937; Linux `tcp_cwnd_reduction` since 5.19).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RateReduction {
    /// Window at the loss.
    pub(crate) prior: u32,
    /// Known to have arrived since.
    pub(crate) delivered: u32,
    /// Sent since.
    pub(crate) sent: u32,
}

impl RateReduction {
    /// Packets that may be sent on an acknowledgement of `acknowledged` packets, with `pipe` packets in flight. `safe`: it
    /// acknowledges new data and reveals no further loss.
    pub(crate) fn permits(&self, ssthresh: u32, pipe: u32, acknowledged: u32, safe: bool) -> u32 {
        let permitted = if pipe > ssthresh {
            let share = u64::from(self.delivered) * u64::from(ssthresh);
            let due = share.div_ceil(u64::from(self.prior.max(1)));
            u32::try_from(due).unwrap_or(u32::MAX).saturating_sub(self.sent)
        } else {
            let catch_up = self.delivered.saturating_sub(self.sent).max(acknowledged);
            (ssthresh - pipe).min(catch_up + u32::from(safe))
        };
        permitted.max(u32::from(self.sent == 0)) // the first retransmission is forced
    }
}

#[cfg(test)]
mod tests {
    use super::RateReduction;

    #[test]
    fn above_ssthresh_what_leaves_is_in_proportion_to_what_arrives() {
        let reduction = RateReduction { prior: 20, delivered: 5, sent: 2 };
        assert_eq!(reduction.permits(10, 12, 1, true), 1); // 5 · 10 / 20, rounded up, and 2 have left
    }

    #[test]
    fn below_it_what_was_held_back_is_made_up_for_whether_the_acknowledgement_moves_on_or_not() {
        let behind = RateReduction { prior: 20, delivered: 12, sent: 5 };
        assert_eq!(behind.permits(10, 8, 1, false), 2); // no further than to ssthresh
        assert_eq!(behind.permits(10, 2, 1, false), 7);
        assert_eq!(behind.permits(10, 2, 1, true), 8);
    }

    #[test]
    fn with_nothing_to_make_up_for_it_is_one_for_one_and_one_more_where_nothing_else_is_lost() {
        let even = RateReduction { prior: 20, delivered: 12, sent: 12 };
        assert_eq!(even.permits(10, 4, 1, false), 1); // RFC 9937: conservative
        assert_eq!(even.permits(10, 4, 1, true), 2); // as fast as slow start
    }

    #[test]
    fn the_first_retransmission_is_not_held_back() {
        assert_eq!(RateReduction { prior: 20, delivered: 1, sent: 0 }.permits(2, 12, 1, false), 1);
    }
}
