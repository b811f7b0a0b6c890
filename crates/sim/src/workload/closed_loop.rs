//! Closed loop: a user fetches a file, thinks, fetches the next.
//!
//! *Idea.* The next file starts only when the last byte of the one before has been acknowledged and the user has thought:
//! a slow network is offered less. N users over a link of capacity C that is shared out fairly behave like a machine-repair
//! queue: below saturation a user's cycle is think + size / own rate, above it the link is full.
//! *Parameters.* `size` (bytes), `think` (seconds; from the end of one file to the start of the next; 0),
//! `new_connections` (each file has a connection of its own, with its handshake and its slow start), `files` (no end).
//! *Where it breaks.* The request that asks for a file is not sent: it would cost half a round trip more.
//! *References.* A. Feldmann et al., "Dynamics of IP traffic: a study of the role of variability and the impact of
//! control" (SIGCOMM 1999); M. Crovella and A. Bestavros (1997).

use super::dialogue::{Action, Converse, Described, Dialogue, Messages, Notice, Side};
use super::distribution::Distribution;
use super::distribution_reader::{SIZES, TIMES};
use crate::input::keys::{Key, Kind, key, needed, words};
use crate::input::{Field, Result, Table};
use crate::kernel::chance::Stream;
use paceline_core::Instant;

/// A user's habits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClosedLoop {
    /// Of a file, bytes.
    pub size: Distribution,
    /// From the end of one file to the start of the next, seconds.
    pub think: Distribution,
    /// A new connection for each file.
    pub new_connections: bool,
    /// Files to fetch; `None` goes on to the end.
    pub files: Option<u64>,
}

const CONNECTIONS: [(&str, bool); 2] = [("new", true), ("kept", false)];

impl Described for ClosedLoop {
    const KEYS: &'static [Key] = &[
        needed("size", SIZES, "of a file, drawn"),
        key("think", TIMES, "from a file's last acknowledgement to the next file, drawn; none unless given"),
        key("connection", Kind::Word(|| words(&CONNECTIONS)), "new for each file, or kept; new unless given"),
        key("files", Kind::Whole(1, u64::MAX), "after so many the user leaves; no end unless given"),
    ];

    fn read(table: &Table<'_>) -> Result<Self> {
        let size = table.needs("size", "{ pareto = { mean = \"100 KB\", shape = 1.2 } }", Field::sizes);
        Ok(ClosedLoop {
            think: Distribution::think(table)?,
            new_connections: table
                .optional("connection", |field| field.choice(&CONNECTIONS))?
                .unwrap_or(true),
            files: table.optional("files", |field| field.whole(1, u64::MAX))?,
            size: size?,
        })
    }
}

impl Dialogue for ClosedLoop {
    fn application(&self, seed: u64, flow: &str) -> Box<dyn Converse> {
        let stream = |what| Stream::of(seed, flow, what);
        Box::new(User { habits: *self, fetched: 0, sizes: stream("size"), thoughts: stream("think") })
    }

    fn messages(&self, _: Side) -> Messages {
        Messages { size: self.size, pause: self.think, most: self.files }
    }

    fn has_flow_back(&self) -> bool {
        false
    }

    fn replaces_connections(&self) -> bool {
        self.new_connections
    }
}

/// A user at work.
#[derive(Debug)]
pub(crate) struct User {
    habits: ClosedLoop,
    fetched: u64,
    sizes: Stream,
    thoughts: Stream,
}

impl Converse for User {
    fn notify(&mut self, notice: Notice, now: Instant, actions: &mut Vec<Action>) {
        match notice {
            Notice::Start => self.fetch(actions),
            Notice::Timer(side) => {
                if self.habits.new_connections {
                    actions.push(Action::Reopen(side));
                }
                self.fetch(actions);
            }
            Notice::Acknowledged(side) => {
                self.fetched += 1;
                if self.habits.files.is_none_or(|files| self.fetched < files) {
                    actions.push(Action::Wait(side, now + self.habits.think.draw_span(&mut self.thoughts)));
                }
            }
            Notice::Opened | Notice::Begun(_) | Notice::Delivered(_) => {}
        }
    }

    /// With the file under way the connection is over.
    fn has_no_more(&self, _: Side, _: usize) -> bool {
        self.habits.new_connections || self.habits.files.is_some_and(|files| self.fetched + 1 >= files)
    }
}

impl User {
    fn fetch(&mut self, actions: &mut Vec<Action>) {
        actions.push(Action::Write(Side::Opener, self.habits.size.draw_bytes(&mut self.sizes)));
    }
}
