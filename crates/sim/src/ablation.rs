//! Fast paths that `make bench-ablation` leaves out one by one, to say what each buys.
//!
//! Without the feature `ablation` all are on, known at compile time and at no cost. With it one program can leave out
//! any; results are the same bytes (`PACELINE_WITHOUT=NAME` for `cargo test --features ablation --test equality`).

#[cfg(feature = "ablation")]
use std::sync::atomic::{AtomicU32, Ordering};

/// A fast path that can be left out.
#[derive(Debug, Clone, Copy)]
pub enum FastPath {
    /// engine/batched/round_trip_epoch.rs
    RoundTripEpochs,
    /// engine/hosts/fastpath/bulk_tcp.rs
    BulkTcp,
    /// engine/hosts/fastpath/bulk_tcp.rs: the copies of its code for bare connections.
    BareCopies,
    /// engine/hosts/fastpath/shared_hosts.rs
    SharedHosts,
    /// engine/links/fastpath/fan_in_merge.rs
    FanInMerge,
    /// model/link/batch_service.rs: packets of one size at the links of a fan-in merge.
    FanInOneSize,
    /// model/link/batch_service.rs: packets that count alike.
    BatchService,
    /// engine/links/fastpath/isolated_packets.rs
    IsolatedPackets,
    /// engine/links/backlog.rs
    Backlog,
    /// engine/links/fastpath/uncongested_downstream.rs
    UncongestedDownstream,
    /// engine/links/fastpath/cache_blocking.rs
    CacheBlocking,
    /// engine/hosts/delivery.rs: packets are dealt out by flow.
    Deal,
    /// engine/hosts/fastpath/prefetch.rs
    Prefetch,
    /// engine/hosts/fastpath/private_links.rs
    PrivateLinks,
    /// engine/batched/idle_skip.rs
    IdleSkip,
    /// model/link/accounting.rs: packets of one size at a queue.
    OneSize,
    /// model/link/accounting.rs
    QueueAccounting,
    /// model/link/batch.rs: a pacer is driven by its own type.
    DrivenPacer,
    /// model/link/driven_queue.rs
    DrivenQueue,
    /// engine/links/merge_buffer.rs: packets are sorted by slots.
    Slots,
    /// kernel/calendar.rs: a timing wheel in place of a heap.
    TimingWheel,
    /// engine/batched/fallback.rs
    AdaptiveFallback,
}

impl FastPath {
    /// All, by name.
    pub const ALL: [(&'static str, FastPath); 22] = [
        ("round-trip-epochs", FastPath::RoundTripEpochs),
        ("bulk-tcp", FastPath::BulkTcp),
        ("bare-copies", FastPath::BareCopies),
        ("shared-hosts", FastPath::SharedHosts),
        ("fan-in-merge", FastPath::FanInMerge),
        ("fan-in-one-size", FastPath::FanInOneSize),
        ("batch-service", FastPath::BatchService),
        ("isolated-packets", FastPath::IsolatedPackets),
        ("backlog", FastPath::Backlog),
        ("uncongested-downstream", FastPath::UncongestedDownstream),
        ("cache-blocking", FastPath::CacheBlocking),
        ("deal", FastPath::Deal),
        ("prefetch", FastPath::Prefetch),
        ("private-links", FastPath::PrivateLinks),
        ("idle-skip", FastPath::IdleSkip),
        ("one-size", FastPath::OneSize),
        ("queue-accounting", FastPath::QueueAccounting),
        ("driven-pacer", FastPath::DrivenPacer),
        ("driven-queue", FastPath::DrivenQueue),
        ("slots", FastPath::Slots),
        ("timing-wheel", FastPath::TimingWheel),
        ("adaptive-fallback", FastPath::AdaptiveFallback),
    ];

    /// It may be used.
    #[inline(always)]
    pub(crate) fn is_on(self) -> bool {
        #[cfg(feature = "ablation")]
        return LEFT_OUT.load(Ordering::Relaxed) >> self as u32 & 1 == 0;
        #[cfg(not(feature = "ablation"))]
        true
    }

    /// It is left out from now on, in the whole process.
    #[cfg(feature = "ablation")]
    pub fn leave_out(self) {
        LEFT_OUT.fetch_or(1 << self as u32, Ordering::Relaxed);
    }
}

#[cfg(feature = "ablation")]
static LEFT_OUT: AtomicU32 = AtomicU32::new(0);
