//! What an application writes to a connection, message by message, and how far each has come.
//!
//! *Idea.* A message is a run of packets; the last may be short. Three marks say at which packet something happens next: the
//! first packet of a message that has not begun, the end of the oldest that has not been delivered, the end of the oldest
//! that has not been acknowledged. A packet that reaches no mark costs a comparison; a bulk transfer is one message, and
//! one without end reaches none.

use paceline_core::{Instant, Span};
use std::collections::VecDeque;
use std::ops::Range;

/// Packet numbers at which something happens next, within the connection; `u32::MAX` is never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marks {
    /// When this packet is sent, a message begins.
    pub(crate) send: u32,
    /// When all before this packet are delivered, a message is.
    pub(crate) deliver: u32,
    /// When all before this packet are acknowledged, a message is.
    pub(crate) acknowledge: u32,
}

impl Marks {
    pub(crate) const NEVER: Marks = Marks { send: u32::MAX, deliver: u32::MAX, acknowledge: u32::MAX };
}

/// A message whose last byte has been acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The application gave it: a connection that had to be opened first, opens from then on.
    pub started: Instant,
    /// Its first byte was sent.
    pub data_from: Instant,
    /// From its start to the acknowledgement of its last byte.
    pub took: Span,
    /// Payload, bytes.
    pub bytes: u64,
}

impl Transfer {
    /// When it was complete.
    pub fn finished(&self) -> Instant {
        self.started + self.took
    }

    /// From its first byte sent to the acknowledgement of its last.
    pub fn data_took(&self) -> Span {
        self.finished().since(self.data_from)
    }
}

/// The messages of one direction of a connection.
#[derive(Debug)]
pub(crate) struct Messages {
    pub(crate) marks: Marks,
    /// Given and not yet acknowledged, in order.
    queue: VecDeque<Message>,
    /// How many of these have begun, and how many have been delivered.
    begun: usize,
    delivered: usize,
    /// Packets that open the connection, while the application waits for them to be there.
    opening: u32,
    /// Of full packets delivered, bytes that were not in them: their last packets were short.
    pub(crate) lacking: u64,
    /// Complete transfers.
    pub(crate) transfers: Vec<Transfer>,
}

#[derive(Debug, Clone, Copy)]
struct Message {
    first: u32,
    end: u32,
    bytes: u64,
    /// Payload of `end - first` full packets, less `bytes`.
    lacking: u64,
    started: Instant,
    /// Once it has begun.
    data_from: Instant,
}

impl Messages {
    pub(crate) const fn new() -> Self {
        Messages {
            marks: Marks::NEVER,
            queue: VecDeque::new(),
            begun: 0,
            delivered: 0,
            opening: 0,
            lacking: 0,
            transfers: Vec::new(),
        }
    }

    /// The application writes a message, now: these packets, each of `payload` bytes at most, `bytes` in all.
    pub(crate) fn push(&mut self, packets: Range<u32>, payload: u32, bytes: u64, now: Instant) {
        let Range { start: first, end } = packets;
        if self.queue.capacity() == 0 {
            self.queue.reserve_exact(1); // many have but one
        }
        let lacking = (u64::from(end - first) * u64::from(payload)).saturating_sub(bytes);
        self.queue.push_back(Message { first, end, bytes, lacking, started: now, data_from: now });
        self.set_marks();
    }

    /// The application wants to know when the first `packets` are there.
    pub(crate) fn open(&mut self, packets: u32) {
        self.opening = packets;
        self.set_marks();
    }

    /// All before `next` are delivered: whether that opens the connection for one who waits for it.
    pub(crate) fn on_opened(&mut self, next: u32) -> bool {
        let opened = self.opening > 0 && self.opening <= next;
        if opened {
            self.opening = 0;
            self.set_marks();
        }
        opened
    }

    /// A packet at or beyond the first mark is sent for the first time: messages begin.
    pub(crate) fn on_sent(&mut self, seq: u32, now: Instant) {
        while let Some(message) = self.queue.get_mut(self.begun)
            && message.first <= seq
        {
            message.data_from = now;
            self.begun += 1;
        }
        self.set_marks();
    }

    /// All before `next` are delivered: how many messages that completes.
    pub(crate) fn on_delivered(&mut self, next: u32) -> u32 {
        let before = self.delivered;
        while let Some(message) = self.queue.get(self.delivered)
            && message.end <= next
        {
            self.lacking += message.lacking;
            self.delivered += 1;
        }
        self.set_marks();
        (self.delivered - before) as u32
    }

    /// All before `next` are acknowledged: how many messages that completes. They are transfers of their own if `counted`.
    pub(crate) fn on_acknowledged(&mut self, next: u32, now: Instant, counted: bool) -> u32 {
        let mut complete = 0;
        while let Some(message) = self.queue.front()
            && message.end <= next
        {
            let Message { started, data_from, bytes, .. } = *message;
            if counted {
                self.transfers.push(Transfer { started, data_from, took: now.since(started), bytes });
            }
            self.queue.pop_front();
            (self.begun, self.delivered) = (self.begun - 1, self.delivered - 1);
            complete += 1;
        }
        self.set_marks();
        complete
    }

    /// How many messages the application has given so far, where each is a transfer.
    pub(crate) fn given(&self) -> usize {
        self.transfers.len() + self.queue.len()
    }

    fn set_marks(&mut self) {
        let never = u32::MAX;
        self.marks = Marks {
            send: self.queue.get(self.begun).map_or(never, |message| message.first),
            deliver: if self.opening > 0 {
                self.opening
            } else {
                self.queue.get(self.delivered).map_or(never, |message| message.end)
            },
            acknowledge: self.queue.front().map_or(never, |message| message.end),
        };
    }
}
