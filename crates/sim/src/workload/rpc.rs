//! Remote procedure calls over a connection that is kept: a request, a response, perhaps a pause, the next request.
//!
//! *Idea.* The caller sends a request; when it is there whole, the answerer sends its response; when that is back whole,
//! the call is over. Both windows stay as they are from call to call. A call is one transfer: from the first byte of the
//! request sent to the last byte of the response received, and it carries both.
//! *Parameters.* `request`, `response` (bytes), `think` (seconds; from one call's end to the next; 0), `calls` (no end).
//! *Where it breaks.* One call at a time on a connection; more at once are more connections. Acknowledgements do not ride
//! on data, so each way carries 40 B more a packet than it would.
//! *References.* V. Vasudevan et al., "Safe and effective fine-grained TCP retransmissions for datacenter communication"
//! (SIGCOMM 2009).

use super::dialogue::{Action, Converse, Described, Dialogue, Messages, Notice, Side};
use super::distribution::Distribution;
use super::distribution_reader::{SIZES, TIMES};
use crate::input::keys::{Key, Kind, key, needed};
use crate::input::{Field, Result, Table};
use crate::kernel::chance::Stream;
use paceline_core::Instant;

/// What calls are like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rpc {
    /// Of a request, bytes.
    pub request: Distribution,
    /// Of a response, bytes.
    pub response: Distribution,
    /// From the end of one call to the start of the next, seconds.
    pub think: Distribution,
    /// Calls to make; `None` goes on to the end.
    pub calls: Option<u64>,
}

impl Described for Rpc {
    const KEYS: &'static [Key] = &[
        needed("request", SIZES, "size of a request, drawn"),
        needed("response", SIZES, "size of a response, drawn"),
        key("think", TIMES, "from the end of a call to the next, drawn; none unless given"),
        key("calls", Kind::Whole(1, u64::MAX), "after so many the caller stops; no end unless given"),
    ];

    fn read(table: &Table<'_>) -> Result<Self> {
        let request = table.needs("request", "\"200 B\"", Field::sizes);
        let response = table.needs("response", "\"20 KB\"", Field::sizes);
        Ok(Rpc {
            think: Distribution::think(table)?,
            calls: table.optional("calls", |field| field.whole(1, u64::MAX))?,
            request: request?,
            response: response?,
        })
    }
}

impl Dialogue for Rpc {
    fn application(&self, seed: u64, flow: &str) -> Box<dyn Converse> {
        let stream = |what| Stream::of(seed, flow, what);
        Box::new(Caller {
            spec: *self,
            made: 0,
            started: Instant::ZERO,
            data_from: Instant::ZERO,
            bytes: 0,
            requests: stream("request"),
            responses: stream("response"),
            thoughts: stream("think"),
        })
    }

    fn messages(&self, side: Side) -> Messages {
        match side {
            Side::Opener => Messages { size: self.request, pause: self.think, most: self.calls },
            Side::Answerer => {
                Messages { size: self.response, pause: Distribution::Fixed(0.0), most: self.calls }
            }
        }
    }

    fn has_flow_back(&self) -> bool {
        true
    }

    fn messages_are_transfers(&self) -> bool {
        false
    }

    /// Calls find the window that the last one left.
    fn keeps_window(&self) -> bool {
        true
    }
}

/// A caller and what it calls, at work.
#[derive(Debug)]
pub(crate) struct Caller {
    spec: Rpc,
    made: u64,
    /// The call under way began; and the first byte of its request was sent.
    started: Instant,
    data_from: Instant,
    /// Bytes of the call under way, both ways.
    bytes: u64,
    requests: Stream,
    responses: Stream,
    thoughts: Stream,
}

impl Converse for Caller {
    fn notify(&mut self, notice: Notice, now: Instant, actions: &mut Vec<Action>) {
        match notice {
            Notice::Start | Notice::Timer(_) => {
                let request = self.spec.request.draw_bytes(&mut self.requests);
                (self.bytes, self.started) = (request, now);
                actions.push(Action::Write(Side::Opener, request));
            }
            Notice::Begun(Side::Opener) => self.data_from = now,
            Notice::Delivered(Side::Opener) => {
                let response = self.spec.response.draw_bytes(&mut self.responses);
                self.bytes += response;
                actions.push(Action::Write(Side::Answerer, response));
            }
            Notice::Delivered(Side::Answerer) => {
                let (started, data_from, bytes) = (self.started, self.data_from, self.bytes);
                actions.push(Action::Complete { started, data_from, bytes });
                self.made += 1;
                if self.spec.calls.is_none_or(|calls| self.made < calls) {
                    actions.push(Action::Wait(
                        Side::Opener,
                        now + self.spec.think.draw_span(&mut self.thoughts),
                    ));
                }
            }
            Notice::Opened | Notice::Begun(Side::Answerer) | Notice::Acknowledged(_) => {}
        }
    }

    /// The call under way is the last.
    fn has_no_more(&self, _: Side, _: usize) -> bool {
        self.spec.calls.is_some_and(|calls| self.made + 1 >= calls)
    }
}
