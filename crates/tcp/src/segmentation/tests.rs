//! Against Linux's functions, written out in bytes and nanoseconds as they stand there.

#![allow(clippy::cast_possible_wrap, reason = "times are far below 2^63 ns")]

use super::*;
use proptest::prelude::*;

/// `tcp_tso_autosize` and `tcp_tso_segs` of Linux 6.18, `sk_gso_max_size` 65,536 B less 321 B of headers, `sk_pacing_shift` 10.
fn kernels_train(pacing_rate: u64, mss: u64, min_tso_segs: u64, min_rtt_us: u64) -> u64 {
    let gso_max_size = 65_536 - (320 + 1);
    let mut bytes = pacing_rate >> 10;
    let r = min_rtt_us >> 9;
    if r < 32 {
        bytes += gso_max_size >> r;
    }
    (bytes.min(gso_max_size) / mss).max(min_tso_segs)
}

/// Rate, byte/s; segment, bytes; least round trip, us; packets: by hand.
#[test]
fn a_train_is_a_millisecond_of_the_rate_and_more_on_short_paths() {
    let far = 40_000;
    for (rate, payload, rtt, expected) in [
        (125_000, 1448, far, 2),      // 1 Mbit/s: 122 B; at least two
        (2_500_000, 1448, far, 2),    // 20 Mbit/s: 2441 B, one
        (5_000_000, 1448, far, 3),    // 40 Mbit/s: 4882 B
        (12_500_000, 1448, far, 8),   // 100 Mbit/s: 12,207 B
        (125_000_000, 1448, far, 45), // 1 Gbit/s: 122,070 B, beyond the largest
        (125_000_000, 8948, far, 7),  // the same with jumbo frames
        (2_500_000, 1448, 511, 45),   // the whole largest train below 512 us
        (2_500_000, 1448, 512, 24),   // 2441 + 32,607 B
        (2_500_000, 1448, 1_024, 12), // 2441 + 16,303 B
        (2_500_000, 1448, 2_048, 4),  // 2441 + 4,075 B
        (2_500_000, 1448, 3_072, 2),  // 2441 + 1,018 B
        (u64::MAX, 1448, far, 45),
    ] {
        assert_eq!(train(rate, payload, LEAST_TRAIN, Some(rtt)), expected, "{rate} {payload} {rtt}");
    }
    assert_eq!(train(2_500_000, 1448, LEAST_TRAIN, None), 2, "no round trip is known");
}

/// The bounds of a wait, each met and passed: a millisecond since the last packet, half a round trip or a millisecond to the next
/// acknowledgement, a third of the window, the longest train, the buffer.
#[test]
fn a_wait_ends_at_its_bounds() {
    let us = |us: u64| Span::from_nanos(us * 1_000);
    let train = |room, idle, next_ack, srtt| Waiting {
        room,
        window: 30,
        longest: 12,
        buffer: 12,
        is_last: true,
        idle,
        next_ack: Some(next_ack),
        srtt,
    };
    let beyond = |span: Span| Span::from_nanos(span.as_nanos() + 1);
    for (most_idle, most_away, srtt) in [(us(1_000), us(1_000), us(40_000)), (us(1_000), us(300), us(600))] {
        assert!(defers(train(1, most_idle, most_away, srtt)));
        assert!(!defers(train(1, beyond(most_idle), most_away, srtt)));
        assert!(!defers(train(1, most_idle, beyond(most_away), srtt)));
    }
    let one = train(9, us(0), us(0), us(40_000));
    assert!(defers(one) && !defers(Waiting { room: 10, ..one }), "a third of the window");
    assert!(
        !defers(Waiting { room: 12, window: 300, ..one }) && defers(Waiting { room: 11, window: 300, ..one })
    );
    assert!(!defers(Waiting { buffer: 1, ..one }) && defers(Waiting { buffer: 2, ..one }));
    assert!(!defers(Waiting { is_last: false, buffer: 9, ..one }));
    assert!(defers(Waiting { is_last: false, buffer: 10, ..one }));
    assert!(!defers(Waiting { next_ack: None, ..one }));
}

/// What `tcp_tso_should_defer` reads, in its units: bytes, ns.
#[derive(Debug, Clone, Copy)]
struct Kernel {
    mss: u64,
    in_flight: u64,
    cwnd: u64,
    send_win: u64,
    snd_wnd: u64,
    skb_len: u64,
    is_tail: bool,
    max_segs: u64,
    now: i64,
    wstamp: i64,
    head_tstamp: Option<i64>,
    srtt_ns: i64,
}

/// `tcp_tso_should_defer` of Linux 6.18 with `tcp_tso_win_divisor` 3, outside of recovery, without FIN.
fn kernel_defers(it: Kernel) -> bool {
    let delta = it.now - it.wstamp - 1_000_000;
    if delta > 0 {
        return false;
    }
    let cong_win = (it.cwnd - it.in_flight) * it.mss;
    let limit = it.send_win.min(cong_win);
    if limit >= it.max_segs * it.mss {
        return false;
    }
    if !it.is_tail && limit >= it.skb_len {
        return false;
    }
    let chunk = it.snd_wnd.min(it.cwnd * it.mss) / 3;
    if limit >= chunk {
        return false;
    }
    let Some(head) = it.head_tstamp else { return false };
    let how_far_is_the_ack = head + it.srtt_ns - it.now;
    let threshold = (it.srtt_ns / 2).min(1_000_000);
    if how_far_is_the_ack - threshold > 0 {
        return false;
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn sizes_are_the_kernel_s(
        rate in prop_oneof![0..1_000_000_u64, 0..200_000_000_u64],
        mss in 200..9_000_u64,
        rtt_us in prop_oneof![0..20_000_u64, 0..1_000_000_u64],
    ) {
        prop_assert_eq!(u64::from(train(rate, mss, LEAST_TRAIN, Some(rtt_us))), kernels_train(rate, mss, 2, rtt_us));
    }

    #[test]
    fn waits_where_the_kernel_waits(
        (mss, cwnd, free, in_window) in (500..9_000_u64, 2..200_u64, 1..80_u64, 1..200_u64),
        (skb, is_tail, max_segs) in (2..46_u64, any::<bool>(), 2..46_u64),
        (ago, head, srtt_ns) in (
            -500_000..3_000_000_i64, prop::option::of(0..30_000_000_i64), 100_000..30_000_000_i64,
        ),
    ) {
        let in_flight = cwnd.saturating_sub(free).max(u64::from(head.is_some()));
        prop_assume!(in_flight < cwnd);
        let snd_wnd = in_flight + in_window;
        let now = 1_000_000_000_i64;
        let kernel = Kernel {
            mss, in_flight, cwnd, send_win: in_window * mss, snd_wnd: snd_wnd * mss, skb_len: skb * mss, is_tail,
            max_segs, now, wstamp: now - ago, head_tstamp: head.map(|ago| now - ago), srtt_ns,
        };
        let packets = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let span = |ns: i64| Span::from_nanos(u64::try_from(ns).unwrap_or(0));
        let waiting = Waiting {
            room: packets((cwnd - in_flight).min(in_window)),
            window: packets(cwnd.min(snd_wnd)),
            longest: packets(max_segs),
            buffer: packets(skb),
            is_last: is_tail,
            idle: span(ago),
            next_ack: head.map(|ago| span(srtt_ns - ago)),
            srtt: span(srtt_ns),
        };
        prop_assert_eq!(defers(waiting), kernel_defers(kernel));
    }
}
