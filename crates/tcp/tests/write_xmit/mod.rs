//! Linux's `tcp_write_xmit` written out, in packets: which trains leave at an event, from the send queue's buffers and what the windows let out.
//!
//! *References.* Linux 6.18 net/ipv4/tcp_output.c `tcp_write_xmit`, `tcp_cwnd_test`, `tcp_grow_skb`, `tcp_tso_should_defer`,
//! `tcp_mss_split_point`, `tcp_tso_autosize`; tcp_input.c `tcp_update_pacing_rate`.

use std::collections::VecDeque;

const GSO_MAX_SIZE: u64 = 65_536 - (320 + 1);
const NSEC_PER_MSEC: u64 = 1_000_000;

/// What of `tcp_sock` it needs, its names kept where they are not in packets.
pub(crate) struct Kernel {
    pub(crate) snd_una: u32,
    pub(crate) snd_nxt: u32,
    pub(crate) snd_wnd: u32,
    pub(crate) mss: u64,
    pub(crate) gso_max_segs: u32,
    /// Packets in each buffer that has not left, the write queue.
    pub(crate) queue: VecDeque<u32>,
    /// When each packet left, ns.
    pub(crate) tstamp: Vec<u64>,
    tcp_wstamp_ns: u64,
}

/// What acknowledgements have made of the rest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    pub(crate) snd_cwnd: u32,
    pub(crate) snd_ssthresh: u32,
    /// Nanoseconds; zero before the first round trip.
    pub(crate) srtt: u64,
    /// Microseconds; `None` before it.
    pub(crate) min_rtt: Option<u64>,
}

impl Kernel {
    /// All that is to be sent is in the queue, in buffers as long as a train may be.
    pub(crate) fn new(packets: u32, mss: u64, gso_max_segs: u32, snd_wnd: u32) -> Self {
        let mut queue = VecDeque::from(vec![gso_max_segs; (packets / gso_max_segs) as usize]);
        queue.extend(Some(packets % gso_max_segs).filter(|rest| *rest > 0));
        Kernel {
            snd_una: 0,
            snd_nxt: 0,
            snd_wnd,
            mss,
            gso_max_segs,
            queue,
            tstamp: Vec::new(),
            tcp_wstamp_ns: 0,
        }
    }

    fn tcp_tso_segs(&self, known: Known) -> u32 {
        let ratio = if known.snd_cwnd < known.snd_ssthresh / 2 { 200 } else { 120 };
        let packets = u64::from(known.snd_cwnd.max(self.snd_nxt - self.snd_una));
        let pacing_rate = match known.srtt {
            0 => u64::MAX,
            srtt => (u128::from(self.mss * packets * ratio) * 10_000_000 / u128::from(srtt)) as u64,
        };
        let mut bytes = pacing_rate >> 10;
        let r = known.min_rtt.unwrap_or(u64::from(u32::MAX)) >> 9;
        if r < 32 {
            bytes += GSO_MAX_SIZE >> r;
        }
        let segs = (bytes.min(GSO_MAX_SIZE) / self.mss).max(2);
        u32::try_from(segs).unwrap_or(u32::MAX).min(self.gso_max_segs)
    }

    fn tcp_cwnd_test(&self, snd_cwnd: u32) -> u32 {
        let in_flight = self.snd_nxt - self.snd_una;
        if in_flight >= snd_cwnd {
            return 0;
        }
        let halfcwnd = (snd_cwnd >> 1).max(1);
        halfcwnd.min(snd_cwnd - in_flight)
    }

    fn tcp_tso_should_defer(&self, head: u32, known: Known, max_segs: u32, now: u64) -> bool {
        if now > self.tcp_wstamp_ns + NSEC_PER_MSEC {
            return false;
        }
        let in_flight = self.snd_nxt - self.snd_una;
        let send_win = (self.snd_una + self.snd_wnd).saturating_sub(self.snd_nxt);
        let cong_win = known.snd_cwnd - in_flight;
        let limit = send_win.min(cong_win);
        if limit >= max_segs {
            return false;
        }
        // Middle in queue won't get any more data, full sendable already?
        if self.queue.len() > 1 && limit >= head {
            return false;
        }
        // tcp_tso_win_divisor is 3; divided in bytes
        let chunk = u64::from(self.snd_wnd.min(known.snd_cwnd)) * self.mss / 3;
        if u64::from(limit) * self.mss >= chunk {
            return false;
        }
        if self.snd_una == self.snd_nxt {
            return false; // no `tcp_rtx_queue_head`
        }
        let expected_ack = self.tstamp[self.snd_una as usize] + known.srtt;
        let threshold = (known.srtt >> 1).min(NSEC_PER_MSEC);
        expected_ack <= now + threshold
    }

    /// The trains that leave now, packets each.
    pub(crate) fn tcp_write_xmit(&mut self, known: Known, now: u64) -> Vec<u32> {
        let mut trains = Vec::new();
        let max_segs = self.tcp_tso_segs(known);
        while !self.queue.is_empty() {
            let mut cwnd_quota = self.tcp_cwnd_test(known.snd_cwnd);
            if cwnd_quota == 0 {
                break;
            }
            cwnd_quota = cwnd_quota.min(max_segs);
            // tcp_grow_skb: from the next buffer alone
            if self.queue.len() > 1 && cwnd_quota > self.queue[0] {
                let moved = (cwnd_quota - self.queue[0]).min(self.queue[1]);
                self.queue[0] += moved;
                self.queue[1] -= moved;
                if self.queue[1] == 0 {
                    self.queue.remove(1);
                }
            }
            let head = self.queue[0];
            let wnd_end = self.snd_una + self.snd_wnd;
            if self.snd_nxt + 1 > wnd_end {
                break; // tcp_snd_wnd_test
            }
            // tcp_nagle_test lets a single full packet go
            if head > 1 && self.tcp_tso_should_defer(head, known, max_segs, now) {
                break;
            }
            let limit = cwnd_quota.min(wnd_end - self.snd_nxt); // tcp_mss_split_point
            let segs = head.min(limit);
            self.queue[0] -= segs; // tso_fragment
            if self.queue[0] == 0 {
                self.queue.pop_front();
            }
            self.snd_nxt += segs;
            self.tstamp.resize(self.snd_nxt as usize, now);
            self.tcp_wstamp_ns = now;
            trains.push(segs);
        }
        trains
    }
}
