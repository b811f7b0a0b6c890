//! A congestion control as simple as can be: half a packet an acknowledgement; a loss leaves three quarters.

use super::congestion_control::{Acked, CongestionControl, Window};
use crate::config::Config;

#[derive(Debug, Clone)]
pub(crate) struct ToyControl;

impl CongestionControl for ToyControl {
    fn new(_config: &Config) -> Self {
        ToyControl
    }

    fn increase(&mut self, window: &mut Window, _acked: Acked) {
        window.cwnd += 0.5;
    }

    fn cut(&mut self, window: f64, _cwnd: f64) -> f64 {
        window * 0.75
    }
}
