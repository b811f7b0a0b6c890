//! What a flow has that most lack, in one byte: instruments that observe it, a pacing method, a port that paces.

/// None, or some.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Traits(u8);

const WINDOW_OBSERVED: u8 = 1;
const DELAYS_OBSERVED: u8 = 2;
const PACED: u8 = 4;
const PORT: u8 = 8;

impl Traits {
    pub(crate) fn of(is_paced: bool) -> Self {
        Traits(if is_paced { PACED } else { 0 })
    }

    pub(crate) fn observe_window(&mut self) {
        self.0 |= WINDOW_OBSERVED;
    }

    pub(crate) fn observe_delays(&mut self) {
        self.0 |= DELAYS_OBSERVED;
    }

    pub(crate) fn add_port(&mut self) {
        self.0 |= PORT;
    }

    /// An instrument observes its window.
    #[inline(always)]
    pub(crate) fn observes_window(self) -> bool {
        self.0 & WINDOW_OBSERVED != 0
    }

    /// An instrument observes the delays of its packets.
    #[inline(always)]
    pub(crate) fn observes_delays(self) -> bool {
        self.0 & DELAYS_OBSERVED != 0
    }

    /// A pacing method acts on it.
    #[inline(always)]
    pub(crate) fn is_paced(self) -> bool {
        self.0 & PACED != 0
    }

    /// Its host's port paces what it sends.
    #[inline(always)]
    pub(crate) fn has_port(self) -> bool {
        self.0 & PORT != 0
    }
}
