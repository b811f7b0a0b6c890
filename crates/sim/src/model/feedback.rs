//! What acknowledgements on their way carry beside their number.
//!
//! *Idea.* An acknowledgement needs no time of sending, so its [`Packet::sent`](crate::kernel::packet::Packet::sent) carries the
//! echoed time instead; or up to three SACK blocks near its number, where that time is not used; or else the place
//! where all this is kept until it arrives or is dropped. A path without holes, or with short ones, keeps nothing here.

use paceline_core::Instant;
use paceline_tcp::{Block, Feedback};

/// Marks what is no time: those end before this.
const MARK: u64 = 1 << 63;
/// With the mark: a place. Else blocks.
const PLACE: u64 = MARK | 1 << 62;
/// Blocks that lie in the packet, and the bits of each: of how far it is from the acknowledgement's number, and of how long.
const PACKED: u32 = 3;
const BITS: u32 = 20;
const HALF: u32 = BITS / 2;

/// The feedback of one connection's acknowledgements under way.
#[derive(Debug, Default)]
pub(crate) struct FeedbackInFlight(Option<Box<Kept>>);

/// Places, and which of them are free.
#[derive(Debug, Default)]
struct Kept {
    places: Vec<Feedback>,
    free: Vec<u32>,
}

impl FeedbackInFlight {
    pub(crate) const NONE: FeedbackInFlight = FeedbackInFlight(None);

    /// What the acknowledgement of all before `next` carries for `sent`, if it needs no place here.
    #[inline]
    pub(crate) fn carried(feedback: &Feedback, next: u32, needs_echo: bool) -> Option<Instant> {
        match feedback.blocks() {
            [] => Some(feedback.echo),
            _ if needs_echo => None,
            blocks => Some(Instant::from_nanos(MARK | pack(blocks, next)?)),
        }
    }

    /// Keeps it: what the acknowledgement carries then.
    pub(crate) fn keep(&mut self, feedback: Feedback) -> Instant {
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
        Instant::from_nanos(PLACE | u64::from(place))
    }

    /// An acknowledgement that carries this has a number and a time, and no more.
    #[inline(always)]
    pub(crate) fn is_a_time(sent: Instant) -> bool {
        sent.as_nanos() & MARK == 0
    }

    /// The contents of an acknowledgement of all before `next` that carries `sent`: the echoed time and the blocks, for which there
    /// is `room`.
    #[inline]
    pub(crate) fn read<'a>(
        &'a self,
        sent: Instant,
        next: u32,
        room: &'a mut Feedback,
    ) -> (Instant, &'a [Block]) {
        let carried = sent.as_nanos();
        match &self.0 {
            _ if carried & MARK == 0 => (sent, &[]),
            Some(kept) if carried & PLACE == PLACE => {
                let feedback = &kept.places[carried as u32 as usize];
                (feedback.echo, feedback.blocks())
            }
            _ => {
                unpack(carried, next, room);
                (room.echo, room.blocks())
            }
        }
    }

    /// The acknowledgement has been read, or is lost.
    #[inline]
    pub(crate) fn release(&mut self, sent: Instant) {
        if sent.as_nanos() & PLACE == PLACE
            && let Some(kept) = &mut self.0
        {
            kept.free.push(sent.as_nanos() as u32);
        }
    }
}

/// Blocks in few bits, if they fit.
fn pack(blocks: &[Block], next: u32) -> Option<u64> {
    if blocks.len() > PACKED as usize {
        return None;
    }
    let mut packed = 0;
    for (place, &Block { start, end }) in (0..).zip(blocks) {
        let (distance, length) = (start.checked_sub(next)?, end.checked_sub(start)?);
        if distance.max(length) >> HALF != 0 || length == 0 {
            return None;
        }
        packed |= u64::from(distance << HALF | length) << (place * BITS);
    }
    Some(packed)
}

fn unpack(packed: u64, next: u32, room: &mut Feedback) {
    for place in 0..PACKED {
        let block = (packed >> (place * BITS)) as u32;
        let (distance, length) = (block >> HALF & ((1 << HALF) - 1), block & ((1 << HALF) - 1));
        if length == 0 {
            break;
        }
        let start = next.wrapping_add(distance);
        room.push(Block { start, end: start.wrapping_add(length) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_are_used_again() {
        let mut under_way = FeedbackInFlight::default();
        let echo = Feedback::new(Instant::from_nanos(7));
        let mut room = Feedback::default();
        assert_eq!(FeedbackInFlight::carried(&echo, 0, true), Some(echo.echo));
        assert_eq!(under_way.read(echo.echo, 0, &mut room), (echo.echo, &[][..]));
        for round in 0..3 {
            let holes: Vec<Feedback> = (0..4)
                .map(|start| {
                    let mut feedback = echo;
                    feedback.push(Block { start, end: start + 1 + round });
                    feedback
                })
                .collect();
            let places: Vec<Instant> = holes.iter().map(|feedback| under_way.keep(*feedback)).collect();
            for (place, feedback) in places.into_iter().zip(holes) {
                let mut room = Feedback::default();
                let read = under_way.read(place, 0, &mut room);
                assert_eq!(read, (feedback.echo, feedback.blocks()));
                under_way.release(place);
            }
        }
        assert_eq!(under_way.0.map(|kept| kept.places.len()), Some(4));
    }

    proptest! {
        #[test]
        fn blocks_come_out_as_they_went_in(
            next in prop_oneof![0..5000_u32, u32::MAX - 5000..u32::MAX - 3000],
            blocks in prop::collection::vec((0..1100_u32, 0..1100_u32), 1..=4),
        ) {
            let mut feedback = Feedback::default();
            for (distance, length) in &blocks {
                let start = (next + distance).saturating_sub(10);
                feedback.push(Block { start, end: start + length });
            }
            let mut under_way = FeedbackInFlight::default();
            let carried = FeedbackInFlight::carried(&feedback, next, false);
            let sent = carried.unwrap_or_else(|| under_way.keep(feedback));
            let fits = |block: &Block| {
                (next..next + 1024).contains(&block.start) && (1..1024).contains(&(block.end - block.start))
            };
            let packed = blocks.len() <= 3 && feedback.blocks().iter().all(fits);
            prop_assert_eq!(under_way.0.is_none(), packed);
            let mut room = Feedback::default();
            prop_assert_eq!(under_way.read(sent, next, &mut room).1, feedback.blocks());
        }
    }
}
