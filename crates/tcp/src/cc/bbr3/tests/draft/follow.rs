//! Random connections, in which the model and the pseudo-code are compared after each event.

use super::*;

/// The generator of the test: small numbers, so that what is compared is often equal.
struct Dice(Pcg32);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        (u64::from(self.0.next_u32()) * n) >> 32
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

fn compare(model: &Model, cwnd: u32, draft: &Draft, what: &str) {
    let short = |volume: u32| if volume == INFINITE { INFINITY } else { u64::from(volume) };
    assert_eq!(model.state, draft.state, "{what}");
    assert_eq!(
        (u64::from(cwnd), u64::from(model.prior_cwnd)),
        (draft.cwnd, draft.prior_cwnd),
        "{what}: {draft:?}"
    );
    assert_eq!(
        (model.pacing_rate, model.bw, model.max_bw()),
        (draft.pacing_rate, draft.bw, draft.max_bw()),
        "{what}"
    );
    assert_eq!(u64::from(model.pace().burst), draft.send_quantum(), "{what}");
    let bounds = &model.bounds;
    assert_eq!(
        (bounds.bw_shortterm, short(bounds.shortterm), short(bounds.longterm)),
        (draft.bw_shortterm, draft.inflight_shortterm, draft.inflight_longterm),
        "{what}"
    );
    assert_eq!(model.min_rtt.least().unwrap_or(INFINITY), draft.min_rtt, "{what}");
    assert_eq!(
        (model.rounds, model.full_bw_rounds, model.full_bw_now, model.full_bw_reached),
        (draft.round_count, draft.full_bw_count, draft.full_bw_now, draft.full_bw_reached),
        "{what}"
    );
    assert_eq!(
        (model.idle_restart, model.probe.rounds),
        (draft.idle_restart, draft.rounds_since_probe_up),
        "{what}"
    );
    assert_eq!(
        (model.probe.is_sample, model.probe.was_too_high),
        (draft.is_bw_probe_sample, draft.prev_probe_too_high),
        "{what}"
    );
}

