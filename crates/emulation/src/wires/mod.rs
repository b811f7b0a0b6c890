//! The network of a scenario in user space, between network devices of the kernel.
//!
//! *Idea.* A packet that the kernel sends is stamped as it is read from its TUN device, and from there on walks the links
//! of its route in **virtual time**: admission, service and propagation are reckoned from stamps by
//! [`paceline_core::queue::DropTail`], the simulator's own. It is handed to the kernel again when the clock has reached its
//! time at the last link. A late timer makes that packet late, and is measured; it changes neither which packet is
//! dropped nor when the next one leaves. Nor when the answer leaves: the kernel works on a packet within the call that
//! writes it to the device (`tun_get_user` to `netif_receive_skb`), so what can be read after that call is the host's
//! answer, and is stamped with the time at which the packet was due.
//!
//! *Where it breaks.* Of what a host sends by itself (its timers, its applications, or where an application had the socket
//! just then) the stamp is when this process reads, not when the kernel wrote: while the process does not run, that is
//! stamped late, together. The gaps between looks at the devices are measured too. Packets are told apart
//! by the TCP port of the flow's listener, so each flow has one of its own.

mod frame;
mod lateness;
mod link;
mod live;
mod meter;
mod network;
mod plan;

pub use lateness::Lateness;
pub(crate) use live::run;
pub use network::{Delivery, Network};
pub use plan::{Buffer, Detour, FlowPlan, LinkPlan, PacerPlan, Plan, Port, Record};
