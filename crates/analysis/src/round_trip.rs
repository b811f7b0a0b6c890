//! The round trip of a connection, from wherever it was captured.
//!
//! *Idea.* A capture point parts a round trip in two: out to one end and back, and out to the other and back. A handshake shows the whole,
//! from the SYN to the acknowledgement of its answer. Timestamps show either part: a packet's comes back as an echo. The
//! least of each part is kept, so that neither queues nor delayed acknowledgements are in it, and both are added.
//! *Where it breaks.* A clock of milliseconds gives several packets one timestamp, of which the first counts: a part then is up to a tick too long.
//! One timestamp a part is followed at a time. Where only one way was captured, there are no round trips.
//! *References.* RFC 7323; Kathie Nichols, pping; Jaiswal et al. 2004, "Inferring TCP Connection Characteristics Through Passive Measurements".

/// What one side has sent, as far as round trips are told by it.
#[derive(Debug, Clone, Copy, Default)]
struct Side {
    /// The timestamp that is followed, and when it passed, nanoseconds.
    followed: Option<(u32, u64)>,
    newest: Option<u32>,
    /// From here to the other side and back, at least, nanoseconds.
    least_ns: Option<u64>,
}

/// A connection's.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RoundTrip {
    sides: [Side; 2],
    handshake: Handshake,
}

#[derive(Debug, Clone, Copy, Default)]
enum Handshake {
    /// Nothing was seen of it yet.
    #[default]
    None,
    /// A SYN: whose, and when.
    Asked(usize, u64),
    /// Its answer too.
    Answered(usize, u64),
    /// How long it took, nanoseconds.
    Done(u64),
    /// A part of it was sent twice, or never seen.
    Lost,
}

impl RoundTrip {
    /// A SYN of a side; an answer to one acknowledges it.
    pub(super) fn syn(&mut self, side: usize, is_answer: bool, now_ns: u64) {
        self.handshake = match (self.handshake, is_answer) {
            (Handshake::None, false) => Handshake::Asked(side, now_ns),
            (Handshake::Asked(asked, at), true) if asked != side => Handshake::Answered(asked, at),
            (Handshake::Done(took), _) => Handshake::Done(took),
            _ => Handshake::Lost,
        };
    }

    /// Any other segment of a side that acknowledges.
    #[inline]
    pub(super) fn acknowledges(&mut self, side: usize, now_ns: u64) {
        match self.handshake {
            Handshake::Answered(asked, at) if asked == side => {
                self.handshake = Handshake::Done(now_ns.saturating_sub(at));
            }
            Handshake::None | Handshake::Asked(..) => self.handshake = Handshake::Lost,
            Handshake::Answered(..) | Handshake::Done(_) | Handshake::Lost => {}
        }
    }

    /// A segment of a side with timestamps.
    #[inline]
    pub(super) fn timestamps(&mut self, side: usize, value: u32, echo: u32, now_ns: u64) {
        let [first, second] = &mut self.sides;
        let (own, other) = if side == 0 { (first, second) } else { (second, first) };
        if own.newest.is_none_or(|newest| is_after(value, newest)) {
            own.newest = Some(value);
            own.followed = own.followed.or(Some((value, now_ns)));
        }
        let Some((followed, at)) = other.followed else { return };
        if echo == followed {
            let took = now_ns.saturating_sub(at);
            other.least_ns = Some(other.least_ns.map_or(took, |least| least.min(took)));
        }
        if echo == followed || is_after(echo, followed) {
            other.followed = None;
        }
    }

    /// By the handshake, nanoseconds; what waited in queues is in it.
    pub(super) fn of_handshake(&self) -> Option<u64> {
        match self.handshake {
            Handshake::Done(took) => Some(took),
            _ => None,
        }
    }

    /// By timestamps, nanoseconds.
    pub(super) fn of_timestamps(&self) -> Option<u64> {
        let [first, second] = self.sides.map(|side| side.least_ns);
        Some(first? + second?)
    }
}

/// Whether a timestamp is later than another, which wraps around (RFC 7323 section 5.2).
#[inline]
fn is_after(value: u32, other: u32) -> bool {
    (value.wrapping_sub(other) as i32) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_is_a_round_trip_from_anywhere() {
        for (answered, confirmed) in [(100, 100), (0, 100), (60, 100)] {
            let mut trip = RoundTrip::default();
            trip.syn(0, false, 0);
            trip.syn(1, true, answered);
            trip.acknowledges(1, answered + 1);
            trip.acknowledges(0, confirmed);
            trip.acknowledges(0, 500);
            assert_eq!(trip.of_handshake(), Some(100));
        }
    }

    #[test]
    fn a_syn_that_was_sent_twice_tells_nothing() {
        let mut trip = RoundTrip::default();
        trip.syn(0, false, 0);
        trip.syn(0, false, 1000);
        trip.syn(1, true, 1100);
        trip.acknowledges(0, 1200);
        assert_eq!(trip.of_handshake(), None);
    }

    #[test]
    fn timestamps_add_the_parts_on_either_side_of_the_capture() {
        let mut trip = RoundTrip::default();
        // 30 to the receiver and back, 70 to the sender and back; once with a delayed acknowledgement
        for (start, delayed) in [(0, 40), (1000, 0)] {
            let value = (u32::MAX - 500).wrapping_add(start as u32); // which wraps around
            trip.timestamps(0, value, 7, start);
            trip.timestamps(1, value.wrapping_add(9), value, start + 30 + delayed);
            trip.timestamps(0, value.wrapping_add(99), value.wrapping_add(9), start + 100 + delayed);
            trip.timestamps(1, value.wrapping_add(150), value.wrapping_add(99), start + 130 + delayed);
        }
        assert_eq!(trip.of_timestamps(), Some(100));
    }
}
