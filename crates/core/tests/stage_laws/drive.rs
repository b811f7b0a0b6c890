//! A stage at work, and the laws that hold for all.

use paceline_core::pacer::{Backlog, Envelope, Pacer};
use paceline_core::queue::Queue;
use paceline_core::{Ecn, Instant, Packet, Span, Stage, Verdict};
use proptest::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Numbered {
    pub(crate) number: usize,
    pub(crate) bytes: u32,
    pub(crate) ecn: Ecn,
}

impl Numbered {
    /// The packet of that number: of three flows, two of which understand marks.
    fn new(number: usize, bytes: u32) -> Self {
        Numbered { number, bytes, ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][number % 3] }
    }
}

impl Packet for Numbered {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark(&mut self) {
        assert!(self.ecn.is_capable(), "only a packet that understands marks is marked");
        self.ecn = Ecn::Ce;
    }

    fn flow(&self) -> u32 {
        self.number as u32 % 3
    }
}

/// A stage that says what it holds.
pub(crate) trait Counted: Stage<Numbered> {
    /// Packets and bytes.
    fn held(&self) -> (u64, u64);

    /// The next that it has dropped beside its verdicts.
    fn take_dropped(&mut self) -> Option<Numbered> {
        None
    }

    /// How many packets it has marked.
    fn marks(&self) -> u64 {
        0
    }
}

impl Counted for Pacer<Numbered> {
    fn held(&self) -> (u64, u64) {
        (self.held_packets(), self.held_bytes())
    }
}

impl Counted for Queue<Numbered> {
    fn held(&self) -> (u64, u64) {
        (self.held_packets(), self.held_bytes())
    }

    fn take_dropped(&mut self) -> Option<Numbered> {
        let has_dropped = self.has_dropped();
        let dropped = Queue::take_dropped(self);
        assert_eq!(has_dropped, dropped.is_some());
        dropped.map(|(packet, _)| packet)
    }

    fn marks(&self) -> u64 {
        Queue::marks(self)
    }
}

/// What a stage promises beyond the laws that hold for all.
pub(crate) struct Promise<'a> {
    /// Longest stay of a packet that arrives to make up this backlog.
    pub(crate) delay: &'a dyn Fn(Backlog) -> Option<Span>,
    pub(crate) envelope: Option<Envelope>,
    pub(crate) keeps_order: bool,
    /// Whether it refuses a packet of that size on top of this backlog, if that depends on nothing else.
    pub(crate) refuses: &'a dyn Fn(Backlog, u32) -> Option<bool>,
}

/// What became of every packet: when it left.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Record {
    pub(crate) left: Vec<(usize, Instant)>,
    pub(crate) dropped: Vec<usize>,
    pub(crate) marked: Vec<usize>,
}

impl Record {
    /// A packet leaves; it is as it came, or marked.
    fn leaves(&mut self, packet: &Numbered, now: Instant) -> Law {
        self.left.push((packet.number, now));
        let came = Numbered::new(packet.number, packet.bytes);
        if packet.ecn != came.ecn {
            prop_assert_eq!(packet.ecn, Ecn::Ce);
            self.marked.push(packet.number);
        }
        Ok(())
    }

    /// What the stage has dropped since, beside its verdicts, is no longer held.
    fn drain<S: Counted>(&mut self, stage: &mut S, held: &mut Backlog) {
        while let Some(packet) = stage.take_dropped() {
            held.packets -= 1;
            held.bytes -= u64::from(packet.bytes);
            let came = Numbered::new(packet.number, packet.bytes);
            self.marked.extend((packet.ecn != came.ecn).then_some(packet.number));
            self.dropped.push(packet.number);
        }
    }
}

pub(crate) type Law = Result<(), TestCaseError>;

