//! One direction of a pacer: the stage that a simulated link has, and the frames that it holds.
//!
//! *Idea.* The stage holds a [`Token`] for each frame; the frames themselves wait beside it in a queue. Nothing leaves a
//! stage out of order, so the head of that queue is always what the stage lets go. That way frames can be taken back from
//! a stage that holds them: to flush it, to change its parameters, to throw them away.
//!
//! A frame's due time is the stage's, reckoned from the times of arrival, and does not depend on when the caller comes
//! round: what is late by accident does not make later frames late. Only a caller that is later than `CREDIT` has the rest
//! forgiven: a stall does not end in a burst that the method would not have let go.
//!
//! *Where it breaks.* Parameters are changed by letting the new stage see the arrivals of what is held: a token bucket begins
//! full, so that up to a burst leaves at once.

use std::collections::VecDeque;

use paceline_core::pacer::{Backlog, Method, Pacer, PacerSpec};
use paceline_core::{Instant, Packet, Rate, Span, Stage, Verdict};

/// Lateness of a caller that is made up for. It is well above what a busy machine's timer costs, and what leaves on top of
/// the method's own envelope is its rate times this.
const CREDIT: Span = Span::from_millis(1);

/// What a direction does when its queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overload {
    /// The frame that arrives is dropped.
    #[default]
    Drop,
    /// All that is held leaves at once, at the rate of the line.
    Flush,
}

