//! What acknowledgements and segments say of congestion, on a connection with [`Config::ecn`](crate::Config::ecn).

use super::Sender;
use crate::segment::Segment;

impl Sender {
    /// On a connection with [`Config::ecn`](crate::Config::ecn), before [`Sender::on_ack`] or [`Sender::on_ack_with`] of each acknowledgement: whether that
    /// echoes a mark (ECE).
    pub fn on_ecn_echo(&mut self, next: u32, is_marked: bool) {
        if next <= self.state.end && !self.state.is_finished() {
            self.state.on_echo(next, is_marked);
        }
    }

    /// The same with [`EcnMode::Accurate`](crate::config::EcnMode::Accurate): its field ACE.
    pub fn on_ace(&mut self, next: u32, ace: u8) {
        if next <= self.state.end && !self.state.is_finished() {
            self.state.on_ace(next, ace);
        }
    }

    /// On a connection with [`EcnMode::Rfc3168`](crate::EcnMode::Rfc3168), of each segment in the order of sending, once: whether it says that
    /// the window has been reduced (CWR, RFC 3168 section 6.1.2).
    pub fn carries_reduced(&mut self, segment: Segment) -> bool {
        self.state.carries_reduced(segment)
    }
}
