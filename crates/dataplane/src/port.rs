//! What a back end is to the loop that paces: a place that frames come from and go to.

use std::collections::VecDeque;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use paceline_core::{Instant, Span};

use crate::lane::Frame;
use crate::sys::kernel::Kernel;

/// A frame that could not be taken, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Larger than the interface that it should leave by can send: a jumbo frame, or several that an offload has joined.
    TooLarge,
    /// The kernel has it no more, or does not say where it is.
    Lost,
}

/// The largest frame that an interface can send, link header and a VLAN tag included, bytes. It follows the interface's MTU while
/// frames pass.
///
/// ```
/// # use paceline_dataplane::port::Largest;
/// let largest = Largest::new(1518);
/// let seen_by_another_thread = largest.clone();
/// largest.set(9018);
/// assert_eq!(seen_by_another_thread.bytes(), 9018);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Largest(Arc<AtomicU32>);

impl Largest {
    /// A limit.
    pub fn new(bytes: u32) -> Self {
        Largest(Arc::new(AtomicU32::new(bytes)))
    }

    /// How many bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed) as usize
    }

    /// The interface can now send so much.
    pub fn set(&self, bytes: u32) {
        self.0.store(bytes, Ordering::Relaxed);
    }
}

/// What came of sending.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames sent.
    pub packets: u64,
    /// Frames that the interface will not send, whatever one does: malformed, or it is down.
    pub rejected: u64,
    /// The interface has no room now: the rest is still there.
    pub blocked: bool,
}

/// One direction's way in and way out.
pub trait Port {
    /// How a frame is known.
    type Handle;
    /// Whose calls it makes.
    type Kernel: Kernel;

    /// Whose calls it makes.
    fn kernel(&self) -> &Self::Kernel;

    /// Frames that have come in since the last call, `most` at a time: `take` has each with its size, and when it arrived;
    /// `refuse` hears of those that cannot be taken.
    fn receive(
        &mut self,
        most: usize,
        now: Instant,
        take: &mut dyn FnMut(&mut Self, Frame<Self::Handle>),
        refuse: &mut dyn FnMut(Refusal),
    ) -> usize;

    /// Whether a frame more can be kept.
    fn has_room(&self) -> bool;

    /// A frame that came in will stay longer than this round: it is moved to where it can. There must be room.
    fn keep(&mut self, handle: &mut Self::Handle);

    /// Sends from the front, a batch at most, if it still `may`: that is asked right before the kernel is called, when all
    /// else is done. `left` has each frame sent, and when. Frames that the interface has no room for stay where they are, or with the port, which has them sent at the
    /// next call.
    fn send(
        &mut self,
        ready: &mut VecDeque<Frame<Self::Handle>>,
        may: &dyn Fn() -> bool,
        left: &mut dyn FnMut(&Frame<Self::Handle>, Instant),
    ) -> Sent;

    /// Frames that stay with the port until the interface has room.
    fn pending(&self) -> usize;

    /// Throws away what is [pending](Port::pending), which must not leave any more: how many frames.
    fn withdraw(&mut self) -> u64;

    /// A frame is thrown away.
    fn discard(&mut self, handle: Self::Handle);

    /// The round is over: what was received in it and not kept goes back.
    fn finish_round(&mut self);

    /// Sleeps until a frame comes in, or so long.
    fn wait(&mut self, most: Span);

    /// Whether a frame has come in. Cheap: it is asked while spinning.
    fn has_received(&self) -> bool;

    /// Frames that the kernel had to drop because the ring was full, since the last call.
    fn overflowed(&mut self) -> u64;

    /// Errors that the socket that receives has had: its interface was down.
    fn errors(&self) -> u64;
}
