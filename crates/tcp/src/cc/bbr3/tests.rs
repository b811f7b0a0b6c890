//! The test cases of the appendix of draft-ietf-ccwg-bbr, each with its heading.

use super::*;
use crate::cc::Control;
use crate::cc::rate::tests::{Bottleneck, MS};
use crate::config::Variant;

mod draft;

/// 20 Mbit/s and 40 ms, a BDP of 67 packets.
fn path(buffer: usize) -> Bottleneck {
    Bottleneck::new(Variant::Bbr3, 20, 40, buffer, None)
}

fn model(path: &Bottleneck) -> &Model {
    match &path.sender.state.cold.control {
        Some(Control::Bbr3(control)) => control.model(),
        _ => panic!("not BBR"),
    }
}

fn state(path: &Bottleneck) -> State {
    model(path).state
}

/// The bandwidth of the model over that of the link.
fn bw_share(path: &Bottleneck) -> f64 {
    model(path).max_bw() as f64 / BW_UNIT as f64 * 1e6 * 12_000.0 / path.rate as f64
}

fn in_flight(path: &Bottleneck) -> u32 {
    path.sender.end() - path.sender.una()
}

/// Loses every n-th packet from now on.
fn lose_every(path: &mut Bottleneck, n: u64) {
    let mut count = 0;
    path.loses = Box::new(move |_, _| {
        count += 1;
        count % n == 0
    });
}

fn lose_nothing(path: &mut Bottleneck) {
    path.loses = Box::new(|_, _| false);
}

fn reach(path: &mut Bottleneck, wanted: State) {
    assert!(path.until(60_000, |path| state(path) == wanted), "{:?}", state(path));
}

/// A sender whose application writes so many packets every 10 ms: 20 Mbit/s are 16.7.
fn limited(packets: u64) -> Bottleneck {
    let mut path = Bottleneck::new(Variant::Bbr3, 20, 40, 1000, Some(20));
    path.writes = Some((packets, 10 * MS));
    path
}

#[test]
fn exiting_startup_on_bandwidth_plateau() {
    let mut path = path(1000);
    assert_eq!(state(&path), State::Startup);
    assert!(path.until(5000, |path| state(path) != State::Startup));
    let model = model(&path);
    assert!((bw_share(&path) - 1.0).abs() < 0.02, "{}", bw_share(&path));
    assert_eq!((model.full_bw_rounds, model.full_bw_now, model.full_bw_reached), (3, true, true));
    assert_eq!(model.state, State::Drain);
}

#[test]
fn exiting_startup_on_loss_when_application_limited() {
    let mut path = limited(10);
    path.run(1000);
    assert_eq!(state(&path), State::Startup);
    lose_every(&mut path, 8);
    assert!(path.until(3000, |path| model(path).full_bw_reached));
    let model = model(&path);
    assert!(model.full_bw_now && matches!(model.state, State::Drain | State::Down | State::Cruise));
    assert!(model.bounds.longterm < INFINITE);
}

#[test]
fn exiting_drain_based_on_inflight() {
    let mut path = path(1000);
    reach(&mut path, State::Drain);
    assert_eq!((state(&path).pacing_gain(), state(&path).cwnd_gain()), (UNIT / 2, UNIT * 2));
    let started = model(&path).drain_start;
    path.until(5000, |path| state(path) != State::Drain);
    assert!(model(&path).state.is_probe_bw() && model(&path).rounds <= started + 4);
    assert!(in_flight(&path) <= model(&path).in_flight(UNIT));
}

#[test]
fn exiting_drain_based_on_time() {
    let mut path = path(1000);
    reach(&mut path, State::Drain);
    path.rate = path.rate / 10 * 4; // half of the rate it was to drain at: 10 % less would still drain within three rounds here
    let started = model(&path).drain_start;
    path.until(5000, |path| state(path) != State::Drain);
    assert!(model(&path).rounds > started + 3);
    assert!(in_flight(&path) > model(&path).in_flight(UNIT));
}

