use super::*;

const WINDOW: Window =
    Window { cwnd: 4.0, ssthresh: 20.0, in_flight: 4.0, limit: 1000.0, recovering: false, packet: 1040 };

fn pacing(rule: PacingRule) -> Pacing {
    let mut pacing = Pacing::new(HostPacing { rule, gain: 1.0, jitter: 0.0, quantum: None }, 1);
    pacing.on_sample(Span::from_millis(240), 4.0);
    pacing
}

fn gap_ms(rule: PacingRule, window: Window) -> f64 {
    pacing(rule).gap(&window, 1).as_seconds() * 1e3
}

#[test]
fn each_rule_has_its_gap() {
    assert_eq!(gap_ms(PacingRule::Wei, WINDOW), 30.0); // 2 cwnd over the round trip
    assert_eq!(gap_ms(PacingRule::Wei, Window { ssthresh: 6.0, ..WINDOW }), 40.0); // at most ssthresh
    assert_eq!(gap_ms(PacingRule::Wei, Window { ssthresh: 3.0, ..WINDOW }), 48.0); // cwnd + 1
    assert_eq!(gap_ms(PacingRule::Ideal, WINDOW), 60.0);
    assert_eq!(gap_ms(PacingRule::Linux, WINDOW), 30.0);
    assert_eq!(gap_ms(PacingRule::Linux, Window { ssthresh: 8.0, ..WINDOW }), 50.0);
    assert_eq!(gap_ms(PacingRule::Prague, WINDOW), 30.0);
    assert_eq!(gap_ms(PacingRule::Prague, Window { ssthresh: 8.0, ..WINDOW }), 60.0);
}

/// `prague_update_pacing_rate` as TCP Prague's module has it, in bytes and microseconds: the rate, byte/s, and the burst, packets.
fn prague_module(srtt_us: u64, (cwnd, ssthresh, in_flight): (u64, u64, u64), mtu: u64) -> (u64, u64) {
    let mut rate = 8_000_000 * mtu; // srtt_us of the kernel is eight times the round trip
    if cwnd < ssthresh / 2 {
        rate <<= 1;
    }
    rate = rate / (8 * srtt_us) * cwnd.max(in_flight);
    (rate, ((rate / mtu) >> 12).max(1))
}

/// Random windows and round trips: gap and burst are the module's, whose divisions of whole numbers lose less than a part in a thousand of the
/// rate, and a packet of the burst where that is what the rounding decides. Thresholds are even, for an odd one the module halves down.
#[test]
fn prague_paces_as_its_module() {
    let mut draws = Pcg32::seed_from_u64(7);
    let mut draw = |most: u32| u64::from(1 + draws.next_u32() % most);
    let mut longest = 0;
    for _ in 0..20_000 {
        let (srtt_us, mtu) = (100 + draw(40_000), 600 + draw(900));
        let (cwnd, ssthresh, in_flight) = (draw(3_000), 2 * draw(3_000), draw(3_000));
        let (rate, burst) = prague_module(srtt_us, (cwnd, ssthresh, in_flight), mtu);
        let rule = HostPacing { rule: PacingRule::Prague, gain: 1.0, jitter: 0.0, quantum: None };
        let mut pacing = Pacing::new(rule, 1);
        pacing.on_sample(Span::from_nanos(srtt_us * 1000), 4.0);
        let [cwnd, ssthresh, in_flight] = [cwnd, ssthresh, in_flight].map(|packets| packets as f64);
        let window = Window { cwnd, ssthresh, in_flight, limit: 1e9, recovering: false, packet: mtu as u32 };
        let gap = pacing.seconds_a_packet(&window);
        assert!((gap * rate as f64 / mtu as f64 - 1.0).abs() < 1e-3, "{window:?}: {gap} s, {rate} B/s");
        let greatest = 65_536 / mtu; // of the host, not of the module
        let exact = (1.0 / gap / 4096.0).max(1.0);
        let own = u64::from(pacing.burst_by_rate(&window));
        assert!(own == burst.min(greatest) || exact.fract() < 2e-3 * exact, "{window:?}: {own}, {burst}");
        assert_eq!(pacing.longest_train(|| window).map(u64::from), Some(own));
        longest = longest.max(own);
    }
    assert!(longest > 40, "{longest}");
}

/// A burst lasts 1/4096 s at most at the rate, unless it is a packet; 250 us of 100 Mbit/s are two packets of 1500 B, and of 10 Mbit/s less than one.
#[test]
fn prague_bursts_last_a_quarter_of_a_millisecond() {
    let burst = |packets_a_second: f64| {
        let window =
            Window { cwnd: packets_a_second * 0.24, ssthresh: 2.0, packet: 1500, limit: 1e9, ..WINDOW };
        pacing(PacingRule::Prague).burst_by_rate(&window)
    };
    let mbps = |rate: f64| burst(rate * 1e6 / 12_000.0);
    assert_eq!([10.0, 98.0, 99.0, 1000.0, 10_000.0].map(mbps), [1, 1, 2, 20, 43]);
    assert_eq!([100.0, 8191.0, 8193.0].map(burst), [1, 1, 2]);
    // A quantum that is given is that.
    let given = HostPacing { rule: PacingRule::Prague, gain: 1.0, jitter: 0.0, quantum: Some(7) };
    assert_eq!(Pacing::new(given, 1).longest_train(|| WINDOW), Some(7));
    assert_eq!(pacing(PacingRule::Linux).longest_train(|| WINDOW), None);
}

