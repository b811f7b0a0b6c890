//! From a text to a [`Network`](crate::network::Network): `template` lays out hosts and links,
//! `scenario` puts flows, pacers and probes on them.

pub(crate) mod draw;
pub(crate) mod layout;
pub(crate) mod link_plan;
pub(crate) mod parameters;
pub mod scenario;
mod template;
