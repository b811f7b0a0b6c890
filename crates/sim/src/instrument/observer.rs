//! What an instrument may see of a run.

use super::rows::{Curve, FlowRow, SeriesRow};
use crate::kernel::cause::Cause;
use crate::kernel::ids::FlowId;
use crate::kernel::packet::Packet;
use paceline_core::{Instant, Span};
use paceline_tcp::Sender;
use std::fmt::Debug;

/// An instrument at work; it leaves out what it has no use for. Times are the packets' own: those of one link never go back.
pub(crate) trait Observer: Debug + Send {
    /// A packet of so many bytes reaches the link.
    fn on_arrival(&mut self, _bytes: u32, _at: Instant) {}

    /// A packet is on the wire of the link, from a time to another.
    fn on_departure(&mut self, _packet: &Packet, _wire: (Instant, Instant), _series: &mut Vec<SeriesRow>) {}

    /// A packet of this flow has waited so long at the link, and is put on the wire.
    fn on_wait(&mut self, _flow: u32, _waited: Span) {}

    /// The link drops a packet of this flow.
    fn on_drop(&mut self, _flow: u32, _cause: Cause, _now: Instant) {}

    /// The flow's sender, before anything happens.
    fn on_start(&mut self, _sender: &Sender) {}

    /// The flow's sender has handled something: its window may have changed.
    fn on_window(&mut self, _sender: &Sender, _now: Instant) {}

    /// A packet of a flow is delivered in order, so long after it was first sent.
    fn on_delivery(&mut self, _flow: u32, _delay: Span, _now: Instant) {}

    /// A packet of a flow comes to its host for the first time, so long after it was first sent; it may wait there for others.
    fn on_first_arrival(&mut self, _flow: u32, _delay: Span, _now: Instant) {}

    /// The time of a sample has come, and flows have had so many bytes of payload delivered.
    fn sample(&mut self, _at: Instant, _delivered: &dyn Fn(FlowId) -> u64) {}

    /// What it has found, once the run has ended, at a link or of a flow of this name.
    fn curves(self: Box<Self>, name: &str, rows: &[FlowRow], curves: &mut Vec<Curve>);
}

/// What an instrument on `core` has found.
#[cfg(test)]
pub(crate) fn found(observer: impl Observer) -> Vec<Curve> {
    let mut curves = Vec::new();
    Box::new(observer).curves("core", &[], &mut curves);
    curves
}
