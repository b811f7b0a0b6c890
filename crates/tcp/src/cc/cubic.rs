//! CUBIC: the window is a cubic function of the time since the last loss.
//!
//! *Idea.* W(t) = C (t - K)³ + W_max: fast at first, flat about the window W_max at which the last loss came, which it
//! reaches after K = ³√((W_max - cwnd) / C), then ever faster. At each acknowledgement the window grows towards W one round trip
//! ahead. It is at least that of a Reno that cuts by the same factor (W_est). After a loss below the last W_max, W_max becomes
//! (1 + beta) / 2 of the window (fast convergence).
//! *Parameters.* [`Constants`]: beta, C (packets/s³) and other differences between versions. HyStart ([`super::hystart`]), or
//! HyStart++ ([`super::hystart_plus_plus`]).
//! *Where it breaks.* Growth is by time, not by round trips, so at small windows and short round trips it is Reno. After a timeout,
//! W_max is unknown: the curve starts flat, at the window where congestion avoidance begins.
//! *References.* RFC 9438; S. Ha, I. Rhee, L. Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", SIGOPS OSR 42(5),
//! 2008; Linux net/ipv4/tcp_cubic.c; ns-2.35 tcp/linux/src/tcp_cubic.c.

use super::congestion_control::{Acked, CongestionControl, Window};
use super::hystart::HyStart;
use super::hystart_plus_plus::HyStartPlusPlus;
use super::reno;
use crate::config::{Config, Constants, HyStartMode};
use paceline_core::{Instant, Span};

/// A set of constants.
#[derive(Debug, Clone, Copy)]
struct Values {
    /// Left of the window after a loss.
    beta: f64,
    /// Growth of W_est, packets a round trip.
    alpha: f64,
    /// Packets/s³.
    c: f64,
    /// The most growth, of the window, a round trip (RFC 9438 section 4.2; Linux `cnt` of at least 1).
    most_growth: f64,
    /// Growth before the first loss and after a timeout.
    unknown: Unknown,
    /// "A round trip ahead" is the least one seen (Linux `delay_min`), else the smoothed one (RFC 9438).
    ahead_by_least_rtt: bool,
    /// W_est grows by one packet a round trip once it is back at the window of the loss (RFC 9438 section 4.3).
    as_fast_as_reno_beyond_prior: bool,
}

fn values(constants: Constants) -> &'static Values {
    static RFC: Values = Values {
        beta: 0.7,
        alpha: alpha(0.7),
        c: 0.4,
        most_growth: 0.5,
        unknown: Unknown::ByTheCurve,
        ahead_by_least_rtt: false,
        as_fast_as_reno_beyond_prior: true,
    };
    static LINUX: Values = Values {
        beta: 717.0 / 1024.0,
        alpha: alpha(717.0 / 1024.0),
        c: 410.0 / 1024.0,
        most_growth: 1.0,
        unknown: Unknown::AtLeast(0.05),
        ahead_by_least_rtt: true,
        as_fast_as_reno_beyond_prior: false,
    };
    if constants == Constants::Rfc9438 { &RFC } else { &LINUX }
}

