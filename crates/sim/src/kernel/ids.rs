//! Numbers of links, hosts and flows: their places in a [`crate::network::Network`].

/// Position in [`crate::network::Network::links`].
pub type LinkId = u32;
/// Position in [`crate::network::Network::hosts`].
pub type HostId = u32;
/// Position in [`crate::network::Network::flows`].
pub type FlowId = u32;
