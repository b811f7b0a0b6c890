//! One run on several threads: a coordinator over several partitions of each half of the engine.

mod buffer_pool;
mod coordinator;
mod host_partition;
mod link_partition;
