//! Closed forms of BBR's phases on one bottleneck, and what Linux's comments promise.

use super::*;
use crate::cc::Control;
use crate::cc::rate::tests::{Bottleneck, MS};
use crate::config::Variant;

mod linux;

fn path(megabits: u64, ms: u64, buffer: usize) -> Bottleneck {
    Bottleneck::new(Variant::Bbr, megabits, ms, buffer, None)
}

fn model(path: &Bottleneck) -> &Model {
    match &path.sender.state.cold.control {
        Some(Control::Bbr(control)) => control.model(),
        _ => panic!("not BBR"),
    }
}

fn rates(path: &Bottleneck) -> &Sampler {
    match &path.sender.state.cold.control {
        Some(Control::Bbr(control)) => control.rates(),
        _ => panic!("not BBR"),
    }
}

/// Payload of the link, byte/s.
fn link(path: &Bottleneck) -> f64 {
    path.rate as f64 / 8.0 * 1448.0 / 1500.0
}

/// 2 / ln 2 is the least gain with which a round trip delivers twice as much as the one before.
#[test]
fn startup_doubles_the_rate_each_round_trip() {
    let mut path = path(1000, 100, 100_000);
    let mut sent = Vec::new();
    for round in 1..8 {
        path.until(10_000, |path| path.now >= round * 100 * MS);
        sent.push(f64::from(path.sender.end()));
    }
    let flights: Vec<f64> = sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for pair in flights[1..].windows(2) {
        assert!((1.7..2.3).contains(&(pair[1] / pair[0])), "{flights:?}");
    }
    assert_eq!(model(&path).mode, Mode::Startup);
}

#[test]
fn startup_ends_after_three_rounds_without_growth_and_drain_leaves_a_bdp() {
    let mut path = path(20, 40, 1000);
    assert!(path.until(5000, |path| model(path).mode == Mode::Drain));
    let began = path.now;
    assert_eq!(model(&path).full_bw_rounds, 3);
    let measured = model(&path).bw.get() as f64 / BW_UNIT as f64 * 1e6 * 1448.0;
    assert!((measured / link(&path) - 1.0).abs() < 0.02, "{measured}");
    assert!(path.queue() as f64 > 0.9 * path.bdp(), "STARTUP leaves a queue of about 1.9 BDP");
    assert!(path.until(5000, |path| model(path).mode == Mode::ProbeBw));
    let target = f64::from(model(&path).target(model(&path).bw.get(), UNIT));
    // DRAIN ends when so many will be in flight as the next train leaves: two packets at 0.35 of the rate take the time of six.
    assert!(f64::from(path.sender.end() - path.sender.una()) <= target + 6.0);
    assert!(target - path.bdp() < 3.0 * 3.0 + 2.0, "a BDP and three trains: {target}");
    assert!(path.now - began < 3 * 40 * MS);
}

/// Eight phases of a round trip each; the rates are 5/4, 3/4 and 1 of the link's, less 1 %.
#[test]
fn a_cycle_has_eight_phases_of_a_round_trip() {
    let mut path = path(20, 40, 1000);
    path.until(5000, |path| model(path).mode == Mode::ProbeBw);
    path.until(1000, |path| model(path).phase == 0);
    let mut phases = vec![(0, path.now)];
    path.until(2000, |path| {
        let phase = model(path).phase;
        if phases.last().is_some_and(|(last, _)| *last != phase) {
            let gain = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0][phase];
            let rate =
                path.sender.state.cold.control.as_ref().and_then(Control::pace).map_or(0, |pace| pace.rate);
            let expected = 0.99 * gain * link(path);
            assert!((rate as f64 / expected - 1.0).abs() < 0.02, "{rate} {expected}");
            phases.push((phase, path.now));
        }
        phases.len() > 16
    });
    let order: Vec<usize> = phases.iter().map(|(phase, _)| *phase).collect();
    assert!(order.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 8), "{order:?}");
    let cycle = (phases[16].1 - phases[0].1) / 2;
    // Phases of 1 last a little longer than a round trip, that of 3/4 ends when the queue is gone.
    assert!((7 * 40 * MS..9 * 41 * MS).contains(&cycle), "{cycle}");
}

