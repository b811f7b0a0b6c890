//! How BIC's and CUBIC's windows grow between losses, against the closed forms of their papers.
//!
//! Growth by time (the cubic) is measured where the round trip is constant and acknowledgements are evenly spaced: over
//! a fast link, with ideal host pacing. Growth by round trips is measured by acknowledgements: a window that grows by s
//! packets a round trip obeys dw/dn = s / w, so over n acknowledgements it grows from w to √(w² + 2 s n).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]
#![allow(clippy::disallowed_methods, reason = "closed forms may use the platform's libm")]

use crate::path::{self, Epoch, FAST, SLOW};
use paceline_core::Span;
use paceline_tcp::{Config, Constants, Halving, HostPacing, HyStartMode, PacingRule, Profile, Variant};

/// Loses, once, the first packet sent after each of `losses`, all in seconds.
fn epochs(config: Config, path: (u64, u64), losses: &[f64], until: f64) -> Vec<Epoch> {
    let mut losses = losses.iter().copied().peekable();
    path::epochs(config, path, |_, now| losses.next_if(|at| now > *at).is_some(), until)
}

fn config(variant: Variant, initial_ssthresh: u32) -> Config {
    let halving = Halving::Window;
    Config { variant, halving, initial_ssthresh: Some(initial_ssthresh), ..Config::new(Profile::Rfc) }
}

/// Paced, so that acknowledgements are evenly spaced.
fn paced(constants: Constants, initial_ssthresh: u32) -> Config {
    let pacing = Some(HostPacing { rule: PacingRule::Ideal, gain: 1.0, jitter: 0.0, quantum: None });
    Config { constants, pacing, ..config(Variant::Cubic, initial_ssthresh) }
}

/// C, beta of each set, from RFC 9438 and from the Linux sources. That of 2007 grows in whole numbers: it is held against ns-2's.
const SETS: [(Constants, f64, f64); 2] =
    [(Constants::Rfc9438, 0.4, 0.7), (Constants::Linux2013, 410.0 / 1024.0, 717.0 / 1024.0)];

#[test]
fn cubic_follows_its_curve_within_a_packet() {
    for (constants, c, beta) in SETS {
        let epoch = &epochs(paced(constants, 150), FAST, &[1.0], 10.0)[1];
        assert!(epoch.w_max >= 150.0, "{}", epoch.w_max);
        assert!((epoch.left - beta * epoch.w_max).abs() < 1e-9);
        let k = (epoch.w_max * (1.0 - beta) / c).cbrt();
        let start = epoch.points[0].time;
        let mut furthest: f64 = 0.0;
        for point in &epoch.points {
            let t = point.time - start;
            let curve = c * (t - k).powi(3) + epoch.w_max;
            furthest = furthest.max((point.cwnd - curve).abs());
        }
        assert!(furthest < 1.0, "{constants:?}: {furthest} packets off");
        assert!(epoch.points.last().unwrap().time - start > 1.5 * k, "the run ends on the convex side");
    }
}

#[test]
fn cubic_is_back_at_its_maximum_after_k() {
    for (constants, c, beta) in SETS {
        let epoch = &epochs(paced(constants, 400), FAST, &[1.0], 18.0)[1];
        let k = (epoch.w_max * (1.0 - beta) / c).cbrt();
        let reaches = |cwnd: f64| epoch.points.iter().find(|point| point.cwnd >= cwnd).unwrap().time;
        // The curve is flat there; it is as far below before K as it is above after.
        let middle = (reaches(epoch.w_max - 5.0) + reaches(epoch.w_max + 5.0)) / 2.0 - epoch.points[0].time;
        assert!((middle - k).abs() < 0.01 * k, "{constants:?}: {middle} s, not {k} s");
        let itself = reaches(epoch.w_max) - epoch.points[0].time;
        assert!((itself - k).abs() < 0.05 * k, "{constants:?}: {itself} s, not {k} s");
    }
}

#[test]
fn a_loss_cuts_the_flight_size_where_the_rfcs_are_followed() {
    let halving = Config::new(Profile::Rfc).halving;
    let epoch = &epochs(Config { halving, ..config(Variant::Cubic, 100) }, SLOW, &[1.0], 2.0)[1];
    assert!((epoch.left - 0.7 * epoch.w_max.floor()).abs() < 1e-9, "{} {}", epoch.left, epoch.w_max);
}