impl Overload {
    /// Each and its name.
    pub const ALL: [(&'static str, Overload); 2] = [("drop", Overload::Drop), ("flush", Overload::Flush)];
}

/// What configures a direction.
#[derive(Debug, Clone, PartialEq)]
pub struct LaneSpec {
    /// The method and the queue's limit.
    pub pacer: PacerSpec,
    /// Rate of the line behind it, for methods that ask.
    pub line_rate: Rate,
    /// What happens at the limit.
    pub overload: Overload,
}

impl LaneSpec {
    /// The bound on delay that the method promises whatever is held; [`Span::MAX`] where it promises none.
    fn bound(&self) -> Span {
        let one = Backlog { packets: 1, bytes: 1, largest: 1 };
        match &self.pacer.method {
            method @ Method::Edge(_) => method.delay_bound(self.line_rate, one).unwrap_or(Span::MAX),
            _ => Span::MAX,
        }
    }
}

/// What a stage holds for a frame.
#[derive(Debug, Clone, Copy)]
pub struct Token {
    bytes: u32,
}

impl Packet for Token {
    #[inline]
    fn bytes(&self) -> u32 {
        self.bytes
    }
}

/// A frame on its way through.
#[derive(Debug)]
pub struct Frame<H> {
    /// When it arrived.
    pub arrived: Instant,
    /// When the stage was told of it: later than that only if the caller was late.
    pub admitted: Instant,
    /// When it should leave.
    pub due: Instant,
    /// What the method that let it go promises of its delay: the lane's may be another by the time that it has left.
    pub bound: Span,
    /// Its size, as the stage counts it.
    pub bytes: u32,
    /// Counts up from 1 in the order of admission.
    pub number: u64,
    /// What the back end knows it by.
    pub handle: H,
}

impl<H> Frame<H> {
    /// One that has arrived.
    pub fn new(handle: H, bytes: u32, arrived: Instant) -> Self {
        Frame { arrived, admitted: arrived, due: arrived, bound: Span::MAX, bytes, number: 0, handle }
    }

    /// How late it is if it leaves at `now`: what the stage did not ask for.
    ///
    /// ```
    /// # use paceline_core::{Instant, Span};
    /// # use paceline_dataplane::lane::Frame;
    /// let frame = Frame::new((), 1500, Instant::ZERO); // due at once
    /// assert_eq!(frame.lateness(Instant::from_nanos(7)), Span::from_nanos(7));
    /// ```
    pub fn lateness(&self, now: Instant) -> Span {
        self.admitted.since(self.arrived) + now.since(self.due)
    }
}

/// What became of a frame that arrived.
#[derive(Debug)]
pub enum Admission<H> {
    /// It is held, or ready.
    Taken,
    /// It is held or ready, and so many frames that were held leave before their time.
    Flushed(u64),
    /// The queue is full: the frame is handed back.
    Refused(Frame<H>),
}

/// One direction's stage and frames.
///
/// ```
/// use paceline_core::pacer::{self, parameters::Value};
/// use paceline_core::{Instant, Rate, Span};
/// use paceline_dataplane::lane::{Frame, Lane, LaneSpec, Overload};
/// use std::collections::VecDeque;
///
/// // Edge pacing with a bound of 10 ms: two frames of one burst leave within it, and not together.
/// let line_rate = Rate::from_bits_per_second(1_000_000_000);
/// let mut delay = |name: &str| (name == "delay").then(|| Value::Text("10 ms".into()));
/// let pacer = pacer::parse("edge", &mut delay, line_rate)?;
/// let mut lane = Lane::new(LaneSpec { pacer, line_rate, overload: Overload::Drop });
/// let mut ready = VecDeque::new();
/// for number in [1, 2] {
///     lane.arrive(Frame::new(number, 1500, Instant::ZERO), &mut ready);
/// }
/// lane.until(Instant::MAX, &mut ready);
/// let left: Vec<_> = ready.iter().map(|frame| (frame.handle, frame.due)).collect();
/// assert!(left[0].1 < left[1].1 && left[1].1 <= Instant::ZERO + Span::from_millis(10));
/// assert_eq!((left[0].0, left[1].0, lane.held_packets()), (1, 2, 0));
/// # Ok::<(), pacer::parameters::ParameterError>(())
/// ```
#[derive(Debug)]
pub struct Lane<H> {
    spec: LaneSpec,
    bound: Span,
    stage: Pacer<Token>,
    held: VecDeque<Frame<H>>,
    /// The latest time that the stage has been told.
    at: Instant,
    admitted: u64,
    forgiven: Span,
}

impl<H> Lane<H> {
    /// An empty one.
    pub fn new(spec: LaneSpec) -> Self {
        let stage = Pacer::new(&spec.pacer, spec.line_rate);
        let bound = spec.bound();
        Lane {
            spec,
            bound,
            stage,
            held: VecDeque::new(),
            at: Instant::ZERO,
            admitted: 0,
            forgiven: Span::ZERO,
        }
    }

    /// What it is.
    pub fn spec(&self) -> &LaneSpec {
        &self.spec
    }

    /// Frames held.
    #[inline]
    pub fn held_packets(&self) -> u64 {
        self.stage.held_packets()
    }

    /// Bytes held.
    #[inline]
    pub fn held_bytes(&self) -> u64 {
        self.stage.held_bytes()
    }

    /// Lateness that was not made up for, while something was due: a method's rate times this is what it let go less.
    pub fn forgiven(&self) -> Span {
        self.forgiven
    }

    /// The frame that was admitted last, if it is still held.
    #[inline]
    pub fn newest_held(&mut self) -> Option<&mut Frame<H>> {
        self.held.back_mut()
    }

    /// When something may next leave; `None` while nothing is held.
    #[inline]
    pub fn next_wakeup(&self) -> Option<Instant> {
        self.stage.next_wakeup()
    }

    /// A frame arrives, not before any that has. What is due by then becomes ready before it.
    pub fn arrive(&mut self, mut frame: Frame<H>, ready: &mut VecDeque<Frame<H>>) -> Admission<H> {
        let at = frame.arrived.max(self.at);
        self.until(at, ready);
        self.at = at;
        (frame.admitted, frame.due, frame.bound) = (at, at, self.bound);
        frame.number = self.admitted + 1;
        if let Verdict::Refused(_) | Verdict::Displaced(_) =
            self.stage.enqueue(Token { bytes: frame.bytes }, at)
        {
            match self.spec.overload {
                Overload::Drop => return Admission::Refused(frame),
                Overload::Flush => {}
            }
            self.admitted += 1;
            let flushed = self.held.len() as u64;
            for mut early in self.take_back() {
                early.due = at;
                ready.push_back(early);
            }
            // an empty stage takes any packet
            let _ = self.stage.enqueue(Token { bytes: frame.bytes }, at);
            self.held.push_back(frame);
            self.leave(at, ready);
            return Admission::Flushed(flushed);
        }
        self.admitted += 1;
        self.held.push_back(frame);
        self.leave(at, ready);
        Admission::Taken
    }

    /// What is due at `now` becomes ready, with the time at which it was due. To be called before the frames that have
    /// arrived since the last call: it says how much lateness is forgiven.
    #[inline]
    pub fn release(&mut self, now: Instant, ready: &mut VecDeque<Frame<H>>) {
        let from = now - CREDIT;
        if let Some(wakeup) = self.stage.next_wakeup() {
            self.forgiven = self.forgiven + from.since(wakeup.max(self.at));
        }
        self.at = self.at.max(from);
        self.until(now, ready);
    }

    /// All that leaves until `at`, in a time that knows no lateness.
    pub fn until(&mut self, at: Instant, ready: &mut VecDeque<Frame<H>>) {
        while let Some(wakeup) = self.stage.next_wakeup().filter(|wakeup| *wakeup <= at) {
            self.at = self.at.max(wakeup);
            if self.leave(wakeup, ready) == 0 {
                break;
            }
        }
    }

    /// Takes all that is held, oldest first; the stage is as new.
    pub fn take_back(&mut self) -> VecDeque<Frame<H>> {
        self.stage = Pacer::new(&self.spec.pacer, self.spec.line_rate);
        std::mem::take(&mut self.held)
    }

    /// Changes the parameters. The new stage sees what is held arrive when it arrived: nothing is lost, no order
    /// changed, and nothing is held longer than the new parameters, or the old ones so far, would.
    pub fn change(&mut self, spec: LaneSpec, now: Instant, ready: &mut VecDeque<Frame<H>>) {
        // What is held has been taken: a lower limit is for what comes.
        let unlimited = PacerSpec { limit: None, ..spec.pacer.clone() };
        self.stage = Pacer::new(&unlimited, spec.line_rate);
        let limit = spec.pacer.limit;
        (self.bound, self.spec) = (spec.bound(), spec);
        self.at = Instant::ZERO;
        for mut frame in std::mem::take(&mut self.held) {
            self.until(frame.admitted, ready);
            self.at = frame.admitted;
            let _ = self.stage.enqueue(Token { bytes: frame.bytes }, frame.admitted); // it has no limit
            frame.bound = self.bound;
            self.held.push_back(frame);
        }
        self.stage.set_limit(limit);
        self.release(now, ready);
    }

    /// All that the stage lets go at its present time; how many there were.
    #[inline]
    fn leave(&mut self, due: Instant, ready: &mut VecDeque<Frame<H>>) -> usize {
        let mut count = 0;
        while self.stage.dequeue(self.at).is_some() {
            let Some(mut frame) = self.held.pop_front() else { break };
            frame.due = due.max(frame.admitted);
            ready.push_back(frame);
            count += 1;
        }
        count
    }
}