/// All phases but that of 3/4 may be the first.
#[test]
fn the_first_phase_is_drawn() {
    let mut seen = [0; 8];
    for seed in 0..700 {
        let config = Config::of_variant(crate::config::Profile::Linux, Variant::Bbr);
        let mut model = Model::new(&config);
        model.seed(seed);
        model.enter_probe_bw(&Sampler::default());
        seen[model.phase] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!(
        seen.iter().enumerate().all(|(phase, count)| phase == 1 || (60..140).contains(count)),
        "{seen:?}"
    );
}

#[test]
fn probe_rtt_comes_every_ten_seconds_for_200_ms_with_four_packets() {
    let mut path = path(10, 40, 1000);
    path.until(3000, |path| model(path).mode == Mode::ProbeBw);
    let mut times = Vec::new();
    let mut last = Mode::ProbeBw;
    path.until(45_000, |path| {
        let mode = model(path).mode;
        if mode != last {
            times.push((mode, path.now / MS));
            last = mode;
        }
        if mode == Mode::ProbeRtt {
            assert!(path.sender.cwnd() <= 4.0);
        }
        false
    });
    let begins: Vec<u64> =
        times.iter().filter(|(mode, _)| *mode == Mode::ProbeRtt).map(|(_, at)| *at).collect();
    let ends: Vec<u64> = times.iter().filter(|(mode, _)| *mode == Mode::ProbeBw).map(|(_, at)| *at).collect();
    assert!(begins.len() >= 3, "{times:?}");
    for (begin, end) in begins.iter().zip(&ends) {
        // A round trip to get down to four packets, 200 ms in ticks of 4 ms, and the rest of a round trip.
        assert!((200..340).contains(&(end - begin)), "{times:?}");
    }
    for pair in begins.windows(2) {
        assert!((10_000..10_400).contains(&(pair[1] - pair[0])), "{begins:?}");
    }
}

#[test]
fn one_flow_fills_the_link_and_queues_little() {
    for (megabits, ms) in [(10, 100), (50, 20), (100, 40)] {
        let mut path = path(megabits, ms, 0);
        path.buffer = path.bdp() as usize;
        path.run(3000);
        let (lost, mut queues) = (path.lost, Vec::new());
        let arrived = path.arrived;
        path.until(20_000, |path| {
            queues.push(path.queue());
            false
        });
        let share = (path.arrived - arrived) as f64 * 12_000.0 / (path.rate as f64 * 20.0);
        assert!(share > 0.95, "{megabits} {ms}: {share}");
        queues.sort_unstable();
        assert!((queues[queues.len() / 2] as f64) < 0.3 * path.bdp() + 20.0);
        assert_eq!(path.lost, lost, "a BDP of buffer holds the quarter that a probe queues");
    }
}

/// The long-term rate of a policer is used once two intervals agree, and losses fall to few.
#[test]
fn a_policer_is_recognised() {
    let mut path = path(20, 40, 1000);
    path.policer = Some((200_000.0, 200_000.0));
    assert!(path.until(20_000, |path| model(path).long_term.bw().is_some()));
    let bw = model(&path).bw() as f64 / BW_UNIT as f64 * 1e6 * 1448.0;
    assert!((bw / link(&path) - 1.0).abs() < 0.15, "{bw} {}", link(&path));
    path.run(500);
    let (sent, lost) = (path.sent, path.lost);
    path.until(20_000, |path| model(path).long_term.bw().is_none());
    let share = (path.lost - lost) as f64 / (path.sent - sent) as f64;
    assert!(share < 0.1, "{share}");
}

/// One percent of random losses: neither the model nor the window heeds them.
#[test]
fn random_losses_do_not_slow_it() {
    let mut path = path(20, 40, 200);
    let mut state = 1_u64;
    path.loses = Box::new(move |_, _| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).is_multiple_of(100)
    });
    path.run(3000);
    let share = path.utilisation(9_000);
    assert!(share > 0.9, "{share}");
}

/// The first round trip of a recovery sends one packet for each that arrives; then the window returns.
#[test]
fn recovery_conserves_packets_for_a_round_and_the_window_returns() {
    let mut path = path(20, 40, 1000);
    path.run(2000);
    let before = path.sender.cwnd();
    let mut armed = true;
    path.loses = Box::new(move |_, _| std::mem::replace(&mut armed, false));
    assert!(path.until(500, |path| model(path).packet_conservation));
    let in_flight = f64::from(path.sender.end() - path.sender.una());
    assert!(path.sender.cwnd() <= in_flight + 2.0);
    assert!(path.until(500, |path| model(path).prior_state == CaState::Open));
    assert!(path.sender.cwnd() >= before - 8.0, "{} {before}", path.sender.cwnd());
    assert_eq!(path.sender.counters().timeouts, 0);
    assert!(rates(&path).lost >= 1);
}