#[test]
fn a_second_loss_below_the_maximum_lowers_the_maximum() {
    let all = epochs(paced(Constants::Rfc9438, 400), FAST, &[1.0, 2.5], 16.0);
    let (first, second) = (&all[1], &all[2]);
    assert!(second.w_max < first.w_max - 20.0);
    let origin = second.w_max * (1.0 + 0.7) / 2.0;
    let k = ((origin - 0.7 * second.w_max) / 0.4).cbrt();
    let start = second.points[0].time;
    for point in second.points.iter().filter(|point| point.time - start < 1.5 * k) {
        let curve = 0.4 * (point.time - start - k).powi(3) + origin;
        assert!((point.cwnd - curve).abs() < 1.0, "{point:?}: {curve}");
    }
}

#[test]
fn a_loss_at_or_above_the_maximum_sets_the_maximum() {
    let all = epochs(paced(Constants::Rfc9438, 100), FAST, &[1.0, 9.0], 15.0);
    let (first, second) = (&all[1], &all[2]);
    assert!(second.w_max > first.w_max);
    let k = (second.w_max * 0.3 / 0.4).cbrt();
    for point in &second.points {
        let curve = 0.4 * (point.time - second.points[0].time - k).powi(3) + second.w_max;
        assert!((point.cwnd - curve).abs() < 1.0, "{point:?}: {curve}");
    }
}

#[test]
fn small_windows_grow_as_reno_s_would() {
    for (constants, _, beta) in SETS {
        let config = Config { constants, ..config(Variant::Cubic, 24) };
        let epoch = &epochs(config, SLOW, &[0.3], 2.0)[1];
        let alpha = 3.0 * (1.0 - beta) / (1.0 + beta);
        let mut seen_beyond = false;
        for (n, point) in epoch.points.iter().enumerate() {
            let n = (n + 1) as f64;
            let back = (epoch.w_max.powi(2) - epoch.left.powi(2)) / (2.0 * alpha); // acknowledgements to W_max
            let reno = if n <= back || constants != Constants::Rfc9438 {
                (epoch.left.powi(2) + 2.0 * alpha * n).sqrt()
            } else {
                (epoch.w_max.powi(2) + 2.0 * (n - back)).sqrt() // RFC 9438 section 4.3: alpha is 1 from there on
            };
            seen_beyond |= n > back;
            assert!((point.cwnd - reno).abs() < 0.1, "{constants:?}, {n}: {} {reno}", point.cwnd);
        }
        assert!(seen_beyond, "{constants:?}: the run ends before the maximum");
    }
}

#[test]
fn the_first_avoidance_grows_by_the_set_s_rule_while_no_loss_is_known() {
    // Slow start ends at 100 packets without a loss. RFC 9438: the curve starts flat, at the window where avoidance
    // begins. Linux: at least 5 % a round trip (2013); a packet each 50 that have arrived (2007), that is each 25
    // acknowledgements and one, each counting for 31/16, and slow start ends a packet above, in whole packets; unless Reno is
    // faster.
    for (constants, start, growth, exact) in
        [(Constants::Linux2013, 100.0, 0.05, 0.1), (Constants::Linux2007, 101.0, 1.0 / 26.0, 1.0)]
    {
        let points = &epochs(Config { constants, ..config(Variant::Cubic, 100) }, SLOW, &[], 2.0)[0].points;
        assert!(points.len() > 1000);
        for (n, point) in points.iter().enumerate() {
            let line = start + growth * (n + 1) as f64; // s = growth · w: a fixed step an acknowledgement
            assert!((point.cwnd - line).abs() <= exact, "{constants:?}, {n}: {} {line}", point.cwnd);
        }
    }
    let points = &epochs(paced(Constants::Rfc9438, 100), FAST, &[], 8.0)[0].points;
    for point in points {
        let t = point.time - points[0].time;
        let (reno, cubic) = (100.0 + t / 0.1, 100.0 + 0.4 * t.powi(3));
        assert!((point.cwnd - reno.max(cubic)).abs() < 1.0, "{point:?}: {reno} {cubic}");
    }
    assert!(points.last().unwrap().cwnd > 200.0);
}

