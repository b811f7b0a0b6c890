//! Hosts: senders, receivers and applications, and how packets leave.

pub(crate) mod application;
pub(crate) mod egress;
pub(crate) mod flow_table;
pub(crate) mod receiver;
pub(crate) mod sender;
pub(crate) mod trace_rows;
