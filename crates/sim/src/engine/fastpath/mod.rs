//! Fast paths, one a file: what each buys is in its header, and `crate::ablation` turns it off.

pub(crate) mod bulk_tcp;
pub(crate) mod cache_blocking;
pub(crate) mod fan_in_merge;
pub(crate) mod isolated_packets;
pub(crate) mod prefetch;
pub(crate) mod private_links;
pub(crate) mod round_trip_epoch;
pub(crate) mod uncongested_downstream;
