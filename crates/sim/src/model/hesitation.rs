//! Hesitation: a random processing delay of acknowledgements at senders.
//!
//! *Idea.* Acknowledgements come one service time of the bottleneck apart, so that what they clock out reaches it at the very instants
//! at which others leave it, round after round, and flows keep in step (Floyd and Jacobson 1992). No real host is so exact. So where a
//! queue draws its ties ([`Ties::Random`], the default), a sender processes each acknowledgement a random time after it has come. The
//! delay stays in its flow's timing and spaces its packets out, as ns-2's `overhead_` does; a draw at the queue alone
//! ([`paceline_core::queue::Ties`]) leaves no trace.
//!
//! *Parameters.* Drawn by flow and time, uniform from nothing to below [`MOST`]; how much hardly matters, as long as a nanosecond is
//! little beside it (docs/fidelity.md). Always less than the smallest packet takes on the last link before the host: nothing is overtaken.
//!
//! *Where it breaks.* Above 3 Gbit/s on that link it is shorter, and above 300 it is nothing.
//!
//! *References.* S. Floyd, V. Jacobson, "On traffic phase effects in packet-switched gateways", Internetworking 3(3), 1992; ns-2 2.35,
//! tcp/tcp.cc `send_much`.

use crate::kernel::chance::Stream;
use crate::network::{FlowSpec, Network};
use paceline_core::queue::{Ties, draw};
use paceline_core::{Instant, Span};

/// Nanoseconds.
const MOST: u64 = 100;

/// What draws it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hesitation(u64);

impl Hesitation {
    pub(crate) fn of(network: &Network) -> Self {
        Hesitation(Stream::new(network.seed, "hesitation").between(0, u64::MAX))
    }

    /// When the sender of this flow, which hesitates for less than `most` nanoseconds, processes what has come to its host now.
    #[inline(always)]
    pub(crate) fn after(self, now: Instant, flow: u32, most: u8) -> Instant {
        if most == 0 {
            return now; // with ns-2's ties, say, no flow hesitates: a branch that is always predicted
        }
        let bits = draw(now.as_nanos() ^ self.0, flow);
        now + Span::from_nanos(((bits >> 32) * u64::from(most)) >> 32)
    }
}

/// How long the sender of each flow hesitates at most, nanoseconds and one; 0 where no queue on its way draws its ties.
pub(crate) fn longest(network: &Network) -> Vec<u8> {
    let mut smallest = vec![u32::MAX; network.links.len()]; // of what comes to a host over each link
    for flow in &network.flows {
        for last in [flow.forward.last(), flow.reverse.last()].into_iter().flatten() {
            let known = &mut smallest[*last as usize];
            *known = flow.kind.smallest_packet().min(*known);
        }
    }
    let draws = |link: &u32| {
        let buffer = &network.links[*link as usize].fitting.buffer;
        buffer.ties == Ties::Random && buffer.limit.is_some()
    };
    let of = |flow: &FlowSpec| match flow.reverse.last() {
        Some(last) if flow.forward.iter().chain(&flow.reverse).any(draws) => {
            let bytes = u16::try_from(smallest[*last as usize]).unwrap_or(u16::MAX);
            network.links[*last as usize].takes(bytes).as_nanos().min(MOST) as u8
        }
        _ => 0,
    };
    network.flows.iter().map(of).collect()
}
