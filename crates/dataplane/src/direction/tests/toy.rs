//! A port whose frames, time and troubles are a test's: what comes is in a list, what leaves is written down.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::rc::Rc;

use paceline_core::{Instant, Span};

use crate::lane::Frame;
use crate::port::{Port, Refusal, Sent};
use crate::sys::kernel::{BATCH, Kernel, Read};

/// What asking for the time takes, nanoseconds.
const TICK: u64 = 100;
/// No test takes as many.
const MOST_LOOKS: u64 = 3_000_000;
/// Where time begins.
pub(super) const BEGINNING: u64 = 1_000_000_000;

/// A sleep: whether a frame could end it, and how long it was to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slept {
    pub(super) at: u64,
    pub(super) is_wait: bool,
    pub(super) asked: u64,
}

/// A clock that goes on as it is looked at, and wakes up late if a test says so.
#[derive(Debug, Clone, Default)]
pub(super) struct Clock {
    ns: Rc<Cell<u64>>,
    looks: Rc<Cell<u64>>,
    pub(super) late: Rc<Cell<u64>>,
    pub(super) slept: Rc<RefCell<Vec<Slept>>>,
}

impl Clock {
    pub(super) fn new() -> Self {
        let clock = Clock::default();
        clock.ns.set(BEGINNING);
        clock
    }

    pub(super) fn ns(&self) -> u64 {
        self.ns.get()
    }

    pub(super) fn pass(&self, ns: u64) {
        self.looks.set(self.looks.get() + 1);
        assert!(self.looks.get() < MOST_LOOKS, "it does not end");
        self.ns.set(self.ns() + ns);
    }

    fn sleep(&self, is_wait: bool, asked: u64, until: u64) {
        self.slept.borrow_mut().push(Slept { at: self.ns(), is_wait, asked });
        self.ns.set(until.max(self.ns()) + self.late.get());
    }
}

impl Kernel for Clock {
    fn now(&self) -> Instant {
        self.pass(TICK);
        Instant::from_nanos(self.ns())
    }

    fn wall_offset(&self) -> i64 {
        0
    }

    fn processor_time_ns(&self) -> u64 {
        77
    }

    fn sleep_until(&self, at: Instant) {
        self.sleep(false, at.as_nanos().saturating_sub(self.ns()), at.as_nanos());
    }

    fn wait(&self, _: &OwnedFd, _: Span) -> bool {
        unreachable!("the port waits itself")
    }

    fn take_error(&self, _: &OwnedFd) -> i32 {
        0
    }

    fn read(&self, _: &OwnedFd, _: &mut [u8]) -> io::Result<Read> {
        unreachable!("no frame is beside a ring")
    }

    fn send(&self, _: &OwnedFd, _: &[IoSlice<'_>]) -> io::Result<usize> {
        unreachable!("the port sends itself")
    }

    fn has_carrier(&self, _: &OwnedFd) -> bool {
        true
    }

    fn packet_overflow(&self, _: &OwnedFd) -> io::Result<u64> {
        Ok(0)
    }

    fn kick(&self, _: &OwnedFd) -> io::Result<()> {
        Ok(())
    }

    fn xdp_dropped(&self, _: &OwnedFd) -> io::Result<u64> {
        Ok(0)
    }
}

/// What comes at a time.
#[derive(Debug, Clone, Copy)]
pub(super) enum Coming {
    /// So many frames of so many bytes, joined by an offload if there are several.
    Frames(u32, u32),
    Refused(Refusal),
}

/// What a call to send comes to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    /// It takes so many, and no more now.
    Takes(usize),
    /// The first is none that it sends.
    Rejects,
    /// The last goes first, which no port should do.
    Reverses,
}

/// The port.
#[derive(Debug)]
pub(super) struct Toy {
    pub(super) clock: Clock,
    pub(super) coming: VecDeque<(u64, Coming)>,
    next: u32,
    /// Frames that can be kept.
    pub(super) room: usize,
    pub(super) kept: Vec<u32>,
    pub(super) discarded: Vec<u32>,
    /// Those taken since the last end of a round, and not kept.
    in_ring: Vec<u32>,
    /// The kernel has taken these back: they must not leave.
    gone: Vec<u32>,
    /// Answers of the next calls; then it takes all.
    pub(super) answers: VecDeque<Answer>,
    /// Each that left, when, and its size.
    pub(super) left: Vec<(u32, u64, u32)>,
    pub(super) pending: VecDeque<Frame<u32>>,
    /// What is not taken stays with the port.
    pub(super) keeps_pending: bool,
    pub(super) overflow: u64,
    /// How often a round has ended.
    pub(super) rounds: u32,
    /// It says of each frame that it has left when it was due.
    pub(super) is_punctual: bool,
    /// A call to send takes so long, nanoseconds.
    pub(super) takes: u64,
}

