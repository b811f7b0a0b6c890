//! Segmentation offload: a sender hands the interface of its host several packets at once, one *train*, and these leave back to back.
//!
//! *Idea.* Linux sizes a train by the rate of the connection ([`train`]): what it sends in about a millisecond, and more where the round
//! trip is short, at least two packets and at most what the interface takes. While the window lets less out than that, the sender waits
//! for the next acknowledgement, which is likely to open it further ([`defers`]): so a long flow sends a train about once a
//! millisecond, where it would send a packet or two with each acknowledgement. It does not wait where a third of the window is
//! free, where its last packet left more than a millisecond ago, or where the next acknowledgement is further away than a millisecond
//! or half a round trip; nor while it repairs losses.
//! *Parameters.* `gso` of [`Config`](crate::Config): the longest train, packets.
//! *Where it breaks.* The send queue is cut into buffers of `gso` packets from the first packet on; Linux begins with buffers of half
//! of the receiver's first window, 22 packets, and again at a write after the queue was empty. A connection that closes sends its last
//! packets at once there; here they wait as those of one that stays open.
//! *References.* Linux 6.18 net/ipv4/tcp_output.c `tcp_tso_autosize`, `tcp_tso_should_defer`, `tcp_write_xmit`, `tcp_grow_skb`;
//! net.ipv4.tcp_min_tso_segs, tcp_tso_rtt_log, tcp_tso_win_divisor.

use paceline_core::Span;

/// The largest train, bytes of payload: a GSO packet of 64 KB less its headers (`GSO_LEGACY_MAX_SIZE`, `MAX_TCP_HEADER`).
const LARGEST_TRAIN: u64 = 65_215;
/// net.ipv4.tcp_min_tso_segs, packets.
pub(crate) const LEAST_TRAIN: u32 = 2;
/// net.ipv4.tcp_tso_win_divisor
const WINDOW_DIVISOR: u64 = 3;
/// A train is worth waiting for this long.
const LONGEST_WAIT: Span = Span::from_millis(1);

/// Packets that leave together: what the rate sends in about a millisecond (`sk_pacing_shift`), at least `least`; more where the least
/// round trip is a few milliseconds (net.ipv4.tcp_tso_rtt_log). The rate is of payload, byte/s.
pub(crate) fn train(rate: u64, payload: u64, least: u32, min_rtt_us: Option<u64>) -> u32 {
    let for_short_paths =
        min_rtt_us.map_or(0, |rtt| LARGEST_TRAIN.checked_shr((rtt >> 9) as u32).unwrap_or(0));
    let bytes = ((rate >> 10).saturating_add(for_short_paths)).min(LARGEST_TRAIN);
    ((bytes / payload.max(1)) as u32).max(least)
}

/// A train that could leave now, and what speaks for a wait. In packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    /// What the windows let out.
    pub(crate) room: u32,
    /// The lesser of the congestion window and the receiver's.
    pub(crate) window: u32,
    /// The longest train now.
    pub(crate) longest: u32,
    /// In the first buffer of the send queue.
    pub(crate) buffer: u32,
    /// There is no other buffer: the application may still add to it.
    pub(crate) is_last: bool,
    /// How long ago the last packet left; or was to leave, where pacing has set that.
    pub(crate) idle: Span,
    /// How far away the next acknowledgement is, if one is to come.
    pub(crate) next_ack: Option<Span>,
    pub(crate) srtt: Span,
}

/// Whether to wait for a longer train (`tcp_tso_should_defer`). Not called while losses are repaired.
pub(crate) fn defers(train: Waiting) -> bool {
    let Waiting { room, window, longest, buffer, is_last, idle, next_ack, srtt } = train;
    // A single packet gets no longer (`tcp_nagle_test`).
    if buffer <= 1 || room >= longest || idle > LONGEST_WAIT {
        return false;
    }
    if !is_last && room >= buffer {
        return false;
    }
    if u64::from(room) * WINDOW_DIVISOR >= u64::from(window) {
        return false;
    }
    let half = Span::from_nanos(srtt.as_nanos() / 2);
    next_ack.is_some_and(|next_ack| next_ack <= half.min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests;
