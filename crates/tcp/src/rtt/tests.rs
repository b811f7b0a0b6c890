use super::*;
use crate::config::Profile;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// One sample through the estimator: segment `seq` out at `sent`, acknowledged at `back` (ms).
fn sample((rtt, smoothed): (&mut Rtt, &mut f64), config: &Config, seq: u32, sent: u64, back: u64) {
    rtt.on_first_transmission(seq, at(sent));
    rtt.on_ack(config, Some(smoothed), seq + 1, at(back));
}

#[test]
fn rfc_6298_worked_by_hand() {
    let config = Config { min_rto: Span::ZERO, ..Config::new(Profile::Rfc) };
    let mut rtt = Rtt::new(&config, Span::ZERO);
    let mut smoothed = 0.0;
    assert_eq!(rtt.timeout(), Span::from_millis(1000));
    sample((&mut rtt, &mut smoothed), &config, 0, 0, 100); // srtt 100, rttvar 50 (2.2)
    assert_eq!(rtt.timeout(), Span::from_millis(300));
    sample((&mut rtt, &mut smoothed), &config, 1, 100, 260); // error 60: rttvar 50 * 3/4 + 15 = 52.5, srtt 107.5 (2.3)
    assert_eq!(rtt.timeout(), Span::from_nanos(317_500_000));
}

#[test]
fn linux_adds_its_least_timeout_to_the_round_trip() {
    let config = Config::new(Profile::Linux);
    let mut rtt = Rtt::new(&config, Span::ZERO);
    let mut smoothed = 0.0;
    for number in 0..40 {
        sample(
            (&mut rtt, &mut smoothed),
            &config,
            number,
            100 * u64::from(number),
            100 * u64::from(number) + 100,
        );
    }
    assert_eq!(rtt.timeout(), Span::from_millis(300));
}

#[test]
fn ticks_round_as_in_ns2() {
    let config = Config::new(Profile::Ns2); // 10 ms ticks
    let mut rtt = Rtt::new(&config, Span::from_millis(3));
    let mut smoothed = 0.0;
    sample((&mut rtt, &mut smoothed), &config, 0, 0, 248); // (248 + 3) / 10 = 25 ticks: 25 + 4 * 12.5
    assert_eq!(rtt.timeout(), Span::from_millis(750));
}

#[test]
fn back_off_doubles_to_the_maximum_and_a_sample_ends_it() {
    let config = Config::new(Profile::Ns2);
    let mut rtt = Rtt::new(&config, Span::ZERO);
    let mut smoothed = 0.0;
    sample((&mut rtt, &mut smoothed), &config, 0, 0, 10);
    let mut last = rtt.timeout();
    assert_eq!(last, config.min_rto);
    for _ in 0..12 {
        rtt.back_off(&config, smoothed);
        let next = rtt.timeout();
        assert!(next == Span::from_nanos(last.as_nanos() * 2) || next == config.max_rto);
        last = next;
    }
    assert_eq!(last, config.max_rto);
    sample((&mut rtt, &mut smoothed), &config, 1, 1000, 1010);
    assert_eq!(rtt.backoffs, 0);
}

/// RFC 6298 (5.5); ns-2 `rtt_backoff`, 64-fold at most before 2007; Linux `TCP_RTO_MAX`. Timeouts in seconds, one after another.
#[test]
fn each_profile_has_its_limit_of_back_off() {
    let seconds = |config: &Config, count| {
        let mut rtt = Rtt::new(config, Span::ZERO);
        let next = |_| {
            rtt.back_off(config, 0.0);
            rtt.timeout().as_seconds()
        };
        (0..count).map(next).collect::<Vec<_>>()
    };
    for (profile, expected) in [
        (Profile::Ns2Of2005, &[12.0, 24.0, 48.0, 96.0, 192.0, 384.0, 384.0, 384.0][..]),
        (Profile::Ns2, &[6.0, 12.0, 24.0, 48.0, 60.0, 60.0]),
        (Profile::Rfc, &[2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]),
        (Profile::Linux, &[2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 120.0, 120.0]),
    ] {
        assert_eq!(seconds(&Config::new(profile), expected.len()), expected, "{profile:?}");
    }
    // Without `rfc2988_` ns-2 goes 64-fold at most, whatever the greatest timeout is; and no limit at all: 2^32 - 1 for one.
    let max_rto = Span::from_millis(1_000_000);
    let late = Config { min_rto_backs_off: false, max_rto, ..Config::new(Profile::Ns2) };
    assert_eq!(seconds(&late, 8)[5..], [192.0; 3]);
    let (max_rto, initial_rto) = (Span::MAX, Span::from_nanos(1_000_000_000));
    let endless = Config { max_rto, initial_rto, min_rto: Span::ZERO, ..Config::new(Profile::Rfc) };
    let all = seconds(&endless, 40);
    assert_eq!((all[30], all[31], all[39]), (2_147_483_648.0, 4_294_967_295.0, 4_294_967_295.0));
}

/// ns-2 `rtt_timeout`; a round trip of no time is one tick.
#[test]
fn two_ticks_are_the_least_timeout_whatever_the_greatest_is() {
    let config = Config { min_rto: Span::ZERO, ..Config::new(Profile::Ns2) };
    let timeout = |max_rto| {
        let config = Config { max_rto, ..config.clone() };
        let mut rtt = Rtt::new(&config, Span::ZERO);
        sample((&mut rtt, &mut 0.0), &config, 0, 0, 0);
        rtt.timeout()
    };
    assert_eq!(timeout(Span::MAX), Span::from_millis(30)); // 1 and four times a half
    assert_eq!(timeout(Span::from_millis(15)), Span::from_millis(20));
}

/// A partial acknowledgement (ns-2 tcp-newreno.cc `partialnewack_helper`) is no sample, but ends the back-off as one does.
#[test]
fn a_partial_acknowledgement_of_what_is_timed_ends_the_back_off() {
    let config = Config::new(Profile::Ns2);
    let mut rtt = Rtt::new(&config, Span::ZERO);
    let mut smoothed = 0.0;
    sample((&mut rtt, &mut smoothed), &config, 0, 0, 100);
    rtt.back_off(&config, smoothed);
    rtt.on_first_transmission(5, at(1000));
    let timeouts = [5, 6, 7].map(|next| {
        rtt.on_partial_ack(&config, smoothed, next);
        rtt.timeout()
    });
    assert_eq!(timeouts, [600, 300, 300].map(Span::from_millis)); // 100 ms and 4 * 50
    rtt.back_off(&config, smoothed);
    rtt.on_partial_ack(&config, smoothed, 8); // nothing is timed any more
    assert_eq!(rtt.timeout(), Span::from_millis(600));
}

#[test]
fn what_was_sent_again_is_not_timed() {
    let config = Config::new(Profile::Ns2);
    let mut rtt = Rtt::new(&config, Span::ZERO);
    rtt.on_first_transmission(0, at(0));
    rtt.stop_timing();
    assert_eq!(rtt.on_ack(&config, None, 1, at(500)), None);
}