impl Toy {
    pub(super) fn new(clock: &Clock, coming: impl IntoIterator<Item = (u64, Coming)>) -> Toy {
        Toy {
            clock: clock.clone(),
            coming: coming.into_iter().map(|(at, what)| (BEGINNING + at, what)).collect(),
            next: 0,
            room: 1000,
            kept: Vec::new(),
            discarded: Vec::new(),
            in_ring: Vec::new(),
            gone: Vec::new(),
            answers: VecDeque::new(),
            left: Vec::new(),
            pending: VecDeque::new(),
            keeps_pending: false,
            overflow: 0,
            rounds: 0,
            is_punctual: false,
            takes: 0,
        }
    }

    fn leave(&mut self, frame: &Frame<u32>, left: &mut dyn FnMut(&Frame<u32>, Instant)) {
        let now = self.clock.ns();
        self.left.push((frame.handle, now, frame.bytes));
        left(frame, if self.is_punctual { frame.due } else { Instant::from_nanos(now) });
        self.forget(frame.handle);
    }

    /// It must be somewhere, once.
    fn forget(&mut self, handle: u32) {
        let was_kept = self.kept.iter().position(|kept| *kept == handle).map(|at| self.kept.swap_remove(at));
        let was_new =
            self.in_ring.iter().position(|new| *new == handle).map(|at| self.in_ring.swap_remove(at));
        assert_ne!(was_kept.is_some(), was_new.is_some(), "frame {handle}");
    }
}

impl Port for Toy {
    type Handle = u32;
    type Kernel = Clock;

    fn kernel(&self) -> &Clock {
        &self.clock
    }

    fn receive(
        &mut self,
        most: usize,
        now: Instant,
        take: &mut dyn FnMut(&mut Self, Frame<u32>),
        refuse: &mut dyn FnMut(Refusal),
    ) -> usize {
        let mut count = 0;
        while count < most && self.coming.front().is_some_and(|(at, _)| *at <= now.as_nanos()) {
            let Some((at, what)) = self.coming.pop_front() else { break };
            count += 1;
            match what {
                Coming::Refused(why) => refuse(why),
                Coming::Frames(frames, bytes) => {
                    for _ in 0..frames {
                        let handle = self.next;
                        self.next += 1;
                        self.in_ring.push(handle);
                        take(self, Frame::new(handle, bytes, Instant::from_nanos(at)));
                    }
                }
            }
        }
        count
    }

    fn has_room(&self) -> bool {
        self.kept.len() < self.room
    }

    fn keep(&mut self, handle: &mut u32) {
        if self.kept.contains(handle) {
            return;
        }
        assert!(self.has_room());
        self.forget(*handle);
        self.kept.push(*handle);
    }

    fn send(
        &mut self,
        ready: &mut VecDeque<Frame<u32>>,
        may: &dyn Fn() -> bool,
        left: &mut dyn FnMut(&Frame<u32>, Instant),
    ) -> Sent {
        if !may() {
            return Sent::default();
        }
        self.clock.pass(self.takes);
        let mut sent = Sent::default();
        let most = match self.answers.pop_front() {
            Some(Answer::Takes(most)) => most,
            Some(Answer::Rejects) => {
                let frame = self.pending.pop_front().or_else(|| ready.pop_front());
                frame.into_iter().for_each(|frame| self.discard(frame.handle));
                return Sent { rejected: 1, ..sent };
            }
            Some(Answer::Reverses) => {
                while let Some(frame) = ready.pop_back() {
                    self.leave(&frame, left);
                    sent.packets += 1;
                }
                return sent;
            }
            None => usize::MAX,
        };
        sent.blocked = most != usize::MAX;
        for _ in 0..most.min(BATCH) {
            let Some(frame) = self.pending.pop_front().or_else(|| ready.pop_front()) else { break };
            self.leave(&frame, left);
            sent.packets += 1;
        }
        if sent.blocked && self.keeps_pending {
            for mut frame in ready.drain(..) {
                self.keep(&mut frame.handle);
                self.pending.push_back(frame);
            }
        }
        sent
    }

    fn pending(&self) -> usize {
        self.pending.len()
    }

    fn withdraw(&mut self) -> u64 {
        let all = std::mem::take(&mut self.pending);
        let count = all.len() as u64;
        all.into_iter().for_each(|frame| self.discard(frame.handle));
        count
    }

    fn discard(&mut self, handle: u32) {
        if !self.gone.contains(&handle) {
            self.forget(handle);
        }
        self.discarded.push(handle);
    }

    fn finish_round(&mut self) {
        self.rounds += 1;
        self.gone.append(&mut self.in_ring);
    }

    fn wait(&mut self, most: Span) {
        let end = self.clock.ns() + most.as_nanos();
        let comes = self.coming.front().map_or(u64::MAX, |(at, _)| *at);
        self.clock.sleep(true, most.as_nanos(), end.min(comes));
    }

    fn has_received(&self) -> bool {
        self.coming.front().is_some_and(|(at, _)| *at <= self.clock.ns())
    }

    fn overflowed(&mut self) -> u64 {
        std::mem::take(&mut self.overflow)
    }

    fn errors(&self) -> u64 {
        3
    }
}
