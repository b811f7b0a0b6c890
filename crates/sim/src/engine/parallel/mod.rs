//! One run on several threads.

pub(crate) mod buffer_pool;
pub(crate) mod coordinator;
pub(crate) mod host_partition;
pub(crate) mod link_partition;