/// One connection: events of all kinds, times and volumes near those that decide.
fn follow(seed: u64, reached: &mut [u32; 7]) {
    let mut dice = Dice(Pcg32::new(seed, 99));
    let config = Config {
        initial_window: 10,
        ..Config::of_variant(crate::config::Profile::Linux, crate::config::Variant::Bbr3)
    };
    let mut rates = Sampler::default();
    let mut now = 1000 + dice.below(3);
    let srtt = [0.0, 0.01, 0.000_000_4][dice.below(3) as usize];
    let mut model = Model::new(&config);
    model.seed(seed);
    rates.delivered = dice.below(2);
    model.begin(&rates, srtt, Instant::from_nanos(now * 1000));
    let mut draft = Draft::on_init(&config, seed, srtt, None, rates.delivered, now);
    let mut cwnd = config.initial_window;
    compare(&model, cwnd, &draft, "begin");
    let mut has_seen_rtt = srtt > 0.0;
    let lossy = dice.below(3);
    let uses = dice.below(3); // its window never, always, or now and then
    let volume = 12 + dice.below(60);
    let mut next_seq = 5;
    for step in 0..400 {
        // Mostly a round trip or a part of it; now and then up to one of the draft's own deadlines, or just beyond.
        now += match dice.below(40) {
            0 => 500_000 + dice.below(3_000_000),
            1 | 2 => {
                let done = draft.probe_rtt_done_stamp;
                let at = [
                    draft.probe_rtt_min_stamp + 5_000_000,
                    draft.min_rtt_stamp + 10_000_000,
                    draft.cycle_stamp + draft.bw_probe_wait,
                    done,
                ][dice.below(4) as usize];
                (at + dice.below(2)).saturating_sub(now).min(12_000_000)
            }
            3..10 => 0,
            10..20 => 1 + dice.below(3000),
            _ => 10_000,
        };
        let at = Instant::from_nanos(now * 1000 + dice.below(1000));
        rates.delivered_at = at;
        let what = format!("seed {seed}, event {step}");
        let in_flight = match dice.below(6) {
            0 => draft.inflight_longterm.min(500).saturating_sub(dice.below(2)),
            1 => draft.inflight_with_headroom().min(500) + dice.below(2),
            2 => draft.inflight(256) + dice.below(2),
            3 => draft.probe_rtt_cwnd() + dice.below(2),
            4 => dice.below(5),
            _ => dice.below(volume),
        };
        match dice.below(60) {
            0..9 if lossy > 0 => {
                next_seq += [0, 0, 2][dice.below(3) as usize];
                rates.lost += 1;
                let tx_in_flight = [1, 49, 50, 51, 99, 100, 101, 102][dice.below(8) as usize];
                let lost = Transmission::lost(
                    next_seq,
                    tx_in_flight,
                    rates.lost - 1 - dice.below(3).min(rates.lost - 1),
                    dice.one_in(4),
                );
                next_seq += 1;
                model.on_lost(&rates, &lost, cwnd, at);
                draft.handle_lost_packet(&lost, rates.lost, rates.delivered, cwnd.into(), now);
            }
            9 => {
                model.before_recovery(&rates, cwnd);
                draft.save_state_upon_loss(cwnd.into());
                if dice.one_in(2) {
                    model.on_timeout(&rates);
                    draft.in_recovery = true;
                }
            }
            10 if dice.one_in(2) => {
                model.on_undo(&rates, &mut cwnd);
                draft.handle_spurious_loss_detection(rates.delivered);
            }
            11 => {
                model.on_restart(&rates, &mut cwnd, at);
                draft.handle_restart_from_idle(rates.delivered, now);
            }
            12..20 => {
                let more = [0, 1, dice.below(2)][uses as usize];
                let in_flight = (u64::from(model.cwnd) + more).saturating_sub(1);
                model.on_sent(in_flight as u32);
                draft.used |= in_flight >= u64::from(model.cwnd);
            }
            _ => {
                let newly = dice.below(4) as u32 + u32::from(!dice.one_in(5));
                rates.delivered += u64::from(newly);
                let has_sample = newly > 0 && !dice.one_in(20);
                let prior = match dice.below(3) {
                    0 => draft.next_round_delivered.saturating_sub(dice.below(2)),
                    1 => draft.loss_round_delivered.saturating_sub(dice.below(2)),
                    _ => rates.delivered - u64::from(newly),
                };
                let delivered = rates.delivered.saturating_sub(prior).clamp(1, volume);
                let interval = [10_000, 10_000, 12_500, 8_000][dice.below(4) as usize];
                let base = [10_000, 10_000, 9_999, 11_000][dice.below(4) as usize];
                let sent_in_flight = match dice.below(4) {
                    0 => draft.inflight_longterm.min(200) + dice.below(2),
                    1 => 50 + dice.below(2),
                    _ => dice.below(volume),
                };
                let sample = RateSample {
                    prior_delivered: if has_sample { prior } else { 0 },
                    delivered: has_sample.then_some(delivered),
                    interval_us: (has_sample && !dice.one_in(20)).then_some(interval),
                    is_app_limited: has_sample && dice.one_in(4),
                    rtt_us: (!dice.one_in(4)).then_some(base),
                    sent_in_flight: sent_in_flight as u32,
                    lost_since: if lossy > 0 { dice.below(3) } else { 0 },
                };
                let state = if lossy > 1 {
                    [CaState::Recovery, CaState::Recovery, CaState::Disorder]
                } else {
                    [CaState::Open; 3]
                }[dice.below(3) as usize];
                let ack = RateAck {
                    now: at,
                    next: 0,
                    echo: None,
                    delivered: newly,
                    lost: 0,
                    prior_in_flight: in_flight as u32 + newly * dice.below(2) as u32,
                    in_flight: in_flight as u32,
                    ca_state: state,
                    srtt: [0.0, 0.02][dice.below(2) as usize],
                    paced_until: Instant::MAX,
                };
                if !has_seen_rtt && ack.srtt > 0.0 {
                    has_seen_rtt = true;
                    draft.init_pacing_rate(ack.srtt);
                }
                let rate = match (sample.delivered, sample.interval_us) {
                    (Some(delivered), Some(interval)) => (delivered << 24) / interval,
                    _ => 0,
                };
                let seen = Seen {
                    now,
                    delivered: rates.delivered,
                    in_flight: ack.in_flight.into(),
                    prior_in_flight: ack.prior_in_flight.into(),
                    newly_acked: newly.into(),
                    rs: sample,
                    rate,
                };
                let mut unmarked = rates.clone();
                draft.marked_app_limited = false;
                model.on_ack(
                    &mut Path { rates: &mut unmarked, ack, cwnd: &mut cwnd, ssthresh: &mut 0 },
                    &sample,
                );
                draft.update_on_ack(&seen, state == CaState::Recovery);
                assert_eq!(unmarked.is_limited(), draft.marked_app_limited, "{what}");
            }
        }
        compare(&model, cwnd, &draft, &what);
        reached[model.state as usize] += 1;
    }
}

#[test]
fn it_does_what_the_draft_s_pseudo_code_does() {
    let mut reached = [0; 7];
    (0..300).for_each(|seed| follow(seed, &mut reached));
    assert!(reached.iter().all(|events| *events > 200), "{reached:?}");
}
