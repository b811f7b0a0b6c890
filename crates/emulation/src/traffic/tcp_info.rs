//! What the kernel says of a connection: the fields of `struct tcp_info` (include/uapi/linux/tcp.h) that are used.

use crate::system::Socket;

/// Windows in packets, times in us.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct TcpInfo {
    pub(crate) ca_state: u8,
    pub(crate) unacked: u32,
    pub(crate) rtt_us: u32,
    pub(crate) ssthresh: u32,
    pub(crate) cwnd: u32,
    pub(crate) retransmits: u32,
    pub(crate) pacing_rate: u64,
    pub(crate) segments_sent: u32,
    /// Since Linux 6.7; zero before.
    pub(crate) timeouts: u16,
}

impl TcpInfo {
    pub(crate) fn of(socket: &Socket) -> Option<TcpInfo> {
        let info = socket.tcp_info().ok()?;
        let bytes = |at: usize, length: usize| info.get(at..at + length);
        let word = |at| bytes(at, 4).and_then(|raw| raw.try_into().ok()).map_or(0, u32::from_ne_bytes);
        Some(TcpInfo {
            ca_state: info.get(1).copied().unwrap_or(0),
            unacked: word(24),
            rtt_us: word(68),
            ssthresh: word(76),
            cwnd: word(80),
            retransmits: word(100),
            pacing_rate: bytes(104, 8).and_then(|raw| raw.try_into().ok()).map_or(0, u64::from_ne_bytes),
            segments_sent: word(156),
            timeouts: bytes(240, 2).and_then(|raw| raw.try_into().ok()).map_or(0, u16::from_ne_bytes),
        })
    }
}
