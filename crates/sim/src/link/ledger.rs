//! A link with a limited buffer and a meter, and nothing else, serves a line: most packets of a run pass such a one.
//!
//! *Idea.* The queue says of each packet, in one loop over the line, what becomes of it; the ledger writes it down.

use super::fitted::is_recorded;
use super::window::{Note, Notes};
use super::{Buffer, Fitted, LinkCounters, Passage};
use crate::meter::Meter;
use crate::packet::Event;
use paceline_core::queue::{Booking, Clerk, Departure, Waited};
use paceline_core::{Instant, Span};

/// Whether all of fewer packets than these count is not worth a division. In tests two are many.
const MANY: usize = if cfg!(debug_assertions) { 2 } else { 64 };

/// What is written down while a line passes.
struct Ledger<'a> {
    delay: Span,
    out: &'a mut Vec<Event>,
    notes: &'a mut Notes,
    counters: &'a mut LinkCounters,
    meter: &'a mut Meter,
    record: Option<(Instant, Instant)>,
    /// All that passes counts alike: so many packets with so many bytes, so many of them data.
    count_alike: bool,
    passed: u64,
    bytes: u64,
    data: u64,
    /// When the first of the line arrives; by when all of it has left.
    times: (Instant, Instant),
}

impl Clerk<Event> for Ledger<'_> {
    fn counts_waiting_from(&self) -> Option<Instant> {
        self.meter.counts_together(self.times)
    }

    fn have_waited(&mut self, waited: &Waited<'_>) {
        self.meter.have_waited(waited);
    }

    #[inline(always)]
    fn waits(&mut self, bytes: u32, now: Instant) {
        self.meter.waits_elsewhere(bytes, now);
    }

    #[inline(always)]
    fn has_begun(&mut self, waited: Booking) {
        self.meter.starts(waited.bytes, waited.start);
    }

    #[inline(always)]
    fn arrives(&mut self, event: &Event, departure: Option<Departure>) {
        let (bytes, at) = (event.bytes, event.at);
        let Some(Departure { start, finish }) = departure else {
            self.counters.refuses(at);
            return self.notes.push((*event, Note::Refused));
        };
        if self.count_alike {
            self.passed += 1;
            self.bytes += u64::from(bytes);
            self.data += u64::from(!event.is_ack());
        } else {
            self.counters.passes(bytes, event.is_ack(), at, start, finish);
        }
        let arrival = finish + self.delay;
        if is_recorded(self.record, start) {
            self.notes.push((*event, Note::Passes(Passage { start, arrival, recorded: true })));
        }
        event.goes_on(arrival, self.out);
    }
}

impl Fitted {
    /// Serves a line: it comes to what [`Self::admit`] of each packet says.
    #[inline(never)]
    pub(super) fn fill(&mut self, line: &[Event], delay: Span, out: &mut Vec<Event>, notes: &mut Notes) {
        let Fitted { buffer: Buffer::Closed(queue), meter: Some(meter), counters, record, .. } = self else {
            return;
        };
        let (Some(first), Some(last)) = (line.first(), line.last()) else { return };
        let is_worth_it = line.len() >= MANY;
        let most = || line.iter().map(|event| event.bytes).max().map_or(0, u32::from);
        let latest = if is_worth_it { queue.latest(line.len(), most(), last.at) } else { Instant::MAX };
        let count_alike = is_worth_it && counters.count_alike(first.at, latest);
        let ledger = Ledger {
            times: (first.at, latest),
            delay,
            out,
            notes,
            counters,
            meter,
            record: *record,
            count_alike,
            passed: 0,
            bytes: 0,
            data: 0,
        };
        let ledger = queue.admit_all(line, |event| (u32::from(event.bytes), event.at), ledger);
        ledger.counters.passes_all(first.at, (ledger.passed, ledger.bytes, ledger.data));
    }
}
