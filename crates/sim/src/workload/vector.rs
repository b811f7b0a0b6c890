//! A connection vector played over a connection: both sides send what they sent, when they are ready to.
//!
//! *Idea.* In a sequential connection a unit follows the one before it: after its pause from when that was given to the
//! connection, if the same side sent it, or from when it was received whole. In a concurrent one each side keeps to its own
//! units. The acceptor sends nothing before the initiator's SYN has reached it.
//! *Where it breaks.* A side that pauses after sending counts from when it gave the data away, as Tmix in ns-2 does; on a
//! network slower than the one measured, units of one side then queue up in its sender.
//! *References.* [`super::cvec`].

use super::cvec::Vector;
use super::dialogue::{Action, Converse, Dialogue, Messages, Notice, Side};
use super::distribution::Distribution;
use paceline_core::{Instant, Span};
use std::sync::Arc;

impl Dialogue for Arc<Vector> {
    fn application(&self, _: u64, _: &str) -> Box<dyn Converse> {
        Box::new(Player::new(Arc::clone(self)))
    }

    /// The means; its pauses are divided among this side's messages.
    fn messages(&self, side: Side) -> Messages {
        let own = self.units.iter().filter(|unit| unit.side == side);
        let units = own.clone().count() as u64;
        let pauses: f64 = own.map(|unit| unit.wait.as_seconds()).sum();
        let mean = |sum: f64| Distribution::Fixed(sum / units.max(1) as f64);
        let size = mean(self.bytes()[side.index() as usize] as f64);
        Messages { size, pause: mean(pauses), most: Some(units) }
    }

    fn has_flow_back(&self) -> bool {
        true
    }

    fn is_concurrent(&self) -> bool {
        self.is_concurrent
    }
}

/// A connection vector at work.
#[derive(Debug)]
pub(crate) struct Player {
    vector: Arc<Vector>,
    /// The next unit: of both sides (in the first place) where they take turns, else of each.
    next: [usize; 2],
    /// Units of each side that have been given and not yet delivered.
    under_way: [u32; 2],
    /// The next unit waits until all that this side has sent is there.
    awaits: Option<Side>,
}

impl Converse for Player {
    fn notify(&mut self, notice: Notice, now: Instant, actions: &mut Vec<Action>) {
        match notice {
            Notice::Start => {
                actions.push(Action::Open);
                if self.begins(Side::Opener) {
                    self.proceed(Side::Opener, now, actions);
                }
            }
            Notice::Opened => {
                if self.begins(Side::Answerer) {
                    self.proceed(Side::Answerer, now, actions);
                }
            }
            Notice::Timer(side) => {
                self.say(side, actions);
                self.proceed(side, now, actions);
            }
            Notice::Delivered(side) => {
                let under_way = &mut self.under_way[side.index() as usize];
                *under_way -= 1;
                if *under_way == 0 && self.awaits == Some(side) {
                    self.awaits = None;
                    self.proceed(side.other(), now, actions);
                }
            }
            Notice::Begun(_) | Notice::Acknowledged(_) => {}
        }
    }

    /// This side has written all that it has.
    fn has_no_more(&self, side: Side, written: usize) -> bool {
        self.vector.units.iter().filter(|unit| unit.side == side).count() <= written
    }
}

impl Player {
    fn new(vector: Arc<Vector>) -> Self {
        let mut player = Player { vector, next: [0; 2], under_way: [0; 2], awaits: None };
        if player.vector.is_concurrent {
            for side in [Side::Opener, Side::Answerer] {
                player.next[side.index() as usize] = player.of_side(side, 0);
            }
        }
        player
    }

    /// Whether this side sends without having received from the other.
    fn begins(&self, side: Side) -> bool {
        self.vector.is_concurrent || self.vector.units.first().is_some_and(|unit| unit.side == side)
    }

    /// Sends all that `side` may send now, and sets its timer for what comes later.
    fn proceed(&mut self, side: Side, now: Instant, actions: &mut Vec<Action>) {
        while let Some(unit) = self.vector.units.get(self.next[self.place(side)]) {
            if unit.side != side {
                self.awaits = Some(side);
                return;
            }
            if unit.wait > Span::ZERO {
                actions.push(Action::Wait(side, now + unit.wait));
                return;
            }
            self.say(side, actions);
        }
    }

    /// Hands the next unit of `side` to its connection.
    fn say(&mut self, side: Side, actions: &mut Vec<Action>) {
        let place = self.place(side);
        let at = self.next[place];
        let Some(unit) = self.vector.units.get(at) else { return };
        actions.push(Action::Write(side, unit.bytes));
        self.under_way[side.index() as usize] += 1;
        self.next[place] = if self.vector.is_concurrent { self.of_side(side, at + 1) } else { at + 1 };
    }

    /// Where in `next` this side's unit is.
    fn place(&self, side: Side) -> usize {
        if self.vector.is_concurrent { side.index() as usize } else { 0 }
    }

    /// Position of the first unit of `side` from `from` on.
    fn of_side(&self, side: Side, from: usize) -> usize {
        let units = self.vector.units.iter().enumerate().skip(from);
        units.into_iter().find(|(_, unit)| unit.side == side).map_or(usize::MAX, |(at, _)| at)
    }
}
