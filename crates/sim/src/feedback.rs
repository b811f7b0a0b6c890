//! What acknowledgements on their way say beside their number.
//!
//! *Idea.* An acknowledgement needs no time of sending, so its [`Packet::sent`](crate::packet::Packet::sent) carries the
//! echoed time instead, or, where there are SACK blocks, the place where they are kept until it arrives or is dropped. A
//! path without holes keeps nothing here.

use paceline_core::Instant;
use paceline_tcp::{Block, Feedback};

/// Marks a place; times end before this.
const PLACE_BIT: u64 = 1 << 63;

/// The feedback of one connection's acknowledgements under way.
#[derive(Debug, Default)]
pub(crate) struct FeedbackUnderWay(Option<Box<Kept>>);

/// Places, and which of them are free.
#[derive(Debug, Default)]
struct Kept {
    places: Vec<Feedback>,
    free: Vec<u32>,
}

impl FeedbackUnderWay {
    /// Keeps it if need be; what the acknowledgement carries for `sent`.
    #[inline]
    pub(crate) fn put(&mut self, feedback: Feedback) -> Instant {
        if feedback.blocks().is_empty() {
            return feedback.echo;
        }
        let kept = self.0.get_or_insert_default();
        let place = match kept.free.pop() {
            Some(place) => {
                kept.places[place as usize] = feedback;
                place
            }
            None => {
                kept.places.push(feedback);
                kept.places.len() as u32 - 1
            }
        };
        Instant::from_nanos(PLACE_BIT | u64::from(place))
    }

    /// What an acknowledgement that carries `sent` says: the echoed time and the blocks.
    #[inline]
    pub(crate) fn read(&self, sent: Instant) -> (Instant, &[Block]) {
        match &self.0 {
            Some(kept) if sent.as_nanos() & PLACE_BIT != 0 => {
                let feedback = &kept.places[sent.as_nanos() as u32 as usize];
                (feedback.echo, feedback.blocks())
            }
            _ => (sent, &[]),
        }
    }

    /// The acknowledgement has been read, or is lost.
    #[inline]
    pub(crate) fn release(&mut self, sent: Instant) {
        if sent.as_nanos() & PLACE_BIT != 0
            && let Some(kept) = &mut self.0
        {
            kept.free.push(sent.as_nanos() as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let mut under_way = FeedbackUnderWay::default();
        let echo = Feedback::new(Instant::from_nanos(7));
        let sent = under_way.put(echo);
        assert_eq!((sent, under_way.read(sent)), (echo.echo, (echo.echo, &[][..])));
        for round in 0..3 {
            let holes: Vec<Feedback> = (0..4)
                .map(|start| {
                    let mut feedback = echo;
                    feedback.push(Block { start, end: start + 1 + round });
                    feedback
                })
                .collect();
            let places: Vec<Instant> = holes.iter().map(|feedback| under_way.put(*feedback)).collect();
            for (place, feedback) in places.into_iter().zip(holes) {
                assert_eq!(under_way.read(place), (feedback.echo, feedback.blocks()));
                under_way.release(place);
            }
        }
        assert_eq!(under_way.0.map(|kept| kept.places.len()), Some(4));
    }
}