/// After how many acknowledgements BIC's window grows by one, by the definition: whole packets from W_max, and each
/// acknowledgement counts for 31/16 packets.
fn bic_count(cwnd: u64, w_max: u64) -> u64 {
    let packets = match w_max as i64 - cwnd as i64 {
        distance if distance >= 8 => cwnd / (distance as u64 / 4).min(16),
        distance if distance > -4 => 5 * cwnd,
        distance if distance > -48 => 3 * cwnd / distance.unsigned_abs(),
        _ => cwnd / 16,
    };
    (packets * 16 / 31).max(1)
}

#[test]
fn bic_follows_its_closed_form_within_a_packet() {
    for (ssthresh, until) in [(300, 120.0), (60, 30.0)] {
        let all = epochs(config(Variant::Bic, ssthresh), SLOW, &[1.0], until);
        let epoch = &all[1];
        assert!((epoch.left - epoch.w_max * 819.0 / 1024.0).abs() < 1e-9);
        let mut furthest: f64 = 0.0;
        let mut form = epoch.left;
        for point in &epoch.points {
            form += 1.0 / bic_count(form as u64, epoch.w_max as u64) as f64;
            furthest = furthest.max((point.cwnd - form).abs());
        }
        assert!(furthest < 1.0, "{furthest} packets off");
        assert!(epoch.points.last().unwrap().cwnd > epoch.w_max + 20.0, "the run ends beyond the maximum");
    }
}

/// ns-2's TCP-Linux, which runs Linux's own source of 2007: the same window, but where it recovers: there ns-2 shows what may be
/// in flight, while that is more. An acknowledgement that falls on a sample counts on one side and not on the other.
#[test]
fn windows_are_those_of_linux_s_source_in_ns2() {
    for (variant, text) in [
        (Variant::Cubic, include_str!("../../../tests/oracles/ns2-growth/cubic.csv")),
        (Variant::Bic, include_str!("../../../tests/oracles/ns2-growth/bic.csv")),
    ] {
        let config = Config {
            delayed_ack: Some(Span::from_millis(100)),
            max_window: 100_000,
            timestamps: true,
            data_with_syn: true,
            payload: 960,
            header: 50,
            ..Config::of_variant(Profile::Ns2, variant)
        };
        assert_eq!(config.constants, Constants::Linux2007);
        let path = (1_010_000, 100_040_000); // 1010 B at 8 Mbit/s, 50 ms each way, and an acknowledgement of 40 B
        let all = path::epochs(config, path, |ordinal, _| [300, 3000].contains(&ordinal), 24.0);
        let (mut same, mut compared) = (0, 0);
        for row in text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
            let (time, cwnd) = row.split_once(',').unwrap();
            let (time, cwnd): (f64, f64) = (time.parse().unwrap(), cwnd.parse().unwrap());
            let between_losses = all[1..]
                .iter()
                .zip([3.6, 24.0])
                .find(|(epoch, end)| (epoch.points[0].time + 0.3..*end).contains(&time));
            if let Some((epoch, _)) = between_losses {
                let point = epoch.points.iter().rev().find(|point| point.time <= time).unwrap();
                assert!((point.cwnd - cwnd).abs() <= 1.0, "{variant:?}, {time} s: {} {cwnd}", point.cwnd);
                same += u32::from(point.cwnd == cwnd);
                compared += 1;
            }
        }
        assert!(compared > 200, "{compared} rows");
        assert!(same + compared / 20 >= compared, "{variant:?}: {same} of {compared} rows");
    }
}

#[test]
fn bic_lowers_its_maximum_as_linux_does_and_is_reno_below_its_low_window() {
    let all = epochs(config(Variant::Bic, 300), SLOW, &[1.0, 2.5, 20.0], 21.0);
    assert!(all[2].w_max < all[1].w_max, "{} {}", all[2].w_max, all[1].w_max);
    // W_max is now less than the window of the second loss: the search is flat about that.
    let flat = all[2].w_max * (1.0 + 819.0 / 1024.0) / 2.0;
    let about = all[2].points.iter().filter(|point| (point.cwnd - flat).abs() < 3.0).count();
    let before = all[2].points.iter().filter(|point| (point.cwnd - flat + 20.0).abs() < 3.0).count();
    assert!(about > 8 * before, "{about} {before}");

    let small = epochs(Config { max_window: 12, ..config(Variant::Bic, 12) }, SLOW, &[0.5], 1.0);
    assert_eq!(small[1].left, 6.0);
    // A packet each cwnd acknowledgements.
    let mut reno: f64 = 6.0;
    for point in &small[1].points {
        reno = (reno + 1.0 / reno.floor()).min(12.0);
        assert!((point.cwnd - reno).abs() < 1e-6, "{point:?}: {reno}");
    }
}

