//! Random connections, in which the model and what Linux does are compared after each event.

use super::*;
use crate::segmentation::train;
use paceline_core::Span;

/// Small numbers, so that what is compared is often equal.
struct Dice(Pcg32);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        (u64::from(self.0.next_u32()) * n) >> 32
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

fn compare(model: &Model, cwnd: u32, ssthresh: u32, kernel: &Kernel, what: &str) {
    assert_eq!((model.mode, model.phase), (kernel.mode, kernel.cycle_idx), "{what}");
    let volumes = (u64::from(cwnd), u64::from(model.prior_cwnd), u64::from(ssthresh));
    assert_eq!(volumes, (kernel.cwnd, kernel.prior_cwnd, kernel.ssthresh), "{what}");
    let rates = (model.pacing_rate, model.pacing_gain, model.cwnd_gain, model.bw());
    assert_eq!(rates, (kernel.pacing_rate, kernel.pacing_gain, kernel.cwnd_gain, kernel.bw()), "{what}");
    let rtt = model.min_rtt_us.unwrap_or(UNKNOWN);
    assert_eq!((rtt, model.min_rtt_stamp), (kernel.min_rtt_us, kernel.min_rtt_stamp), "{what}");
    assert_eq!((model.rounds, model.round_start), (kernel.rtt_cnt, kernel.round_start), "{what}");
    let full = (model.full_bw, model.full_bw_rounds, model.full_bw_reached);
    assert_eq!(full, (kernel.full_bw, kernel.full_bw_cnt, kernel.full_bw_reached), "{what}");
    assert_eq!(
        (model.idle_restart, model.packet_conservation, model.prior_state),
        (kernel.idle_restart, kernel.packet_conservation, kernel.prev_ca_state),
        "{what}"
    );
    assert_eq!(model.long_term.bw(), kernel.lt.use_bw.then_some(kernel.lt.bw), "{what}");
    let extra = kernel.extra_acked[0].max(kernel.extra_acked[1]);
    assert_eq!(u64::from(model.aggregation.cwnd(BW_UNIT)), extra, "{what}");
    let rtt = (kernel.min_rtt_us < UNKNOWN).then_some(kernel.min_rtt_us);
    let burst = train(kernel.pacing_rate.max(1), kernel.mss, kernel.min_tso_segs(), rtt);
    assert_eq!(model.pace(), Pace { rate: kernel.pacing_rate.max(1), burst }, "{what}");
}

/// How often a connection was in each mode, and used a policer's rate.
type Reached = [u32; 5];

