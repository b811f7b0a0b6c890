//! Applications over real sockets: bulk transfers, users who fetch files, callers who wait for answers.
//!
//! *Idea.* One thread, one readiness queue, and sockets in several network namespaces. Senders keep TCP supplied, receivers
//! discard what they get without copying it. A transfer ends when the kernel says that its last byte has been
//! acknowledged (`SOF_TIMESTAMPING_TX_ACK`), by the kernel's own time stamp; a call, when its answer is there whole.
//!
//! *Where it breaks.* Goodput counts what an application has read: it is what was delivered in order as long as this
//! process gets to run.

mod connection;
mod draws;
mod flow;
mod live;
mod plan;
mod tcp_info;

pub(crate) use live::run;