/// `tcp_tso_autosize`: what the rate sends in 1 ms, from two packets to 64 KiB.
#[test]
fn linux_sends_bursts_of_a_millisecond() {
    // In slow start the rate is 2 cwnd over the 240 ms: of 1200 packets 10 a millisecond.
    for (cwnd, packet, burst) in [
        (1_200.0, 1_040, 10),
        (1_319.0, 1_040, 10),
        (1_321.0, 1_040, 11),
        (120.0, 1_040, 2),
        (12_000.0, 1_040, 63), // 65,536 B / 1040 B
        (12_000.0, 70_000, 2),
        (600.0, 13_000, 5),
        (12_000.0, 13_000, 5),
    ] {
        let window = Window { cwnd, packet, ssthresh: 1e9, limit: 1e9, ..WINDOW };
        assert_eq!(pacing(PacingRule::Linux).burst_by_rate(&window), burst, "{cwnd} of {packet} B");
    }
}

/// `tcp_update_pacing_rate`: the first ten packets (`TCP_INIT_CWND`) are free.
#[test]
fn kernels_pace_from_the_eleventh_packet_on() {
    for (rule, burst) in [(PacingRule::Linux, 2), (PacingRule::Prague, 1)] {
        let mut pacing = pacing(rule);
        let mut timer = Instant::MAX;
        for sent in [4, 5, 1] {
            assert_eq!(pacing.on_event(|| WINDOW, &mut timer, Instant::ZERO), Permit::All);
            pacing.on_sent(sent, Instant::ZERO);
        }
        assert_eq!(pacing.on_event(|| WINDOW, &mut timer, Instant::ZERO), Permit::Some(burst));
        pacing.after_burst(|| WINDOW, (2, false), &mut timer, Instant::ZERO);
        assert_eq!(timer, Instant::from_nanos(60_000_000)); // two packets of 30 ms
        assert_eq!(pacing.on_event(|| WINDOW, &mut timer, Instant::from_nanos(70_000_000)), Permit::None);
    }
}

/// Which rules set the timer where nothing more may leave; none where nothing has left; what a timeout does to it.
#[test]
fn the_gap_is_held_after_the_last_packet_but_for_wei() {
    for (rule, burst, armed) in [
        (PacingRule::Wei, (1, true), true),
        (PacingRule::Wei, (1, false), false),
        (PacingRule::Ideal, (1, false), true),
        (PacingRule::Ideal, (0, true), false), // a train waits for a longer one, and leaves with an acknowledgement
        (PacingRule::Ideal, (0, false), false),
    ] {
        let mut timer = Instant::MAX;
        let mut pacing = pacing(rule);
        pacing.on_sent(1, Instant::ZERO);
        pacing.after_burst(|| WINDOW, burst, &mut timer, Instant::ZERO);
        assert_eq!(timer != Instant::MAX, armed, "{rule:?} {burst:?}");
        pacing.reset(&mut timer);
        assert_eq!(timer != Instant::MAX, armed && rule == PacingRule::Wei, "{rule:?} {burst:?}");
    }
    // A timer that would run out at the end of time still runs.
    let mut timer = Instant::MAX;
    pacing(PacingRule::Ideal).after_burst(|| WINDOW, (1, true), &mut timer, Instant::MAX);
    assert_eq!(timer, Instant::from_nanos(u64::MAX - 1));
}

/// Wei's patch weighs a sample by a third of the window, by a fourth at least; the others by an eighth (RFC 6298).
#[test]
fn round_trips_are_smoothed_by_each_rule() {
    let after = |rule, cwnd| {
        let mut pacing = pacing(rule); // 240 ms
        pacing.on_sample(Span::from_millis(360), cwnd);
        let recovering = pacing.gap(&Window { recovering: true, cwnd: 47.0, ssthresh: 2.0, ..WINDOW }, 1);
        (Span::from_seconds(pacing.srtt), recovering)
    };
    let least_rtt = Span::from_millis(5); // 240 ms / 48
    assert_eq!(after(PacingRule::Wei, 6.0), (Span::from_millis(270), least_rtt));
    assert_eq!(after(PacingRule::Wei, 36.0), (Span::from_millis(250), least_rtt));
    assert_eq!(after(PacingRule::Ideal, 36.0).0, Span::from_millis(255));
    assert_eq!(after(PacingRule::Linux, 36.0).0, Span::from_millis(255));
}

#[test]
fn a_gain_divides_the_gap_and_packets_that_left_together_multiply_it() {
    let mut pacing =
        Pacing::new(HostPacing { rule: PacingRule::Ideal, gain: 1.5, jitter: 0.0, quantum: None }, 1);
    pacing.on_sample(Span::from_millis(240), 4.0);
    assert_eq!(pacing.gap(&WINDOW, 3), Span::from_millis(120));
}

