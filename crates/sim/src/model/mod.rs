//! What a network is made of while it runs: links, flows and what paces them at hosts. It knows no engine.

pub(crate) mod feedback;
pub(crate) mod flow;
pub(crate) mod hesitation;
pub(crate) mod link;
pub(crate) mod memory;
pub(crate) mod own_queue;
pub(crate) mod port;