/// The window at which slow start ended, and the time, seconds; `None` if it went on until the end.
fn slow_start_ends(config: Config, path: (u64, u64), until: f64) -> Option<f64> {
    let all: Vec<f64> = epochs(config, path, &[], until)[0].points.iter().map(|point| point.cwnd).collect();
    // From there on the window grows by less than a packet an acknowledgement.
    all.windows(2).find(|pair| pair[1] > pair[0] && pair[1] - pair[0] < 0.9).map(|pair| pair[0])
}

#[test]
fn hystart_ends_slow_start_where_the_queue_begins() {
    let config = Config {
        variant: Variant::Cubic,
        constants: Constants::Linux2013,
        delayed_ack: None,
        initial_window: 10,
        ..Config::new(Profile::Linux)
    };
    assert_eq!(config.hystart, HyStartMode::Linux);
    // Acknowledgements 1 ms apart are a train. Rounds have 1, 10, 20, 40, 80 of them. The last one's lasts half of the round
    // trip, 101 ms, with its 52nd: the window is 80 then, and one more for each.
    let ends = slow_start_ends(config.clone(), (1_000_000, 100_000_000), 1.0).unwrap();
    assert!((ends - 132.0).abs() <= 2.0, "{ends}");
    // 3 ms apart they are none: the least round trip of a round must be longer than 106 ms by an eighth of that, 13.25 ms. 40
    // packets take 120 ms to leave, so that the round of 80 begins with a queue of 14 ms, and its ninth sample ends slow start: at 89.
    let ends = slow_start_ends(config.clone(), (3_000_000, 103_000_000), 2.0).unwrap();
    assert!((ends - 89.0).abs() <= 2.0, "{ends}");
    // Without a queue slow start does not end.
    assert_eq!(slow_start_ends(config.clone(), (1_000, 100_000_000), 0.6), None);
    // Nor is there one without HyStart.
    assert_eq!(
        slow_start_ends(Config { hystart: HyStartMode::Off, ..config }, (3_000_000, 103_000_000), 2.0),
        None
    );
}

/// RFC 9406, where a packet takes 3 ms and a round trip 106 ms without a queue, as above.
#[test]
fn hystart_plus_plus_grows_slower_where_the_queue_begins_and_then_by_the_curve() {
    let config = Config {
        variant: Variant::Cubic,
        hystart: HyStartMode::Rfc9406,
        delayed_ack: None,
        initial_window: 10,
        ..Config::of_variant(Profile::Rfc, Variant::Cubic)
    };
    let windows = |config, until| -> Vec<f64> {
        epochs(config, (3_000_000, 103_000_000), &[], until)[0]
            .points
            .iter()
            .map(|point| point.cwnd)
            .collect()
    };
    let found = windows(config.clone(), 4.0);
    let grown = |pair: &[f64]| pair[1] - pair[0];
    let slower = found.windows(2).position(|pair| (grown(pair) - 0.25).abs() < 1e-9).unwrap();
    let over = found.windows(2).position(|pair| grown(pair) > 0.0 && grown(pair) < 0.2).unwrap();
    // What an acknowledgement sends counts for the round after the next: rounds have 10, 18, 36 and 72 packets. The path holds 35: so the
    // fourth is the first without a packet that found no queue. It begins at a window of 74, and its eighth acknowledgement says so.
    assert!((found[slower] - 82.0).abs() <= 1.0, "{}", found[slower]);
    assert!(over > slower && found[over] > 1.25_f64.powi(4) * found[slower], "{}", found[over]);
    // Without it slow start goes on.
    let plain = windows(Config { hystart: HyStartMode::Off, ..config }, 2.0);
    assert!(plain.windows(2).all(|pair| grown(pair) == 0.0 || (grown(pair) - 1.0).abs() < 1e-9));
}
