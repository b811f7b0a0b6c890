//! Congestion controls by rate: they set the window and the pacing rate from samples of the delivery rate, not from single losses.
//!
//! *Idea.* [`ByRate`] keeps what a sample needs ([`sampler`]) and passes it to a model of the path ([`PathModel`]), which decides. It
//! replaces growth and reduction of the window by acknowledgements (Linux `cong_control`); recovery still finds what is lost and what
//! is sent again.
//! *References.* Linux net/ipv4/tcp_rate.c, tcp_input.c `tcp_cong_control`; draft-ietf-ccwg-bbr section 4.1.

mod sampler;
mod windowed_max;

use super::congestion_control::{Acked, CongestionControl, RateControl, Window};
pub(super) use super::congestion_control::{Pace, RateAck};
use crate::config::Config;
use crate::sack::CaState;
use paceline_core::Instant;
pub(crate) use sampler::{RateSample, Sampler, Transmission, micros};
pub(crate) use windowed_max::WindowedMax;

/// Gains have 8 binary digits after the point (Linux `BBR_UNIT`), bandwidth, packets/us, has 24 (`BW_UNIT`).
pub(crate) const UNIT: u64 = 1 << 8;
pub(crate) const BW_SCALE: u32 = 24;
pub(crate) const BW_UNIT: u64 = 1 << BW_SCALE;

/// Of the rate, percent that pacing leaves free, so that a queue drains (`bbr_pacing_margin_percent`).
const MARGIN_PERCENT: u64 = 1;

/// Payload, byte/s, at a gain (`bbr_rate_bytes_per_sec`).
pub(crate) fn payload_rate(bw: u64, gain: u64, payload: u64) -> u64 {
    let rate = u128::from(bw) * u128::from(payload) * u128::from(gain) / u128::from(UNIT);
    let rate = (rate * u128::from(1_000_000 / 100 * (100 - MARGIN_PERCENT))) >> BW_SCALE;
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// What fits on the path, times a gain, packets, rounded up (`bbr_bdp`).
pub(crate) fn bdp(bw: u64, rtt_us: u64, gain: u64) -> u32 {
    let volume = u128::from(bw) * u128::from(rtt_us) * u128::from(gain) / u128::from(UNIT);
    u32::try_from(volume.div_ceil(u128::from(BW_UNIT))).unwrap_or(u32::MAX / 4).min(u32::MAX / 4)
}

/// What a model sees and changes at an acknowledgement. Windows in packets.
#[derive(Debug)]
pub(crate) struct Path<'a> {
    pub(crate) rates: &'a mut Sampler,
    pub(crate) ack: RateAck,
    pub(crate) cwnd: &'a mut u32,
    pub(crate) ssthresh: &'a mut u32,
}

/// A model of the path.
pub(crate) trait PathModel: Sized {
    fn new(config: &Config) -> Self;

    /// The seed of its draws.
    fn seed(&mut self, _seed: u64) {}

    /// The connection begins, or its handshake is over; `srtt` in seconds, 0 where it is unknown.
    fn begin(&mut self, rates: &Sampler, srtt: f64, now: Instant);

    fn on_ack(&mut self, path: &mut Path<'_>, sample: &RateSample);

    /// It asks for transmissions that are lost, which takes a search.
    const READS_LOST: bool = false;

    /// A transmission is lost.
    fn on_lost(&mut self, _rates: &Sampler, _lost: &Transmission, _cwnd: u32, _now: Instant) {}

    /// A packet is sent, whose `in_flight` is known.
    fn on_sent(&mut self, _in_flight: u32) {}

    /// A recovery begins, or a timeout comes, at this window.
    fn before_recovery(&mut self, rates: &Sampler, cwnd: u32);

    fn on_timeout(&mut self, rates: &Sampler);

    /// The timeout was needless.
    fn on_undo(&mut self, rates: &Sampler, cwnd: &mut u32);

    /// Data are sent again after nothing was in flight.
    fn on_restart(&mut self, rates: &Sampler, cwnd: &mut u32, now: Instant);

    fn pace(&self) -> Pace;
}

/// A congestion control by rate.
#[derive(Debug, Clone)]
pub(crate) struct ByRate<M>(Box<Inner<M>>);

#[derive(Debug, Clone)]
struct Inner<M> {
    rates: Sampler,
    model: M,
    /// The threshold that the model last set; it decides nothing.
    ssthresh: u32,
    waits_for_handshake: bool,
    begun: bool,
    timestamps: bool,
}

impl<M: PathModel> CongestionControl for ByRate<M> {
    const RECEIVES_UNUSED: bool = true;

