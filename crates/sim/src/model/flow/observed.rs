//! What instruments observe of a flow, in one byte.

/// Nothing, its window, the delays of its packets, or both.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Observed(u8);

const WINDOW: u8 = 1;
const DELAYS: u8 = 2;

impl Observed {
    pub(crate) fn add_window(&mut self) {
        self.0 |= WINDOW;
    }

    pub(crate) fn add_delays(&mut self) {
        self.0 |= DELAYS;
    }

    #[inline(always)]
    pub(crate) fn window(self) -> bool {
        self.0 & WINDOW != 0
    }

    #[inline(always)]
    pub(crate) fn delays(self) -> bool {
        self.0 & DELAYS != 0
    }
}