/// Growth of W_est with this beta, packets a round trip (RFC 9438 section 4.3).
const fn alpha(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

/// Growth while W_max is unknown, of the window, a round trip.
#[derive(Debug, Clone, Copy)]
enum Unknown {
    ByTheCurve,
    AtLeast(f64),
}

/// The state of CUBIC. Windows in packets, times in seconds.
#[derive(Debug, Clone)]
pub(crate) struct Cubic {
    values: &'static Values,
    /// Window at the last loss; 0 is unknown.
    w_max: f64,
    /// Window when ssthresh was last set (RFC 9438 `cwnd_prior`).
    prior: f64,
    /// The curve in force, from the first acknowledgement of this congestion avoidance on.
    curve: Option<Curve>,
    /// Least round trip; 0 before the first sample.
    least_rtt: f64,
    slow_start: Option<Box<SlowStart>>,
}

/// What ends slow start before a loss.
#[derive(Debug, Clone)]
enum SlowStart {
    Linux(HyStart),
    PlusPlus(HyStartPlusPlus),
}

impl SlowStart {
    fn of(config: &Config) -> Option<Self> {
        let is_paced = config.pacing.is_some();
        match config.hystart {
            HyStartMode::Off => None,
            HyStartMode::Linux => Some(SlowStart::Linux(HyStart::new(is_paced))),
            HyStartMode::Rfc9406 => Some(SlowStart::PlusPlus(HyStartPlusPlus::new(is_paced))),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Curve {
    start: Instant,
    k: f64,
    /// Where it is flat: W_max, or the window at its start if that is greater.
    origin: f64,
    /// What Reno would have.
    w_est: f64,
}

impl CongestionControl for Cubic {
    fn new(config: &Config) -> Self {
        let values = values(config.constants);
        Cubic {
            values,
            w_max: 0.0,
            prior: 0.0,
            curve: None,
            least_rtt: 0.0,
            slow_start: SlowStart::of(config).map(Box::new),
        }
    }

    fn increase(&mut self, window: &mut Window, acked: Acked) {
        if let Some(sample) = acked.sample.map(Span::as_seconds)
            && (self.least_rtt == 0.0 || sample < self.least_rtt)
        {
            self.least_rtt = sample;
        }
        if window.cwnd < f64::from(window.ssthresh) {
            let is_over = match self.slow_start.as_deref_mut() {
                Some(SlowStart::PlusPlus(hystart)) => hystart.increase(window, acked),
                linux => {
                    window.cwnd = reno::increase(window.cwnd, window.ssthresh, acked.weight);
                    match linux {
                        Some(SlowStart::Linux(hystart)) => hystart.ends_slow_start(window.cwnd, acked),
                        _ => false,
                    }
                }
            };
            if is_over {
                window.ssthresh = window.cwnd as u32;
            }
            return;
        }
        self.end_slow_start();
        self.follow_the_curve(window, acked);
    }

    fn cut(&mut self, window: f64, cwnd: f64) -> f64 {
        let beta = self.values.beta;
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + beta) / 2.0 } else { cwnd };
        self.prior = cwnd;
        self.curve = None;
        self.end_slow_start();
        (window * beta).max(2.0)
    }

    fn on_timeout(&mut self) {
        self.w_max = 0.0;
        self.curve = None;
        match self.slow_start.as_deref_mut() {
            Some(SlowStart::Linux(hystart)) => hystart.restart(),
            _ => self.slow_start = None, // the first slow start alone (RFC 9406 section 4.3)
        }
    }

    /// The time without data does not count (RFC 9438 section 5.8).
    fn on_idle(&mut self, idle: Span) {
        if let Some(curve) = &mut self.curve {
            curve.start += idle;
        }
    }

    #[inline]
    fn on_first_transmission(&mut self, seq: u32, now: Instant) {
        match self.slow_start.as_deref_mut() {
            Some(SlowStart::Linux(hystart)) => hystart.on_first_transmission(seq, now),
            Some(SlowStart::PlusPlus(hystart)) => hystart.on_first_transmission(seq, now),
            None => {}
        }
    }
}

impl Cubic {
    fn end_slow_start(&mut self) {
        match self.slow_start.as_deref_mut() {
            Some(SlowStart::Linux(hystart)) => hystart.stop(),
            Some(SlowStart::PlusPlus(_)) => self.slow_start = None,
            None => {}
        }
    }

    fn follow_the_curve(&mut self, window: &mut Window, acked: Acked) {
        let values = self.values;
        let cwnd = window.cwnd;
        let w_max = self.w_max;
        let curve = self.curve.get_or_insert_with(|| Curve {
            start: acked.now,
            k: if w_max > cwnd { libm::cbrt((w_max - cwnd) / values.c) } else { 0.0 },
            origin: w_max.max(cwnd),
            w_est: cwnd,
        });
        let share = (f64::from(acked.packets) / cwnd).min(1.0); // of a round trip
        let alpha =
            if values.as_fast_as_reno_beyond_prior && curve.w_est >= self.prior { 1.0 } else { values.alpha };
        curve.w_est += alpha * share;
        let rtt = if values.ahead_by_least_rtt { self.least_rtt } else { acked.srtt };
        let from_origin = acked.now.since(curve.start).as_seconds() - curve.k;
        let at = |time: f64| curve.origin + values.c * (time * time * time);

        let reno_is_ahead = at(from_origin) < curve.w_est; // the Reno-friendly region
        let mut by_the_curve = 0.0;
        if !reno_is_ahead {
            by_the_curve = (at(from_origin + rtt) - cwnd).clamp(0.0, values.most_growth * cwnd);
        }
        let a_round_trip = match values.unknown {
            Unknown::AtLeast(part) if w_max == 0.0 => by_the_curve.max(part * cwnd),
            _ => by_the_curve,
        };
        window.cwnd = cwnd + a_round_trip * share;
        if reno_is_ahead {
            window.cwnd = window.cwnd.max(curve.w_est);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Profile;

    fn cubic(constants: Constants) -> Cubic {
        Cubic::new(&Config { constants, hystart: HyStartMode::Off, ..Config::new(Profile::Rfc) })
    }

    /// A whole window of 100 packets is acknowledged at this time, seconds: the window after that.
    fn after(cubic: &mut Cubic, seconds: f64, sample: f64) -> f64 {
        let (packets, open, dubious, used, weight, end) = (100, true, false, true, 1, 999);
        let (now, sample) = (Instant::ZERO + Span::from_seconds(seconds), Some(Span::from_seconds(sample)));
        let acked = Acked {
            now,
            next: 1,
            packets,
            open,
            dubious,
            used,
            weight,
            end,
            srtt: 0.1,
            sample,
            paced_until: Instant::MAX,
        };
        let mut window = Window { cwnd: 100.0, ssthresh: 2 };
        cubic.increase(&mut window, acked);
        window.cwnd
    }

    #[test]
    fn a_round_trip_adds_half_a_window_at_most_by_the_rfc_and_a_whole_one_in_linux() {
        for (constants, most) in [(Constants::Rfc9438, 150.0), (Constants::Linux2013, 200.0)] {
            let mut cubic = cubic(constants);
            cubic.cut(100.0, 100.0);
            after(&mut cubic, 0.0, 0.1); // the curve begins
            assert_eq!(after(&mut cubic, 60.0, 0.1), most);
        }
    }

    /// 5 % a round trip while no loss is known (Linux `cnt` of 20 at most), and no curve is left.
    #[test]
    fn a_timeout_forgets_the_maximum() {
        let mut cubic = cubic(Constants::Linux2013);
        cubic.cut(100.0, 200.0);
        after(&mut cubic, 0.0, 0.1);
        cubic.on_timeout();
        assert_eq!(after(&mut cubic, 60.0, 0.1), 105.0);
    }

    #[test]
    fn a_second_loss_at_the_maximum_keeps_the_maximum() {
        let mut cubic = cubic(Constants::Rfc9438);
        cubic.cut(100.0, 100.0);
        cubic.cut(100.0, 100.0);
        assert_eq!((cubic.w_max, cubic.prior), (100.0, 100.0));
        assert_eq!(cubic.cut(90.0, 90.0), 0.7 * 90.0);
        assert_eq!(cubic.w_max, 90.0 * 1.7 / 2.0);
    }

    #[test]
    fn the_least_round_trip_is_the_least() {
        let mut cubic = cubic(Constants::Linux2013);
        let least = [0.2, 0.3, 0.1, 0.2].map(|sample| {
            after(&mut cubic, 0.0, sample);
            cubic.least_rtt
        });
        assert_eq!(least, [0.2, 0.2, 0.1, 0.1]);
    }
}
