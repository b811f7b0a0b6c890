//! Files of traffic: where they are, how fast they play.

pub(super) use crate::input::file::{path, wrong};
use crate::input::keys::{Key, Kind, key};
use crate::input::{Result, Table};

/// How fast it plays.
pub(super) const SPEED: Key =
    key("speed", Kind::Number(0.0, 1e9), "so many times as fast as it was recorded; 1 unless given");

/// `speed`: how much faster than written the file plays; 1 unless given.
pub(super) fn speed(table: &Table<'_>) -> Result<f64> {
    let speed = table.optional("speed", |field| match field.number("a factor", 0.0, 1e9)? {
        0.0 => {
            Err(field.refused("would never begin; write a factor above 0, for example 2 for twice as fast"))
        }
        speed => Ok(speed),
    })?;
    Ok(speed.unwrap_or(1.0))
}
