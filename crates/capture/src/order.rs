//! Times that never run backwards.
//!
//! *Idea.* Several clocks, buffers and processors write one capture, so that a packet may be older than the one before it.
//! Such a packet counts at the time of the latest before it: what paces or counts sees time stand still for a moment. It is
//! noted how often that was, and by how much at most.
//! *Where it breaks.* A clock that was set back by much makes all that follows happen at once, until it has caught up.

/// One line of time.
///
/// ```
/// let mut order = paceline_capture::order::Order::default();
/// assert_eq!([5, 7, 4, 9].map(|time_ns| order.hold(time_ns)), [5, 7, 7, 9]);
/// assert_eq!((order.backwards, order.most_ns), (1, 3));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Order {
    latest_ns: u64,
    /// Packets that were older than one before them.
    pub backwards: u64,
    /// The most by which one was, nanoseconds.
    pub most_ns: u64,
}

impl Order {
    /// The time at which a packet counts, nanoseconds.
    #[inline]
    pub fn hold(&mut self, time_ns: u64) -> u64 {
        if time_ns < self.latest_ns {
            self.backwards += 1;
            self.most_ns = self.most_ns.max(self.latest_ns - time_ns);
        } else {
            self.latest_ns = time_ns;
        }
        self.latest_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stands_still_until_it_is_reached_again() {
        let mut order = Order::default();
        let held: Vec<u64> = [5, 7, 4, 6, 7, 9].map(|time| order.hold(time)).to_vec();
        assert_eq!(held, [5, 7, 7, 7, 7, 9]);
        assert_eq!((order.backwards, order.most_ns), (2, 3));
    }
}
