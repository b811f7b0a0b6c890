//! Whether what reaches one end of a flow may be handled ahead of its time, and on the fast path of a bulk connection.
//!
//! *Idea.* Several things may be in the way, none of them for most packets. So each is a bit of one number, and events that have
//! to come first are counted in the others: one comparison decides.

/// Of one end of a flow: its receiver or its sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gate(u32);

/// The timers of this end are in the calendar; else it is free (`Flow::is_free`).
const BOUND: u32 = 1 << 28;
/// Nothing may be handled ahead of its time.
const IN_STEP: u32 = 1 << 31;
/// It has no fast path (engine/hosts/fastpath/bulk_tcp.rs).
const LONG: u32 = 1 << 30;
/// Another connection may begin before a packet comes that is late.
const REPLACES: u32 = 1 << 29;
/// The connection has messages, its sender cold state, or its receiver a timer: the fast path has to check.
const MORE: u32 = 1 << 27;
/// Packets carry ECN, or wait in their host's port: the sender does not send straight to the link.
const APART: u32 = 1 << 26;

/// The receiver looks at the trains that packets came in.
const TRAINS: u32 = 1 << 25;

impl Gate {
    /// A receiver's and a sender's, before the network has been examined.
    pub(crate) const SHUT: [Gate; 2] = [Gate(IN_STEP | LONG | BOUND); 2];

    /// The fast path is open, and there is no cold state to look for on it.
    #[inline(always)]
    pub(crate) fn is_bare(self) -> bool {
        self.0 == 0
    }

    /// The fast path is open.
    #[inline(always)]
    pub(crate) fn is_open(self) -> bool {
        self.0 & !MORE == 0
    }

    /// The same, but only for packets of the connection at work.
    #[inline(always)]
    pub(crate) fn is_open_to_one(self) -> bool {
        self.0 & !MORE == REPLACES
    }

    /// A packet may be handled ahead of its time: no event waits that comes first.
    #[inline(always)]
    pub(crate) fn lets_run_ahead(self) -> bool {
        self.0 & !(LONG | REPLACES | BOUND | MORE | APART | TRAINS) == 0
    }

    #[inline(always)]
    pub(crate) fn is_free(self) -> bool {
        self.0 & BOUND == 0
    }

    #[inline(always)]
    pub(crate) fn sends_apart(self) -> bool {
        self.0 & APART != 0
    }

    pub(crate) fn send_apart(&mut self) {
        self.set(APART, true);
    }

    #[inline(always)]
    pub(crate) fn has_trains(self) -> bool {
        self.0 & TRAINS != 0
    }

    pub(crate) fn look_at_trains(&mut self, looks: bool) {
        self.set(TRAINS, looks);
    }

    pub(crate) fn set_free(&mut self, is_free: bool) {
        self.set(BOUND, !is_free);
    }

    /// Nothing ever may.
    pub(crate) fn keeps_in_step(self) -> bool {
        self.0 & IN_STEP != 0
    }

    pub(crate) fn keep_in_step(&mut self, keeps: bool) {
        self.set(IN_STEP, keeps);
    }

    pub(crate) fn take_slow_path(&mut self, takes: bool) {
        self.set(LONG, takes);
    }

    pub(crate) fn ask_for_more(&mut self, asks: bool) {
        self.set(MORE, asks);
    }

    pub(crate) fn replaces_connections(self) -> bool {
        self.0 & REPLACES != 0
    }

    pub(crate) fn replace_connections(&mut self, replaces: bool) {
        self.set(REPLACES, replaces);
    }

    /// An event in the calendar has to come first.
    pub(crate) fn wait(&mut self) {
        self.0 += 1;
    }

    /// One of these has come.
    pub(crate) fn pass(&mut self) {
        self.0 -= 1;
    }

    fn set(&mut self, bit: u32, is_set: bool) {
        self.0 = if is_set { self.0 | bit } else { self.0 & !bit };
    }
}