#[test]
fn exiting_probe_up_on_bandwidth_plateau() {
    let mut path = path(1000);
    reach(&mut path, State::Up);
    let began = model(&path).rounds;
    reach(&mut path, State::Down);
    assert_eq!(model(&path).full_bw_rounds, 3);
    assert!((3..8).contains(&(model(&path).rounds - began)), "{}", model(&path).rounds - began);
    assert_eq!(path.lost, 0);
}

#[test]
fn exiting_probe_up_on_loss() {
    let mut path = path(1000);
    reach(&mut path, State::Up);
    lose_every(&mut path, 10);
    assert!(path.until(300, |path| state(path) == State::Down));
    let model = model(&path);
    assert!(model.probe.was_too_high && !model.full_bw_now);
    assert!(model.bounds.longterm >= model.target(u32::MAX) * 7 / 10 && model.bounds.longterm < INFINITE);
}

/// With samples that the application limits, probing ends too, but the long-term bound stays (`HandleInflightTooHigh`).
#[test]
fn exiting_probe_up_on_loss_when_application_limited() {
    let mut path = limited(17);
    reach(&mut path, State::Cruise);
    path.writes = Some((8, 10 * MS));
    assert!(path.until(20_000, |path| state(path) == State::Up));
    path.until(1000, |path| state(path) != State::Up); // "Never Exiting PROBE_UP When Application-Limited With No Loss"
    assert_eq!(state(&path), State::Up, "{:?}", model(&path));
    lose_every(&mut path, 5);
    assert!(path.until(1000, |path| state(path) == State::Down));
    assert!(model(&path).probe.was_too_high);
}

#[test]
fn never_exiting_startup_when_application_limited_with_no_loss() {
    let mut path = limited(8);
    assert!(!path.until(4_900, |path| state(path) != State::Startup), "up to ProbeRTT");
}

#[test]
fn exiting_probe_down_on_inflight() {
    let mut path = path(1000);
    reach(&mut path, State::Up);
    reach(&mut path, State::Down);
    assert_eq!(state(&path).pacing_gain(), UNIT * 90 / 100);
    reach(&mut path, State::Cruise);
    assert!(
        in_flight(&path) <= model(&path).in_flight(UNIT) && in_flight(&path) <= model(&path).with_headroom()
    );
}

#[test]
fn exiting_probe_down_after_max_time() {
    // A BDP of 417 packets: 63 round trips are longer than three seconds.
    let mut path = Bottleneck::new(Variant::Bbr3, 100, 50, 5000, None);
    let mut after = Vec::new();
    while after.len() < 3 {
        reach(&mut path, State::Up);
        reach(&mut path, State::Down);
        path.rate = 85_000_000;
        let began = path.now;
        path.until(10_000, |path| state(path) != State::Down);
        path.rate = 100_000_000;
        if state(&path) != State::ProbeRtt {
            assert_eq!(state(&path), State::Refill);
            after.push((path.now - began) / MS);
        }
    }
    assert!(after.iter().all(|ms| (2000..3100).contains(ms)), "{after:?}");
}

#[test]
fn entering_and_exiting_probe_rtt() {
    let mut path = path(1000);
    reach(&mut path, State::Cruise);
    let mut times = Vec::new();
    let mut last = State::Cruise;
    path.until(24_000, |path| {
        if state(path) != last && (state(path) == State::ProbeRtt || last == State::ProbeRtt) {
            times.push(path.now / MS);
        }
        last = state(path);
        if last == State::ProbeRtt {
            assert!(path.sender.cwnd() <= f64::from(model(path).probe_rtt_cwnd()));
        }
        false
    });
    assert!(times.len() >= 6, "{times:?}");
    for pair in times.chunks_exact(2) {
        assert!((200..330).contains(&(pair[1] - pair[0])), "{times:?}");
    }
    for pair in times.chunks_exact(2).collect::<Vec<_>>().windows(2) {
        assert!((5000..5400).contains(&(pair[1][0] - pair[0][1])), "{times:?}");
    }
}