/// Drives a stage, each wake-up late by one of `lateness` in turn (on time if there are none), and checks the laws.
pub(crate) fn drive<S: Counted>(
    stage: &mut S,
    arrivals: &[(u64, u32)],
    lateness: &[u64],
    promise: &Promise<'_>,
) -> Result<Record, TestCaseError> {
    let mut record = Record::default();
    let mut bounds = vec![Span::MAX; arrivals.len()];
    let mut held = Backlog { packets: 0, bytes: 0, largest: 0 };
    let mut now = Instant::ZERO;
    let punctual = lateness.is_empty();
    let mut lateness = lateness.iter().cycle();
    let mut next = 0;
    loop {
        let arrival = arrivals.get(next).map(|(at, _)| Instant::from_nanos(*at));
        prop_assert_eq!(stage.held(), (held.packets, held.bytes), "it counts what it holds");
        let wakeup = stage.next_wakeup();
        prop_assert_eq!(
            wakeup.is_some(),
            held.packets > 0,
            "a wake-up while something is held, and only then"
        );
        let due = wakeup.map(|wakeup| wakeup + Span::from_nanos(lateness.next().copied().unwrap_or(0)));
        if let (Some(wakeup), Some(due)) = (wakeup, due)
            && arrival.is_none_or(|arrival| due <= arrival)
        {
            prop_assert!(!punctual || wakeup >= now, "never due in the past");
            if wakeup > now {
                let before = wakeup - Span::from_nanos(1);
                prop_assert_eq!(stage.dequeue(before), None, "nothing leaves before the wake-up");
            }
            now = now.max(due);
            while stage.next_wakeup().is_some_and(|wakeup| wakeup <= now) {
                let Some(packet) = stage.dequeue(now) else {
                    return Err(TestCaseError::fail("something leaves at the wake-up"));
                };
                record.drain(stage, &mut held);
                let stay = now.since(Instant::from_nanos(arrivals[packet.number].0));
                let allowed = bounds[packet.number];
                prop_assert!(!punctual || stay <= allowed, "held {stay}, promised {allowed}");
                held.packets -= 1;
                held.bytes -= u64::from(packet.bytes);
                record.leaves(&packet, now)?;
            }
        } else if let Some(&(at, bytes)) = arrivals.get(next) {
            now = now.max(Instant::from_nanos(at));
            let packet = Numbered::new(next, bytes);
            held.largest = held.largest.max(bytes);
            let refuses = (promise.refuses)(held, bytes);
            let verdict = stage.enqueue(packet, now);
            let refused = matches!(verdict, Verdict::Refused(_));
            prop_assert!(
                refuses.is_none_or(|refuses| refuses == refused),
                "it refuses what exceeds its limit"
            );
            match verdict {
                Verdict::Refused(refused) => {
                    prop_assert_eq!(refused, packet, "the refused packet is handed back");
                    record.dropped.push(next);
                }
                verdict => {
                    held.packets += 1;
                    held.bytes += u64::from(bytes);
                    if let Verdict::Displaced(older) = verdict {
                        prop_assert!(older.number < next, "what is displaced is older");
                        held.packets -= 1;
                        held.bytes -= u64::from(older.bytes);
                        record.dropped.push(older.number);
                    }
                    record.drain(stage, &mut held);
                    bounds[next] = (promise.delay)(held).unwrap_or(Span::MAX);
                }
            }
            next += 1;
        } else {
            break;
        }
    }
    prop_assert_eq!(
        record.left.len() + record.dropped.len(),
        arrivals.len(),
        "in = out + dropped + held (nothing)"
    );
    prop_assert_eq!(record.marked.len() as u64, stage.marks(), "it counts what it marks");
    let is_in_order = record.left.windows(2).all(|pair| pair[0].0 < pair[1].0);
    prop_assert!(is_in_order || !promise.keeps_order, "the order is kept");
    within_envelope(&record, arrivals, promise)?;
    Ok(record)
}

/// No interval sees more leave than the envelope allows, however late the wake-ups were.
pub(crate) fn within_envelope(record: &Record, arrivals: &[(u64, u32)], promise: &Promise<'_>) -> Law {
    let Some(envelope) = promise.envelope else { return Ok(()) };
    let burst = u128::from(envelope.burst) * 8_000_000_000;
    let rate = u128::from(envelope.rate.bits_per_second());
    for (first, &(_, from)) in record.left.iter().enumerate() {
        let mut sent = 0;
        for &(number, to) in &record.left[first..] {
            sent += u128::from(arrivals[number].1) * 8_000_000_000;
            let allowed = burst + u128::from(to.since(from).as_nanos() + 1) * rate;
            prop_assert!(sent <= allowed, "{} bytes in {}", sent / 8_000_000_000, to.since(from));
        }
    }
    Ok(())
}

/// All laws for one stage, made anew for each run.
pub(crate) fn laws<S: Counted>(
    make: impl Fn() -> S,
    arrivals: &[(u64, u32)],
    lateness: &[u64],
    promise: &Promise<'_>,
    drops: bool,
) -> Law {
    let punctual = drive(&mut make(), arrivals, &[], promise)?;
    let again = drive(&mut make(), arrivals, &[], promise)?;
    prop_assert_eq!(&punctual, &again, "the same input gives the same output");
    let late = drive(&mut make(), arrivals, lateness, promise)?;
    if !drops {
        prop_assert!(punctual.dropped.is_empty() && late.dropped.is_empty(), "no limit, no loss");
        if promise.envelope.is_none() {
            // Without an envelope of its own a stage makes up for a late wake-up, but never gets ahead.
            let ahead = punctual.left.iter().zip(&late.left).find(|(on_time, late)| late.1 < on_time.1);
            prop_assert_eq!(ahead, None, "a late wake-up makes nothing leave earlier");
        }
    }
    Ok(())
}
