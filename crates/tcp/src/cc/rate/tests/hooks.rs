//! What a model is told, and when: by one that writes it down.

use super::*;
use crate::cc::congestion_control::{Acked, CongestionControl, Window};
use crate::cc::rate::{Path, PathModel};

#[derive(Debug, Clone, Default)]
struct Writer(std::cell::RefCell<Vec<String>>);

impl Writer {
    fn write(&self, text: impl Into<String>) {
        self.0.borrow_mut().push(text.into());
    }
}

impl PathModel for Writer {
    fn new(_: &Config) -> Self {
        Writer::default()
    }

    fn begin(&mut self, rates: &Sampler, srtt: f64, _: Instant) {
        self.write(format!("begin {srtt} {:?}", rates.least_us()));
    }

    fn on_ack(&mut self, path: &mut Path<'_>, _: &RateSample) {
        self.write(format!("ack {} {}", path.ack.prior_in_flight, path.ack.in_flight));
        *path.cwnd += 1;
    }

    fn on_sent(&mut self, in_flight: u32) {
        self.write(format!("sent {in_flight}"));
    }

    fn before_recovery(&mut self, _: &Sampler, cwnd: u32) {
        self.write(format!("recovery {cwnd}"));
    }

    fn on_timeout(&mut self, _: &Sampler) {
        self.write("timeout");
    }

    fn on_undo(&mut self, _: &Sampler, cwnd: &mut u32) {
        *cwnd += 5;
        self.write("undo");
    }

    fn on_restart(&mut self, _: &Sampler, cwnd: &mut u32, _: Instant) {
        *cwnd += 7;
        self.write("restart");
    }

    fn pace(&self) -> Pace {
        Pace { rate: 1, burst: 1 }
    }
}

fn acked(next: u32, packets: u32, end: u32) -> Acked {
    Acked {
        now: Instant::from_nanos(MS),
        next,
        packets,
        open: true,
        dubious: false,
        used: true,
        weight: 1,
        end,
        srtt: 0.001,
        sample: Some(Span::from_nanos(MS)),
        paced_until: Instant::MAX,
    }
}

fn written(control: &ByRate<Writer>) -> Vec<String> {
    control.model().0.take()
}

#[test]
fn without_a_handshake_it_begins_with_the_first_packet() {
    let config = Config { syn: None, ..Config::of_variant(Profile::Linux, Variant::Bbr) };
    let mut control = ByRate::<Writer>::new(&config);
    control.on_timeout();
    let mut window = Window { cwnd: 10.0, ssthresh: 100 };
    control.by_rate().expect("it is").on_restart(&mut window, Instant::ZERO);
    assert!(written(&control).is_empty(), "it has not begun");
    control.on_first_transmission(0, Instant::ZERO);
    control.on_first_transmission(1, Instant::ZERO);
    control.on_retransmission(0, Instant::ZERO);
    assert_eq!(written(&control), ["begin 0 None", "sent 1", "sent 2", "sent 3"]);
    control.by_rate().expect("it is").set_in_flight(7);
    control.on_first_transmission(2, Instant::ZERO);
    assert_eq!(written(&control), ["sent 8"]);
    control.increase(&mut window, acked(2, 2, 3));
    assert_eq!((written(&control), window.cwnd), (vec!["ack 3 1".into()], 11.0));
    control.by_rate().expect("it is").on_restart(&mut window, Instant::ZERO);
    assert!(written(&control).is_empty(), "the application had enough to send");
    control.by_rate().expect("it is").limit_by_application(1);
    control.by_rate().expect("it is").on_restart(&mut window, Instant::ZERO);
    assert_eq!((written(&control), window.cwnd), (vec!["restart".into()], 18.0));
    control.by_rate().expect("it is").on_undo(&mut window);
    assert_eq!((written(&control), window.cwnd), (vec!["undo".into()], 23.0));
    control.on_timeout();
    assert_eq!(control.cut(40.0, 23.0), f64::from(config.max_window.min(100)));
    assert_eq!(written(&control), ["timeout", "recovery 23"]);
}

/// The SYN's acknowledgement is the beginning, and its round trip the least.
#[test]
fn with_a_handshake_it_begins_at_its_end() {
    let config =
        Config { syn: Some(40), data_with_syn: false, ..Config::of_variant(Profile::Linux, Variant::Bbr) };
    let mut control = ByRate::<Writer>::new(&config);
    control.on_first_transmission(0, Instant::ZERO);
    assert_eq!(written(&control), ["sent 1"]);
    let mut window = Window { cwnd: 10.0, ssthresh: 100 };
    control.increase(&mut window, acked(1, 1, 1));
    assert_eq!((written(&control), window.cwnd), (vec!["begin 0.001 Some(1000)".into()], 10.0));
    control.on_first_transmission(1, Instant::from_nanos(MS));
    control.increase(&mut window, acked(2, 1, 2));
    assert_eq!(written(&control), ["sent 1", "ack 1 0"]);
}