#[test]
fn skipping_probe_rtt_due_to_application_limited_sending() {
    let mut path = Bottleneck::new(Variant::Bbr3, 20, 40, 1000, Some(5000));
    path.until(60_000, |path| path.sender.is_finished());
    assert!(model(&path).state.is_probe_bw());
    path.now += 6000 * MS;
    path.writes = Some((2000, 1_000_000 * MS));
    path.until(2_000_000, |path| !path.sender.is_finished());
    assert!(model(&path).idle_restart);
    assert!(!path.until(400, |path| state(path) == State::ProbeRtt));
}

#[test]
fn achieving_expected_bandwidth_on_a_link_with_aggregation() {
    let mut path = path(1000);
    path.bunch = 20 * MS;
    assert!(path.until(5000, |path| state(path) != State::Startup));
    // A packet that the first acknowledgement of a bunch lets out sees the rest of it delivered in no time. A sample is of two bunches or
    // more, the round trip, so that it is less than half too high.
    assert!((0.95..1.5).contains(&bw_share(&path)), "{}", bw_share(&path));
    reach(&mut path, State::Cruise);
    let model = model(&path);
    assert!(model.extra.get() >= 20, "{}", model.extra.get());
    assert!(path.sender.cwnd() > 2.0 * path.bdp());
    assert!(path.utilisation(4000) > 0.95);
}

#[test]
fn correctly_managing_sub_packet_bdps() {
    let mut path = Bottleneck::new(Variant::Bbr3, 1, 4, 100, None); // a third of a packet
    reach(&mut path, State::Cruise);
    assert!(path.sender.cwnd() >= 4.0);
    assert!((bw_share(&path) - 1.0).abs() < 0.05, "{}", bw_share(&path));
    assert!(path.utilisation(4000) > 0.95);
}

#[test]
fn increasing_bandwidth_10x() {
    let mut path = Bottleneck::new(Variant::Bbr3, 10, 40, 100, None);
    reach(&mut path, State::Cruise);
    path.run(3000);
    path.rate *= 10;
    path.buffer = 1000;
    let changed = path.now;
    assert!(path.until(30_000, |path| bw_share(path) > 0.9), "{}", bw_share(&path));
    assert!(path.now - changed < 12_000 * MS, "{}", (path.now - changed) / MS);
}

#[test]
fn decreasing_bandwidth_10x() {
    let mut path = Bottleneck::new(Variant::Bbr3, 100, 40, 300, None);
    reach(&mut path, State::Cruise);
    path.rate /= 10;
    assert!(path.until(2000, |path| model(path).bounds.bw_shortterm < model(path).max_bw() / 2));
    assert!(path.until(20_000, |path| bw_share(path) < 1.1), "{}", bw_share(&path));
    path.run(2000);
    assert!(path.utilisation(5000) > 0.9);
}

#[test]
fn handling_token_bucket_policers() {
    let mut path = path(1000);
    path.policer = Some((100_000.0, 100_000.0));
    path.run(4000);
    assert!(model(&path).full_bw_reached && model(&path).bounds.longterm < INFINITE);
    let (sent, lost) = (path.sent, path.lost);
    let share = path.utilisation(20_000);
    let loss = (path.lost - lost) as f64 / (path.sent - sent) as f64;
    assert!(share > 0.75 && loss < 0.05, "{share} {loss}");
}