/// What is in flight counts where it is more than the window; and a packet at least is.
#[test]
fn linux_paces_by_what_is_in_flight() {
    let window = Window { cwnd: 4.0, in_flight: 10.0, ssthresh: 2.0, ..WINDOW };
    assert_eq!(gap_ms(PacingRule::Linux, window), 20.0);
    assert_eq!(
        gap_ms(PacingRule::Linux, Window { cwnd: 0.5, in_flight: 0.0, ssthresh: 1.0, ..window }),
        200.0
    );
}

#[test]
fn a_window_is_that_of_its_sender() {
    let config = Config { max_window: 7, ..Config::new(crate::config::Profile::Ns2) };
    for (una, recovering) in [(9, true), (10, true), (11, false)] {
        let window = Window::new(&config, (3.5, 2), (una, 15), 10);
        assert_eq!((window.in_flight, window.recovering), (f64::from(15 - una), recovering));
        assert_eq!((window.cwnd, window.ssthresh, window.limit, window.packet), (3.5, 2.0, 7.0, 1040));
    }
}

#[test]
fn a_window_beyond_the_receiver_s_does_not_count() {
    let window = Window { cwnd: 700.0, limit: 60.0, ..WINDOW };
    let window_of_59 = Window { limit: 59.0, ..window };
    assert_eq!(gap_ms(PacingRule::Wei, window_of_59), 4.0); // window + 1
    assert_eq!(gap_ms(PacingRule::Wei, Window { ssthresh: 1000.0, ..window_of_59 }), 4.0);
    assert_eq!(gap_ms(PacingRule::Ideal, window), 4.0);
    assert_eq!(gap_ms(PacingRule::Linux, Window { ssthresh: 700.0, cwnd: 720.0, ..window }), 3.333333);
}

#[test]
fn wei_only_pulls_the_timer_earlier() {
    let mut pacing = pacing(PacingRule::Wei);
    let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    let mut timer = Instant::MAX;
    assert_eq!(pacing.on_event(|| WINDOW, &mut timer, at(0)), Permit::Some(1));
    pacing.on_sent(1, at(0));
    pacing.after_burst(|| WINDOW, (1, true), &mut timer, at(0));
    assert_eq!(timer, at(30));
    // A smaller window wants a longer gap: the timer stays. A larger one pulls it.
    assert_eq!(pacing.on_event(|| Window { cwnd: 2.0, ..WINDOW }, &mut timer, at(1)), Permit::None);
    assert_eq!(timer, at(30));
    assert_eq!(pacing.on_event(|| Window { cwnd: 6.0, ..WINDOW }, &mut timer, at(2)), Permit::None);
    assert_eq!(timer, at(20));
    assert_eq!(pacing.on_event(|| Window { cwnd: 8.0, ..WINDOW }, &mut timer, at(16)), Permit::Some(1));
}

#[test]
fn nothing_is_paced_before_a_sample() {
    let settings = HostPacing { rule: PacingRule::Ideal, gain: 1.0, jitter: 0.0, quantum: None };
    let mut timer = Instant::MAX;
    assert_eq!(Pacing::new(settings, 1).on_event(|| WINDOW, &mut timer, Instant::ZERO), Permit::All);
}

#[test]
fn jitter_stays_in_its_range_and_keeps_the_mean() {
    let settings = HostPacing { rule: PacingRule::Ideal, gain: 2.0, jitter: 0.5, quantum: None };
    let mut pacing = Pacing::new(settings, 7);
    pacing.on_sample(Span::from_millis(240), 4.0);
    let gaps: Vec<f64> = (0..10_000).map(|_| pacing.gap(&WINDOW, 1).as_seconds()).collect();
    assert!(gaps.iter().all(|gap| (0.015..=0.045).contains(gap)));
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!((mean - 0.030).abs() < 0.0005, "{mean}");
}

/// Linux `tcp_update_skb_after_send`, with trains alone: a train that left late shortens the gap after it by that, at most by half.
#[test]
fn a_late_train_shortens_the_gap_after_it() {
    let gap_after = |are_trains: bool, late_us: u64| {
        let mut pacing = pacing(PacingRule::Linux).in_trains(are_trains);
        pacing.on_sent(10, Instant::ZERO); // Linux's free packets
        let mut timer = Instant::MAX;
        pacing.after_burst(|| WINDOW, (4, true), &mut timer, Instant::from_nanos(1));
        let leaves = timer + Span::from_nanos(late_us * 1000);
        pacing.after_burst(|| WINDOW, (4, true), &mut timer, leaves);
        assert_eq!(pacing.next_train(), if are_trains { timer } else { Instant::ZERO });
        timer.since(leaves).as_nanos() / 1000
    };
    let whole = gap_after(false, 0);
    assert!(whole > 1000, "{whole}");
    assert_eq!([gap_after(false, 700), gap_after(true, 0)], [whole, whole]);
    assert_eq!(gap_after(true, 700), whole - 700);
    assert!(gap_after(true, 1_000_000).abs_diff(whole / 2) <= 1);
}
