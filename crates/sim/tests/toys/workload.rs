//! Drip: a message of the same size again and again, the next one when the last has been acknowledged; then it is over.

use super::dialogue::{Action, Converse, Described, Dialogue, Messages, Notice, Side};
use super::distribution::Distribution;
use super::distribution_reader::SIZES;
use crate::input::keys::{Key, Kind, needed};
use crate::input::{Field, Result, Table};
use paceline_core::Instant;

/// How much, and how often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drip {
    /// Of a message.
    pub size: Distribution,
    /// Messages.
    pub times: u64,
}

impl Described for Drip {
    const KEYS: &'static [Key] = &[
        needed("size", SIZES, "of a message"),
        needed("times", Kind::Whole(1, 1000), "how many messages there are"),
    ];

    fn read(table: &Table<'_>) -> Result<Self> {
        let size = table.needs("size", "\"1 KB\"", Field::sizes);
        let times = table.needs("times", "3", |field| field.whole(1, 1000))?;
        Ok(Drip { size: size?, times })
    }
}

impl Dialogue for Drip {
    fn application(&self, _: u64, _: &str) -> Box<dyn Converse> {
        Box::new(Dripping { drip: *self, written: 0 })
    }

    fn messages(&self, _: Side) -> Messages {
        Messages { size: self.size, pause: Distribution::Fixed(0.0), most: Some(self.times) }
    }

    fn has_flow_back(&self) -> bool {
        false
    }
}

#[derive(Debug)]
struct Dripping {
    drip: Drip,
    written: u64,
}

impl Converse for Dripping {
    fn notify(&mut self, notice: Notice, _: Instant, actions: &mut Vec<Action>) {
        if matches!(notice, Notice::Start | Notice::Acknowledged(_)) && self.written < self.drip.times {
            self.written += 1;
            actions.push(Action::Write(Side::Opener, self.drip.size.mean() as u64));
        }
    }

    fn has_no_more(&self, _: Side, written: usize) -> bool {
        written as u64 >= self.drip.times
    }
}
