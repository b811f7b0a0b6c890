//! What is known of a network before it runs.

pub(crate) mod eligible_hosts;
pub(crate) mod lookahead;
pub(crate) mod ordered_links;
pub(crate) mod routes;
