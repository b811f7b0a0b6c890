//! When to look at the senders that run by themselves next.
//!
//! *Idea.* A sender whose ways are its own (`Tcp::is_free`) needs no other flow's order: what its timers and its
//! acknowledgements do depends on their own times alone, and what it sends waits for a link that runs in windows. So its
//! timers are not events in the calendar. The agenda says in which window a timer of a flow may run out, to no closer order
//! than that; the flow then catches up with all of them. An entry may be early, where acknowledgements have put the timer
//! off since: the flow then gets another. Each of a flow's two timers has its own, as the one is set for the next packet
//! and the other for a second away.

use super::Engine;
use super::exits::{PacingTimer, RetransmissionTimer};
use super::routes::STAGED;
use crate::flow::{IN_STEP, Source, Tcp};
use crate::packet::{Event, Kind};
use paceline_core::Instant;
use std::collections::BTreeMap;

/// Buckets of the near future.
const NEAR: u64 = 256;

/// Width of a bucket at least, nanoseconds.
const LEAST_BUCKET: u64 = 1 << 10;

/// A flow, and when to look at it.
type Entry = (Instant, u32);

/// Entries by time, in buckets of about half a window.
#[derive(Debug)]
pub(super) struct Agenda {
    /// log2 of the width of a bucket, nanoseconds.
    shift: u32,
    /// The first bucket, counted from time zero, that has not been emptied for good.
    first: u64,
    near: Vec<Vec<Entry>>,
    far: BTreeMap<u64, Vec<Entry>>,
}

impl Agenda {
    /// Nothing yet, for windows of this length in nanoseconds.
    pub(super) fn new(window: u64) -> Self {
        let mut near = Vec::new();
        near.resize_with(NEAR as usize, Vec::new);
        Agenda { shift: (window / 2).max(LEAST_BUCKET).ilog2(), first: 0, near, far: BTreeMap::new() }
    }

    #[inline]
    fn push(&mut self, entry: Entry) {
        let bucket = (entry.0.as_nanos() >> self.shift).max(self.first);
        if bucket - self.first < NEAR {
            self.near[(bucket % NEAR) as usize].push(entry);
        } else {
            self.push_far(bucket, entry);
        }
    }

    #[inline(never)]
    fn push_far(&mut self, bucket: u64, entry: Entry) {
        self.far.entry(bucket).or_default().push(entry);
    }

    /// There is an entry for each of the flow's timers from now on, or an earlier one.
    #[inline(always)]
    pub(super) fn note(&mut self, flow: u32, tcp: &mut Tcp) {
        let due = tcp.sender.retransmission_due();
        if due < tcp.retransmission_event {
            tcp.retransmission_event = due;
            self.push((due, flow));
        }
        let due = tcp.sender.pacing_due();
        if due < tcp.pacing_event {
            tcp.pacing_event = due;
            self.push((due, flow));
        }
    }

    /// Moves the entries before `end` to `due`.
    fn take_before(&mut self, end: Instant, due: &mut Vec<Entry>) {
        let last = end.as_nanos() >> self.shift;
        while self.first < last {
            due.append(&mut self.near[(self.first % NEAR) as usize]);
            let is_long = last - self.first > NEAR / 16;
            let jumps = is_long && self.near.iter().all(Vec::is_empty);
            let far = self.far.first_key_value().map_or(last, |(&bucket, _)| bucket.min(last));
            self.advance_to(if jumps { far.max(self.first + 1) } else { self.first + 1 });
        }
        due.extend(self.near[(last % NEAR) as usize].extract_if(.., |(at, _)| *at < end));
    }

    fn advance_to(&mut self, bucket: u64) {
        self.first = bucket;
        while let Some(far) = self.far.first_entry().filter(|far| *far.key() < bucket + NEAR) {
            let place = (*far.key() % NEAR) as usize;
            self.near[place].append(&mut far.remove());
        }
    }

    /// The first entry's time.
    fn next_at(&self) -> Option<Instant> {
        let near = (self.first..self.first + NEAR).map(|bucket| &self.near[(bucket % NEAR) as usize]);
        let first = near.chain(self.far.values()).find(|bucket| !bucket.is_empty())?;
        first.iter().map(|(at, _)| *at).min()
    }
}

impl Tcp {
    /// When the first of its sender's timers runs out; [`Instant::MAX`] is never.
    #[inline(always)]
    pub(crate) fn next_timer(&self) -> Instant {
        self.sender.retransmission_due().min(self.sender.pacing_due())
    }
}

