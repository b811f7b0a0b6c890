//! The one seam: whatever holds packets and lets them go, a pacer or a queue, in the simulator and on the wire.

use crate::units::Instant;

/// What a stage needs to know of a packet. A few words in the simulator, a frame in a data plane.
pub trait Packet {
    /// Size on the wire, bytes.
    fn bytes(&self) -> u32;

    /// The ECN field of its IP header. A packet that has none is dropped where another would be marked.
    #[inline]
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    /// Sets the field to [`Ecn::Ce`]. Only called where [`Packet::ecn`] is not [`Ecn::NotEct`].
    #[inline]
    fn mark(&mut self) {}

    /// Whose it is, for a queue that is fair to flows: a hash of addresses and ports, or a number.
    #[inline]
    fn flow(&self) -> u32 {
        0
    }
}

/// The ECN field of an IP header, by its two bits (RFC 3168 section 5).
///
/// ```
/// # use paceline_core::Ecn;
/// assert_eq!(Ecn::of_bits(0b11), Ecn::Ce);
/// assert!(Ecn::Ect1.is_capable() && !Ecn::NotEct.is_capable());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Its transport does not understand marks.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, and a queue may tell it of congestion early and often: the identifier of L4S (RFC 9331).
    Ect1 = 0b01,
    /// ECN-capable.
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The field of these bits; higher ones do not count.
    #[inline]
    pub const fn of_bits(bits: u8) -> Ecn {
        match bits & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Its transport understands marks.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// Why a queue drops a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Its limit is reached.
    Overflow,
    /// To signal congestion, before the limit is reached: active queue management (RFC 7567).
    Early,
}

/// What became of a packet offered to a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a refused packet is handed back and must be accounted for"]
pub enum Verdict<P> {
    /// Taken; it comes out of `dequeue` later.
    Queued,
    /// Not taken: the packet itself is handed back.
    Refused(P),
    /// Taken, at the cost of this older packet, which is dropped (drop-front).
    Displaced(P),
}

/// Anything that holds packets and lets them go: a pacer or a queue.
///
/// Time never runs backwards between calls. `dequeue` is called at any time, and must be called at or after
/// `next_wakeup` until it returns `None`; it returns `None` before `next_wakeup`. Dispatch is by enum
/// ([`crate::pacer::Pacer`]), never by a boxed trait, because it lies on the path of every packet.
///
/// ```
/// use paceline_core::pacer::{self, Pacer, parameters::Value};
/// use paceline_core::{Instant, Packet, Rate, Stage, Verdict};
///
/// #[derive(Debug, PartialEq)]
/// struct Frame(u32);
///
/// impl Packet for Frame {
///     fn bytes(&self) -> u32 {
///         self.0
///     }
/// }
///
/// // A token bucket of 1 Mbit/s and one frame: the second frame waits until its tokens have come.
/// let link = Rate::from_bits_per_second(100_000_000);
/// let mut values = |name: &str| match name {
///     "rate" => Some(Value::Text("1 Mbit/s".into())),
///     "burst" => Some(Value::Text("1500 B".into())),
///     _ => None,
/// };
/// let mut stage = Pacer::new(&pacer::parse("token-bucket", &mut values, link)?, link);
/// let now = Instant::ZERO;
/// assert_eq!(stage.enqueue(Frame(1500), now), Verdict::Queued);
/// assert_eq!(stage.enqueue(Frame(1500), now), Verdict::Queued);
/// assert_eq!(stage.dequeue(now), Some(Frame(1500)));
/// assert_eq!(stage.dequeue(now), None);
/// let due = stage.next_wakeup().expect("one is held");
/// assert_eq!(due.as_nanos(), 12_000_000);
/// assert_eq!(stage.dequeue(due), Some(Frame(1500)));
/// # Ok::<(), paceline_core::pacer::parameters::ParameterError>(())
/// ```
pub trait Stage<P: Packet> {
    /// Offers a packet that arrives at `now`.
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P>;

    /// Takes the next packet that may leave at `now`, if any.
    fn dequeue(&mut self, now: Instant) -> Option<P>;

    /// When something may next leave; `None` while nothing is held. May move, either way, with each arrival.
    fn next_wakeup(&self) -> Option<Instant>;
}