    fn new(config: &Config) -> Self {
        ByRate(Box::new(Inner {
            rates: Sampler::default(),
            model: M::new(config),
            ssthresh: config.initial_ssthresh.unwrap_or(config.max_window),
            waits_for_handshake: config.syn.is_some() && !config.data_with_syn,
            begun: false,
            timestamps: config.timestamps,
        }))
    }

    fn with_seed(mut self, seed: u64) -> Self {
        self.0.model.seed(seed);
        self
    }

    /// Everything up to `acked.next` has arrived in order, and nothing is missing.
    fn increase(&mut self, window: &mut Window, acked: Acked) {
        let inner = &mut *self.0;
        let is_handshake = inner.waits_for_handshake && !inner.begun;
        inner.rates.arrive(acked.next - acked.packets, acked.next, false);
        if is_handshake {
            inner.rates.end_handshake(&acked);
            return inner.begin(acked.srtt, acked.now);
        }
        let in_flight = acked.end - acked.next;
        inner.on_ack(
            window,
            RateAck {
                now: acked.now,
                next: acked.next,
                echo: acked.sample.filter(|_| inner.timestamps).map(|sample| acked.now.earlier_by(sample)),
                delivered: acked.packets,
                lost: 0,
                prior_in_flight: in_flight + acked.packets,
                in_flight,
                ca_state: CaState::Open,
                srtt: acked.srtt,
                paced_until: acked.paced_until,
            },
        );
    }

    /// The threshold stays (Linux `bbr_ssthresh`).
    fn cut(&mut self, _window: f64, cwnd: f64) -> f64 {
        self.0.model.before_recovery(&self.0.rates, cwnd as u32);
        f64::from(self.0.ssthresh)
    }

    fn on_timeout(&mut self) {
        if self.0.begun {
            self.0.model.on_timeout(&self.0.rates);
        }
    }

    #[inline]
    fn on_first_transmission(&mut self, seq: u32, now: Instant) {
        let inner = &mut *self.0;
        if !inner.waits_for_handshake && !inner.begun {
            inner.begin(0.0, now);
        }
        let in_flight = inner.rates.send(seq, now);
        inner.model.on_sent(in_flight);
    }

    fn on_retransmission(&mut self, seq: u32, now: Instant) {
        let in_flight = self.0.rates.resend(seq, now);
        self.0.model.on_sent(in_flight);
    }

    fn pace(&self) -> Option<Pace> {
        Some(self.0.model.pace())
    }

    fn by_rate(&mut self) -> Option<&mut dyn RateControl> {
        Some(&mut *self.0)
    }
}

impl<M: PathModel> Inner<M> {
    fn begin(&mut self, srtt: f64, now: Instant) {
        self.begun = true;
        self.model.begin(&self.rates, srtt, now);
    }
}

impl<M: PathModel> RateControl for Inner<M> {
    fn on_arrival(&mut self, start: u32, end: u32, beyond: bool) {
        self.rates.arrive(start, end, beyond);
    }

    fn on_lost(&mut self, seq: u32, cwnd: f64, now: Instant) {
        self.rates.lose();
        if M::READS_LOST
            && let Some(lost) = self.rates.last(seq)
        {
            self.model.on_lost(&self.rates, &lost, cwnd as u32, now);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: RateAck) {
        if !self.begun {
            self.begin(ack.srtt, ack.now);
        }
        let sample = self.rates.sample(&ack);
        let mut cwnd = window.cwnd as u32;
        let ssthresh = &mut window.ssthresh;
        self.model.on_ack(&mut Path { rates: &mut self.rates, ack, cwnd: &mut cwnd, ssthresh }, &sample);
        self.ssthresh = window.ssthresh;
        window.cwnd = f64::from(cwnd);
    }

    fn set_in_flight(&mut self, in_flight: u32) {
        self.rates.set_in_flight(in_flight);
    }

    fn limit_by_application(&mut self, in_flight: u32) {
        self.rates.limit(in_flight);
    }

    fn on_restart(&mut self, window: &mut Window, now: Instant) {
        if self.begun && self.rates.is_limited() {
            let mut cwnd = window.cwnd as u32;
            self.model.on_restart(&self.rates, &mut cwnd, now);
            window.cwnd = f64::from(cwnd);
        }
    }

    fn on_undo(&mut self, window: &mut Window) {
        let mut cwnd = window.cwnd as u32;
        self.model.on_undo(&self.rates, &mut cwnd);
        window.cwnd = f64::from(cwnd);
    }
}

#[cfg(test)]
pub(crate) mod tests;