impl Engine<'_> {
    /// When something next happens at a host, or may.
    pub(super) fn next_at(&mut self) -> Option<Instant> {
        self.calendar.next_at().into_iter().chain(self.agenda.next_at()).min()
    }

    /// Senders that run by themselves catch up with their timers before `end`.
    pub(super) fn keep_agenda(&mut self, end: Instant) -> bool {
        let mut due = std::mem::take(&mut self.due);
        self.agenda.take_before(end, &mut due);
        let is_idle = due.is_empty();
        for (at, id) in due.drain(..) {
            self.catch_up(id, at, end);
        }
        self.due = due;
        is_idle
    }

    /// The same by way of the inbox, flow by flow.
    pub(super) fn put_agenda(&mut self, end: Instant, inbox: &mut Vec<Event>) {
        self.agenda.take_before(end, &mut self.due);
        let timer = |(at, id)| Event::of_flow(at, 0, Kind::RetransmissionTimer, id);
        inbox.extend(self.due.drain(..).map(timer));
    }

    /// A sender runs up to `end`, unless acknowledgements wait in the calendar, which may come before, or data that bring some.
    pub(super) fn catch_up_if_none_waits(&mut self, id: u32, at: Instant, end: Instant) {
        if self.flows[id as usize].waiting.iter().all(|waiting| waiting % IN_STEP == 0) {
            self.catch_up(id, at, end);
        } else {
            self.agenda.push((at, id));
        }
    }

    /// A sender that runs by itself, and of which there was an entry for this time, runs up to `end`.
    pub(super) fn catch_up(&mut self, id: u32, at: Instant, end: Instant) {
        let Source::Tcp(tcp) = &mut self.flows[id as usize].source else { return };
        if tcp.pacing_event == at {
            tcp.pacing_event = Instant::MAX;
        } else if tcp.retransmission_event == at {
            tcp.retransmission_event = Instant::MAX;
        } else {
            return;
        }
        if tcp.next_timer() < end {
            self.run_timers_out(id, end);
            self.note_in_agenda(id);
        } else {
            self.agenda.note(id, tcp); // acknowledgements have put it off
        }
    }

    /// A flow that runs by itself: its timers before `end` run out, in their order.
    #[inline(never)]
    pub(super) fn run_timers_out(&mut self, id: u32, end: Instant) {
        let now = self.now;
        while let Source::Tcp(tcp) = &self.flows[id as usize].source
            && tcp.next_timer() < end
        {
            self.now = tcp.next_timer();
            if tcp.sender.retransmission_due() == self.now {
                self.run_retransmission_timer_out(id);
            } else {
                self.drive(id, PacingTimer);
            }
        }
        self.now = now;
    }

    #[inline(never)]
    fn run_retransmission_timer_out(&mut self, id: u32) {
        self.drive(id, RetransmissionTimer);
    }

    /// See [`Agenda::note`].
    #[inline(always)]
    pub(super) fn note_in_agenda(&mut self, id: u32) {
        if let Source::Tcp(tcp) = &mut self.flows[id as usize].source {
            self.agenda.note(id, tcp);
        }
    }

    /// What the flow at this position sends reaches no host within the window in which it is sent.
    fn passes_a_stage(&self, position: usize) -> bool {
        let is_staged = |entry: &u32| *entry != u32::MAX && *entry & STAGED != 0;
        let way = self.routes.chunks(self.stride.max(1)).nth(position);
        let data = way.map(|way| &way[..usize::from(self.ack_hop)]);
        data.is_none_or(|way| way.iter().any(is_staged)) // flows of a part have no routes: each passes one
    }

    /// Which flows run by themselves, from now on, with windows of this length in nanoseconds; `None` is none.
    pub(super) fn set_free(&mut self, window: Option<u64>) {
        self.agenda = Agenda::new(window.unwrap_or(1));
        for position in 0..self.flows.all().len() {
            let is_free = window.is_some() && self.passes_a_stage(position);
            let flow = &mut self.flows.list[position];
            let is_free = is_free && flow.may_be_free();
            let id = (self.flows.first + position) as u32;
            if let Source::Tcp(tcp) = &mut flow.source
                && (tcp.is_free || is_free)
            {
                tcp.is_free = is_free;
                (tcp.retransmission_event, tcp.pacing_event) = (Instant::MAX, Instant::MAX);
                self.schedule_timers(id);
            }
            let flow = &mut self.flows.list[position];
            flow.plain = if window.is_some() { flow.plain_ends() } else { [false; 2] };
        }
    }
}
