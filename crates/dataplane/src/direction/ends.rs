//! Where a direction does not go on as it was: traffic has bypassed it, it comes to its end, gives up, or panics.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use paceline_core::Span;

use super::{Direction, HEARTBEAT, RETRY, ROUND, cause};
use crate::bypass::Shared;
use crate::histogram::bump;
use crate::lane::Frame;
use crate::meters::Cause;
use crate::port::Port;
use crate::sys::kernel::Kernel;
use crate::sys::on_panic::OnPanic;

/// How long a drain may take; what is still held then leaves at once.
const DRAIN: Span = Span::from_millis(2_000);

/// More than any ring holds.
const MOST_IN_RING: usize = 1 << 16;

impl<P: Port> Direction<P> {
    /// Traffic has bypassed: all that is held is older than what has passed, and must not follow it.
    #[cold]
    pub(super) fn recover(&mut self) {
        self.discard_all();
        let now = self.now();
        let Some(bypass) = &self.bypass else { return };
        bypass.reset(now);
        self.report(now);
    }

    fn discard_all(&mut self) {
        let Direction { port, lane, ready, meters, .. } = self;
        let (mut frames, mut arrivals) = (0, 0);
        let mut thrown = port.withdraw();
        for frame in ready.drain(..).chain(lane.take_back()) {
            thrown += 1;
            port.discard(frame.handle);
        }
        let mut count = 0;
        // where there is no bypass, what comes does not end
        for _ in 0..MOST_IN_RING / ROUND {
            let now = port.kernel().now();
            let mut take = |port: &mut P, frame: Frame<P::Handle>| {
                bump(&meters.received.packets, 1);
                bump(&meters.received.bytes, u64::from(frame.bytes));
                count += 1;
                port.discard(frame.handle);
            };
            let mut refuse = |refusal| {
                frames += 1;
                meters.drop_for(cause(refusal), 1);
            };
            let received = port.receive(ROUND, now, &mut take, &mut refuse);
            port.finish_round();
            arrivals += received as u64;
            if received == 0 {
                break;
            }
        }
        bump(&meters.cut, frames + count - arrivals);
        meters.drop_for(Cause::Outage, thrown + count);
        self.ask_overflow();
    }

    /// Gives up: what it holds is lost, and all that comes passes.
    #[cold]
    pub(super) fn abandon(&mut self) {
        if let Some(bypass) = &self.bypass {
            bypass.open();
        }
        self.discard_all();
        let now = self.now();
        self.report(now);
    }

    /// Takes no more, lets what is held leave on its time, or after [`DRAIN`] at once.
    pub(super) fn drain(&mut self) {
        let mut now = self.now();
        if let Some(bypass) = self.bypass.clone() {
            bypass.beat(now);
            if bypass.is_tripped() {
                self.discard_all();
                now = self.now();
            }
            bypass.close(now);
        }
        self.drains = true;
        // what is there; where there is no bypass, what comes does not end
        for _ in 0..MOST_IN_RING / ROUND {
            if self.receive(now, ROUND) == 0 {
                break;
            }
            self.send();
            self.port.finish_round();
            now = self.now();
        }
        let end = now + DRAIN;
        while !self.is_bypassed() {
            if let Some(bypass) = &self.bypass {
                bypass.beat(now);
            }
            self.lane.release(now, &mut self.ready);
            self.send();
            self.port.finish_round();
            let is_empty = self.lane.held_packets() == 0 && self.ready.is_empty() && self.port.pending() == 0;
            if is_empty || now >= end {
                break;
            }
            let retry = now + RETRY;
            let next = self.lane.next_wakeup().unwrap_or(retry).min(now + HEARTBEAT);
            self.port.kernel().sleep_until(if self.blocked { retry } else { next });
            now = self.now();
        }
        if self.is_bypassed() {
            self.discard_all();
        }
        let rest = self.lane.take_back();
        bump(&self.meters.flushed, rest.len() as u64);
        self.ready.extend(rest);
        self.send();
        let unsent = self.ready.len() as u64 + self.port.withdraw();
        self.meters.drop_for(Cause::Rejected, unsent);
        if let Some(bypass) = &self.bypass {
            let turned_away = bypass.state().turned_away.load(Ordering::Relaxed);
            self.meters.drop_for(Cause::Stopping, turned_away);
        }
        self.ask_overflow();
        let now = self.now();
        self.report(now);
    }
}

/// Lets all traffic pass if the thread that it is on panics.
pub(crate) fn open_on_panic(bypass: Option<Arc<Shared>>) -> OnPanic {
    OnPanic::new(move || bypass.iter().for_each(|bypass| bypass.open()))
}