/// Of the model alone: what a loss lowered returns, and so does the probe that it ended.
#[test]
fn handling_spurious_recovery() {
    for (from, bounds) in [(State::Startup, true), (State::Up, false)] {
        let mut path = path(1000);
        reach(&mut path, from);
        let mut model = model(&path).clone();
        model.save_state_upon_loss(100);
        model.bounds.bw_shortterm = 1;
        model.bounds.shortterm = 5;
        model.bounds.longterm = 6;
        if bounds {
            (model.full_bw_reached, model.state) = (true, State::Drain);
        } else {
            model.start_down(1000, 1000);
        }
        model.set_undo(from);
        let mut cwnd = 5;
        model.on_undo(&crate::cc::rate::Sampler::default(), &mut cwnd);
        assert_eq!(cwnd, 100);
        assert_eq!(
            (model.bounds.bw_shortterm, model.bounds.shortterm, model.bounds.longterm),
            (u64::MAX, INFINITE, INFINITE)
        );
        assert_eq!(model.state, if bounds { State::Startup } else { State::Refill });
        assert_eq!(model.full_bw_reached, !bounds);
    }
}

#[test]
fn entering_and_exiting_probe_rtt_during_startup() {
    let mut path = limited(8);
    path.run(1000);
    path.delay += 5 * MS; // no round trip as short as the first
    assert!(path.until(10_000, |path| state(path) == State::ProbeRtt));
    assert!(path.until(1000, |path| state(path) != State::ProbeRtt));
    assert_eq!(state(&path), State::Startup);
}

#[test]
fn handling_loss_during_probe_up_after_inflight_longterm_is_set() {
    let mut path = path(1000);
    reach(&mut path, State::Up);
    lose_every(&mut path, 10);
    reach(&mut path, State::Down);
    let first = model(&path).bounds.longterm;
    assert!(first < INFINITE);
    lose_nothing(&mut path);
    // The next probe ends early, and the one after it raises the bound.
    reach(&mut path, State::Up);
    reach(&mut path, State::Refill);
    assert!(path.until(5000, |path| model(path).bounds.longterm > first + 10));
    assert_eq!(state(&path), State::Up);
    let bound = model(&path).bounds.longterm;
    lose_every(&mut path, 10);
    assert!(path.until(300, |path| state(path) == State::Down));
    assert!(model(&path).probe.was_too_high);
    let least = model(&path).target(u32::MAX) * 7 / 10;
    assert!((least..=bound + 20).contains(&model(&path).bounds.longterm));
}

#[test]
fn handling_application_limited_sending_during_probe_refill() {
    let mut path = limited(17);
    reach(&mut path, State::Refill);
    let bw = model(&path).max_bw();
    path.writes = Some((1, 30 * MS));
    assert!(path.until(20_000, |path| state(path) == State::Up));
    assert_eq!(model(&path).max_bw(), bw);
}

/// After a probe that lost too much the next one ends at the bound; if nothing is lost, another follows at once.
#[test]
fn precautionary_bandwidth_probing() {
    let mut path = path(1000);
    reach(&mut path, State::Up);
    lose_every(&mut path, 10);
    reach(&mut path, State::Down);
    lose_nothing(&mut path);
    reach(&mut path, State::Up);
    let began = path.now;
    reach(&mut path, State::Down);
    let first = path.now - began;
    path.until(5000, |path| state(path) != State::Down && state(path) != State::Cruise);
    assert_eq!(state(&path), State::Refill);
    assert!(path.now - began - first < 200 * MS, "at once, not after two seconds");
    assert!(first < 200 * MS);
}

/// The draft's table of gains, as fractions of 256.
#[test]
fn the_gains_are_the_draft_s() {
    let gains =
        [State::Startup, State::Drain, State::Down, State::Cruise, State::Refill, State::Up, State::ProbeRtt]
            .map(|state| (state.pacing_gain(), state.cwnd_gain()));
    assert_eq!(gains, [(710, 512), (128, 512), (230, 512), (256, 512), (256, 512), (320, 576), (256, 128)]);
}

#[test]
fn one_flow_fills_the_link() {
    for (buffer, least) in [(20, 0.85), (67, 0.93), (1000, 0.95)] {
        let mut path = path(buffer);
        path.run(3000);
        let (sent, lost) = (path.sent, path.lost);
        let share = path.utilisation(20_000);
        let loss = (path.lost - lost) as f64 / (path.sent - sent) as f64;
        assert!(share > least && loss < 0.01, "{buffer}: {share} {loss}");
    }
}
