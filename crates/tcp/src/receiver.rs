//! The receiver: what has arrived in order, and what waits for a gap to fill. Every packet is acknowledged at once.
//!
//! *Idea.* `next` is the acknowledgement number; a ring of bits after it says what has arrived beyond a gap. A path
//! without loss never touches the ring, and never allocates it.
//! *References.* RFC 9293; ns-2.35 tcp/tcp-sink.cc (`Acker::update`).

/// One connection's receiving end.
#[derive(Debug, Clone, Default)]
pub struct Receiver {
    /// The first packet not yet received in order: the cumulative acknowledgement.
    next: u32,
    /// One more than the highest packet ever received.
    end: u32,
    /// Bit `seq mod ring length` says that `seq`, beyond `next`, has arrived.
    ring: Vec<u64>,
}

impl Receiver {
    /// A receiver that has received nothing.
    pub fn new() -> Self {
        Receiver::default()
    }

    /// The first packet not yet received in order: what an acknowledgement carries.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Packet `seq` arrives: how many packets, it among them, are now delivered in order (0 for a duplicate or a gap).
    #[inline]
    pub fn on_data(&mut self, seq: u32) -> u32 {
        if seq == self.next && self.end <= seq {
            self.next = seq + 1;
            self.end = self.next;
            return 1;
        }
        self.on_data_with_gap(seq)
    }

    #[cold]
    fn on_data_with_gap(&mut self, seq: u32) -> u32 {
        if seq < self.next {
            return 0;
        }
        self.reserve(seq);
        self.end = self.end.max(seq + 1);
        self.set(seq, true);
        let before = self.next;
        while self.next < self.end && self.has(self.next) {
            self.set(self.next, false);
            self.next += 1;
        }
        self.next - before
    }

    /// Makes the ring long enough to tell `next` … `seq` apart.
    fn reserve(&mut self, seq: u32) {
        let needed = ((seq - self.next) as usize / 64 + 2).next_power_of_two();
        if needed > self.ring.len() {
            let held: Vec<u32> = (self.next..self.end).filter(|&seq| self.has(seq)).collect();
            self.ring.clear();
            self.ring.resize(needed, 0);
            held.into_iter().for_each(|seq| self.set(seq, true));
        }
    }

    fn has(&self, seq: u32) -> bool {
        !self.ring.is_empty() && self.ring[self.word(seq)] >> (seq % 64) & 1 == 1
    }

    fn set(&mut self, seq: u32, value: bool) {
        let word = self.word(seq);
        self.ring[word] = self.ring[word] & !(1 << (seq % 64)) | u64::from(value) << (seq % 64);
    }

    fn word(&self, seq: u32) -> usize {
        (seq / 64) as usize & (self.ring.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn agrees_with_a_set_over_random_arrivals() {
        let mut receiver = Receiver::new();
        let mut seen = BTreeSet::new();
        let mut next = 0;
        let mut state = 1_u64;
        for step in 0..200_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let span = if step % 1000 < 900 { 8 } else { 3000 };
            let seq = (next + (state >> 33) as u32 % span).saturating_sub(2);
            seen.insert(seq);
            let before = next;
            while seen.contains(&next) {
                next += 1;
            }
            assert_eq!(receiver.on_data(seq), next - before, "step {step}");
            assert_eq!(receiver.next(), next);
        }
    }
}
