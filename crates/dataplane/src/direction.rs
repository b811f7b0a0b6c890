//! The loop that paces one direction.
//!
//! *Idea.* A round takes what has come in, lets the lane decide, and sends what is due. Between rounds the thread sleeps
//! until shortly before the next departure and spins from there: a timer alone would be tens of microseconds late. It never
//! spins or works for long without a sleep: a real-time thread that does is stopped by the kernel, for 50 ms a second.

mod ends;
mod orders;
mod rest;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use paceline_core::{Instant, Span};

use crate::bypass::Shared;
use crate::histogram::bump;
use crate::lane::{Admission, Frame, Lane, LaneSpec};
use crate::meters::{Cause, Meters, Second};
use crate::port::{Port, Refusal};
use crate::sys::kernel::Kernel;
pub(crate) use ends::open_on_panic;
pub use orders::Orders;
use orders::{ABANDON, STOP};
use rest::Rest;

/// Frames taken in a round: few enough that departures do not wait long for it.
const ROUND: usize = 64;
/// The longest sleep: so often the heartbeat is told.
const HEARTBEAT: Span = Span::from_millis(5);
/// The shortest sleep: less is not worth the call.
const SHORTEST: Span = Span::from_nanos(5_000);
/// How soon a full interface is tried again.
const RETRY: Span = Span::from_nanos(20_000);
/// How often the kernel is asked what it had to drop.
const ASK: Span = Span::from_millis(100);

/// One direction.
#[derive(Debug)]
pub struct Direction<P: Port> {
    pub(crate) port: P,
    lane: Lane<P::Handle>,
    ready: VecDeque<Frame<P::Handle>>,
    bypass: Option<Arc<Shared>>,
    meters: Arc<Meters>,
    orders: Arc<Orders>,
    /// How long before a departure the thread is awake.
    spin: Span,
    rest: Rest,
    asked: Instant,
    came: Second,
    went: Second,
    last_sent: u64,
    blocked: bool,
    /// It comes to its end: see [`Direction::drain`].
    drains: bool,
}

impl<P: Port> Direction<P> {
    /// One that has not begun.
    pub fn new(
        port: P,
        spec: LaneSpec,
        bypass: Option<Arc<Shared>>,
        meters: Arc<Meters>,
        orders: Arc<Orders>,
        spin: Span,
    ) -> Self {
        let now = port.kernel().now();
        Direction {
            port,
            lane: Lane::new(spec),
            ready: VecDeque::new(),
            bypass,
            meters,
            orders,
            spin,
            rest: Rest::new(now, false),
            asked: now,
            came: Second::new(now),
            went: Second::new(now),
            last_sent: 0,
            blocked: false,
            drains: false,
        }
    }

    /// Paces until it is told to stop, and drains. `realtime`: the thread has that priority. Where it panics, traffic passes.
    pub fn run(mut self, realtime: bool) {
        let _gate = open_on_panic(self.bypass.clone());
        self.begin(realtime);
        while self.step() {}
    }

    /// From now on frames are its.
    pub(crate) fn begin(&mut self, realtime: bool) {
        let now = self.now();
        self.rest = Rest::new(now, realtime);
        if let Some(bypass) = &self.bypass {
            bypass.reset(now);
        }
    }

    /// A round, and the wait until the next; `false` when it has come to its end.
    pub(crate) fn step(&mut self) -> bool {
        match self.orders.word.load(Ordering::Acquire) {
            0 => {}
            word if word & ABANDON != 0 => {
                self.abandon();
                return false;
            }
            word if word & STOP != 0 => {
                self.drain();
                return false;
            }
            #[cfg(debug_assertions)]
            word if word & orders::PANIC != 0 => unreachable!("a panic, as a test has asked for"),
            _ => self.change(),
        }
        let now = self.now();
        if self.round(now, ROUND) == 0 {
            self.pause();
        } else {
            self.rest_if_due(now);
        }
        true
    }

    #[inline]
    fn now(&self) -> Instant {
        self.port.kernel().now()
    }

    /// Takes what has come in and sends what is due; how many frames came in.
    fn round(&mut self, now: Instant, most: usize) -> usize {
        if let Some(bypass) = &self.bypass {
            bypass.beat(now);
            if bypass.is_tripped() {
                self.recover();
                return 0;
            }
        }
        self.lane.release(now, &mut self.ready);
        let received = self.receive(now, most);
        self.send();
        self.port.finish_round();
        self.report(now);
        received
    }

    fn receive(&mut self, now: Instant, most: usize) -> usize {
        let Direction { port, lane, ready, meters, came, .. } = self;
        let mut frames = 0;
        let mut take = |port: &mut P, frame: Frame<P::Handle>| {
            frames += 1;
            came.count(&meters.received, frame.bytes, frame.arrived);
            if !port.has_room() {
                meters.drop_for(Cause::Queue, 1);
                return port.discard(frame.handle);
            }
            match lane.arrive(frame, ready) {
                Admission::Taken => {}
                Admission::Flushed(count) => bump(&meters.flushed, count),
                Admission::Refused(frame) => {
                    meters.drop_for(Cause::Queue, 1);
                    return port.discard(frame.handle);
                }
            }
            if let Some(newest) = lane.newest_held() {
                port.keep(&mut newest.handle);
            }
        };
        let mut refused = 0;
        let mut refuse = |refusal| {
            refused += 1;
            meters.drop_for(cause(refusal), 1);
        };
        let received = port.receive(most, now, &mut take, &mut refuse);
        bump(&self.meters.cut, frames + refused - received as u64);
        received
    }