fn follow(seed: u64, reached: &mut Reached) {
    let mut dice = Dice(Pcg32::new(seed, 98));
    let config = Config {
        payload: dice.of(&[1448, 200]),
        timer_tick: Span::from_millis(dice.of(&[1, 4, 3])),
        ..Config::of_variant(crate::config::Profile::Linux, Variant::Bbr)
    };
    let tick = config.timer_tick.as_nanos();
    let mut rates = Sampler::default();
    rates.delivered = dice.below(2);
    let mut now = 1000 + dice.below(3);
    let mut tp = Seen {
        jiffies: now * 1000 / tick,
        delivered_mstamp: 0,
        delivered: rates.delivered,
        lost: 0,
        in_flight: 0,
        prior_in_flight: 0,
        acked_sacked: 0,
        losses: 0,
        ca_state: CaState::Open,
        srtt_us: dice.of(&[0, 10_000]),
        until_edt: 0,
        rs: RateSample::default(),
    };
    let mut model = Model::new(&config);
    model.seed(seed);
    model.begin(&rates, tp.srtt_us as f64 / 1e6, Instant::from_nanos(now * 1000));
    let mut kernel = Kernel::init(&config, seed, &tp, UNKNOWN);
    kernel.ack_epoch_mstamp = now;
    let (mut cwnd, mut ssthresh) = (config.initial_window, 0);
    let lossy = dice.below(3);
    let faster = dice.of(&[1, 1, 200]);
    let volume = 12 + dice.below(60);
    // A policer lets through what it earns: the same rate from loss to loss.
    let is_policed = dice.one_in(3);
    for step in 0..500 {
        now += match dice.below(40) {
            0 if !is_policed => 500_000 + dice.below(3_000_000),
            1 | 2 => {
                let ticks =
                    dice.of(&[kernel.min_rtt_stamp + 10_000_000_000 / tick, kernel.probe_rtt_done_stamp]);
                let at = ticks * tick / 1000 + dice.of(&[0, tick / 1000]);
                let phase = kernel.cycle_mstamp + kernel.min_rtt_us.min(1 << 30) + dice.below(2);
                let at = if is_policed || dice.one_in(2) { phase } else { at };
                at.saturating_sub(now).min(12_000_000)
            }
            3..10 => 0,
            10..20 => 1 + dice.below(3000),
            _ => 10_000,
        };
        let at = Instant::from_nanos(now * 1000 + dice.below(1000));
        let what = format!("seed {seed}, event {step}");
        tp.jiffies = at.as_nanos() / tick;
        match dice.below(60) {
            0 if !is_policed => {
                model.before_recovery(&rates, cwnd);
                kernel.save_cwnd();
                if dice.one_in(2) {
                    model.on_timeout(&rates);
                    kernel.set_state_loss(&tp);
                }
            }
            1 if dice.one_in(2) => {
                model.on_undo(&rates, &mut cwnd);
                kernel.undo_cwnd(&tp);
            }
            2 => {
                model.on_restart(&rates, &mut cwnd, at);
                kernel.tx_start(&tp, now);
            }
            _ => {
                acknowledge(&mut dice, &mut tp, &kernel, (lossy, volume, faster, is_policed));
                (rates.delivered, rates.lost, rates.delivered_at) = (tp.delivered, tp.lost, at);
                tp.delivered_mstamp = now;
                let srtt = tp.srtt_us as f64 / 1e6;
                let paced_until =
                    if tp.until_edt == 0 { Instant::MAX } else { at + Span::from_nanos(tp.until_edt * 1000) };
                let ack = RateAck {
                    now: at,
                    next: 0,
                    echo: None,
                    delivered: tp.acked_sacked as u32,
                    lost: tp.losses as u32,
                    prior_in_flight: tp.prior_in_flight as u32,
                    in_flight: tp.in_flight as u32,
                    ca_state: tp.ca_state,
                    srtt,
                    paced_until,
                };
                let mut seen = rates.clone();
                let mut path = Path { rates: &mut seen, ack, cwnd: &mut cwnd, ssthresh: &mut ssthresh };
                kernel.app_limited = false;
                model.on_ack(&mut path, &tp.rs);
                kernel.main(&tp);
                assert_eq!(seen.is_limited(), kernel.app_limited, "{what}");
            }
        }
        compare(&model, cwnd, ssthresh, &kernel, &what);
        reached[model.mode as usize] += 1;
        reached[4] += u32::from(model.long_term.bw().is_some());
    }
}

fn acknowledge(dice: &mut Dice, tp: &mut Seen, kernel: &Kernel, path: (u64, u64, u64, bool)) {
    let (lossy, volume, faster, is_policed) = path;
    let newly = if is_policed { 4 } else { dice.below(4) + u64::from(!dice.one_in(5)) };
    tp.delivered += newly;
    tp.acked_sacked = newly;
    tp.losses = if lossy > 0 && dice.one_in(4) { 1 + dice.below(4) } else { 0 };
    tp.lost += tp.losses;
    tp.srtt_us = if tp.srtt_us == 0 && kernel.rtt_cnt < 2 { dice.of(&[0, 20_000]) } else { 20_000 };
    tp.until_edt = dice.of(&[0, 0, 100, 5000]);
    tp.ca_state = match lossy {
        2 => dice.of(&[CaState::Recovery, CaState::Recovery, CaState::Disorder, CaState::Loss]),
        _ => CaState::Open,
    };
    tp.prior_in_flight = match dice.below(5) {
        0 => kernel.inflight(kernel.max_bw(), kernel.pacing_gain) + dice.below(2),
        1 => kernel.inflight(kernel.max_bw(), BBR_UNIT) + dice.below(2),
        2 => 3 + dice.below(4),
        _ => dice.below(volume),
    };
    tp.in_flight = tp.prior_in_flight.saturating_sub(newly * dice.below(2));
    let has_sample = newly > 0 && !dice.one_in(20);
    let prior = match dice.below(2) {
        0 => kernel.next_rtt_delivered.saturating_sub(dice.below(2)),
        _ => tp.delivered - newly,
    };
    tp.rs = RateSample {
        prior_delivered: if has_sample { prior } else { 0 },
        delivered: has_sample.then(|| tp.delivered.saturating_sub(prior).clamp(1, volume) * faster),
        interval_us: (has_sample && !dice.one_in(20)).then(|| dice.of(&[10_000, 10_000, 12_500, 8_000])),
        is_app_limited: has_sample && !is_policed && dice.one_in(6),
        rtt_us: (!dice.one_in(4)).then(|| dice.of(&[10_000, 10_000, 9_999, 11_000])),
        ..RateSample::default()
    };
}

#[test]
fn it_does_what_linux_does() {
    let mut reached = Reached::default();
    (0..300).for_each(|seed| follow(seed, &mut reached));
    assert!(reached.iter().all(|events| *events > 100), "{reached:?}");
}
