//! Each packet that starts to leave a link, as a row of a series: time, flow, bytes.

use super::observer::Observer;
use super::rows::{Curve, FlowRow, SeriesKind, SeriesRow};
use crate::kernel::packet::Packet;
use paceline_core::Instant;

/// On the link of this number.
#[derive(Debug)]
pub(crate) struct Departures(pub(crate) u32);

impl Observer for Departures {
    fn on_departure(&mut self, packet: &Packet, (start, _): (Instant, Instant), series: &mut Vec<SeriesRow>) {
        series.push(SeriesRow {
            link: self.0,
            kind: SeriesKind::Departure,
            time_ns: start.as_nanos(),
            flow: packet.flow,
            bytes: u64::from(packet.bytes),
        });
    }

    fn curves(self: Box<Self>, _: &str, _: &[FlowRow], _: &mut Vec<Curve>) {}
}