    /// Sends what is ready. What the interface has no room for stays, and goes first the next time.
    fn send(&mut self) {
        self.blocked = false;
        while !self.blocked && (!self.ready.is_empty() || self.port.pending() > 0) {
            if self.is_bypassed() {
                return;
            }
            self.send_batch();
        }
    }

    /// Traffic goes past it, or has: what it holds must not follow.
    #[inline]
    fn is_bypassed(&self) -> bool {
        is_bypassed(self.bypass.as_deref(), self.drains)
    }

    fn send_batch(&mut self) {
        let Direction { port, ready, meters, went, last_sent, bypass, drains, .. } = self;
        // Between this look and the kernel's beginning lie a few instructions: see `bypass`.
        let may = || !is_bypassed(bypass.as_deref(), *drains);
        let mut left = |frame: &Frame<P::Handle>, at: Instant| {
            went.count(&meters.sent, frame.bytes, at);
            let lateness = frame.lateness(at);
            let delay = at.since(frame.arrived);
            meters.delay.record(delay.as_nanos());
            meters.lateness.record(lateness.as_nanos());
            if delay > frame.bound {
                bump(&meters.deadline_misses, 1);
                if delay > frame.bound + lateness {
                    bump(&meters.unexplained_misses, 1);
                }
            }
            if frame.number < *last_sent {
                bump(&meters.reordered, 1);
            }
            *last_sent = frame.number;
        };
        let sent = port.send(ready, &may, &mut left);
        meters.drop_for(Cause::Rejected, sent.rejected);
        self.blocked = sent.blocked;
        if sent.blocked {
            bump(&self.meters.blocked, 1);
            self.keep_ready();
        }
    }

    /// Frames that could not be sent in their round are moved out of the ring.
    fn keep_ready(&mut self) {
        let mut kept = VecDeque::with_capacity(self.ready.len());
        for mut frame in self.ready.drain(..) {
            if self.port.has_room() {
                self.port.keep(&mut frame.handle);
                kept.push_back(frame);
            } else {
                self.meters.drop_for(Cause::Queue, 1);
                self.port.discard(frame.handle);
            }
        }
        self.ready = kept;
    }

    /// Waits for the next departure or arrival, whichever is first.
    fn pause(&mut self) {
        let now = self.now();
        if self.blocked {
            return self.sleep(now, RETRY);
        }
        let wakeup = self.lane.next_wakeup().unwrap_or(Instant::MAX);
        let sleep = (wakeup - self.spin).since(now).min(HEARTBEAT);
        if sleep > SHORTEST {
            self.port.wait(sleep);
            let woken = self.now();
            return self.rest.slept(now, woken);
        }
        if let Some(nap) = self.rest.nap(now, wakeup.since(now)) {
            return self.sleep(now, nap);
        }
        while !self.port.has_received() {
            let now = self.now();
            if now >= wakeup {
                return;
            }
            self.rest_if_due(now);
            std::hint::spin_loop();
        }
    }

    /// Sleeps a little if it has not for long.
    #[inline]
    fn rest_if_due(&mut self, now: Instant) {
        if let Some(rest) = self.rest.overdue(now) {
            self.sleep(now, rest);
        }
    }

    /// Sleeps so long, whatever comes in.
    fn sleep(&mut self, now: Instant, long: Span) {
        self.port.kernel().sleep_until(now + long);
        let woken = self.now();
        self.rest.slept(now, woken);
    }

    #[cold]
    fn change(&mut self) {
        let Some(spec) = self.orders.taken() else { return };
        let now = self.now();
        self.lane.change(spec, now, &mut self.ready);
    }

    fn ask_overflow(&mut self) {
        self.asked = self.now();
        let overflowed = self.port.overflowed();
        self.meters.drop_for(Cause::Ring, overflowed);
        self.meters.socket_errors.store(self.port.errors(), Ordering::Relaxed);
        self.meters.processor_ns.store(self.port.kernel().processor_time_ns(), Ordering::Relaxed);
    }

    /// Tells the meters how things stand.
    fn report(&mut self, now: Instant) {
        if now.since(self.asked) > ASK {
            self.ask_overflow();
            self.came.advance(&self.meters.received, now);
            self.went.advance(&self.meters.sent, now);
        }
        let meters = &*self.meters;
        let waiting: u64 = self.ready.iter().map(|frame| u64::from(frame.bytes)).sum();
        meters.forgiven_ns.store(self.lane.forgiven().as_nanos(), Ordering::Relaxed);
        meters.held_packets.store(self.lane.held_packets() + self.ready.len() as u64, Ordering::Relaxed);
        meters.held_bytes.store(self.lane.held_bytes() + waiting, Ordering::Relaxed);
        if let Some(bypass) = &self.bypass {
            bypass.state().settled.store(meters.settled(), Ordering::Relaxed);
            bypass.state().dropped.store(meters.dropped_in_all(), Ordering::Relaxed);
        }
    }
}

#[inline]
fn is_bypassed(bypass: Option<&Shared>, drains: bool) -> bool {
    bypass.is_some_and(|bypass| match drains {
        true => !bypass.is_closed(),
        false => bypass.is_tripped(),
    })
}

/// What a frame that could not be taken is counted as.
fn cause(refusal: Refusal) -> Cause {
    match refusal {
        Refusal::TooLarge => Cause::TooLarge,
        Refusal::Lost => Cause::Ring,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says what went wrong")]
mod tests;