/// Acknowledgements that come every 20 ms enlarge the window by about what comes together.
#[test]
fn bunched_acknowledgements_enlarge_the_window() {
    let mut path = path(20, 20, 1000);
    path.bunch = 20 * MS;
    path.run(3000);
    let extra = model(&path).aggregation.cwnd(model(&path).bw());
    assert!((20..90).contains(&extra), "{extra}");
    let share = path.utilisation(5000);
    assert!(share > 0.95, "{share}");
}

/// A transfer after a pause begins at the old rate, not with a burst.
#[test]
fn after_a_pause_the_model_is_still_known() {
    let mut path = Bottleneck::new(Variant::Bbr, 20, 40, 1000, Some(4000));
    path.until(60_000, |path| path.sender.is_finished());
    let bw = model(&path).bw.get();
    path.now += 3000 * MS;
    path.writes = Some((4000, 1_000_000 * MS));
    let queue = path.queue();
    path.until(2_000_000, |path| !path.sender.is_finished());
    assert!(model(&path).idle_restart && model(&path).bw.get() == bw);
    path.run(30);
    assert!(path.queue() < queue + 30, "{}", path.queue());
}

/// Linux's u32 arithmetic of the gains: 739 and 88 of 256, and 99 % of a packet a microsecond.
#[test]
fn the_constants_are_linux_s() {
    assert_eq!((HIGH_GAIN, DRAIN_GAIN, CWND_GAIN), (739, 88, 512));
    assert_eq!(crate::cc::rate::payload_rate(BW_UNIT, UNIT, 1448), 1448 * 990_000);
    assert_eq!(crate::cc::rate::bdp(BW_UNIT / 100, 10_000, UNIT), 100);
    assert_eq!(crate::cc::rate::bdp(BW_UNIT / 100 + 1, 10_000, UNIT), 101, "rounded up");
    assert_eq!(crate::cc::rate::bdp(1 << 40, 1 << 30, 2 * UNIT), u32::MAX / 4, "no more can be numbered");
    assert_eq!(crate::cc::rate::bdp(BW_UNIT / 100, 10_000, 3 * UNIT), 300);
}

/// What a timeout gives up counts as lost: at the end of a transfer as much as was lost.
#[test]
fn a_timeout_loses_all_that_is_in_flight() {
    let mut path = Bottleneck::new(Variant::Bbr, 20, 40, 1000, Some(600));
    path.loses = Box::new(|_, at| (100 * MS..600 * MS).contains(&at));
    assert!(path.until(20_000, |path| path.sender.is_finished()));
    assert!(path.sender.counters().timeouts > 0 && path.lost > 20, "{}", path.lost);
    assert_eq!((rates(&path).lost, rates(&path).delivered), (path.lost, 601), "the SYN too");
}

/// `tcp_timeout_mark_lost`: what was sent again and is lost again counts once more, at the first of several timeouts only.
#[test]
fn what_is_lost_again_counts_once_more() {
    for until in [700, 1500, 4000] {
        let mut path = Bottleneck::new(Variant::Bbr, 20, 40, 1000, Some(600));
        // Some of a flight is lost, and then everything, what repairs that too.
        path.loses = Box::new(move |seq, at| match at / MS {
            84..=105 => seq % 3 == 0,
            ms => (106..until).contains(&ms),
        });
        let mut again = 0;
        assert!(path.until(20_000, |path| {
            let resent = &path.sender.state.cold.sack.rack.resent;
            again = again.max(resent.iter().filter(|one| one.lost).count());
            path.sender.is_finished()
        }));
        assert!(
            path.sender.counters().timeouts > 1 && again > 3,
            "{until}: {again} {:?}",
            path.sender.counters()
        );
        assert_eq!((rates(&path).lost, rates(&path).delivered), (path.lost, 601), "{until}");
    }
}

/// `tcp_rate_check_app_limited`: at a write, where all was sent and the window has room.
#[test]
fn samples_are_limited_where_all_was_sent_and_the_window_has_room() {
    for (packets, is_limited) in [(9, true), (10, false), (11, false)] {
        let mut path = Bottleneck::new(Variant::Bbr, 20, 40, 1000, Some(packets));
        path.run(58); // the handshake, and the first window: its acknowledgements come after 80 ms
        let in_flight = u64::from(path.sender.end() - path.sender.una());
        assert_eq!((path.sender.cwnd(), in_flight), (10.0, packets.min(10)));
        path.sender.write(u64::from(path.sender.config().payload));
        assert_eq!(rates(&path).is_limited(), is_limited, "{packets}");
    }
}
