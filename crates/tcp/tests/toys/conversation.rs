//! Forty packets with each toy, of which the path loses one.

use paceline_core::{Instant, Span};
use paceline_tcp::{Config, Halving, Output, Profile, Receiver, Reply, Segment, Sender, Variant, options};
use std::sync::Arc;

struct Wire(Vec<Segment>);

impl Output for Wire {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

/// The window before and after the loss, packets.
fn windows(name: &str) -> (f64, f64) {
    let (_, variant) = *Variant::ALL.iter().find(|(one, _)| *one == name).expect("a name of the list");
    let config =
        Arc::new(Config { syn: None, halving: Halving::Window, ..Config::of_variant(Profile::Rfc, variant) });
    let mut sender = Sender::new(Arc::clone(&config), Some(40), Span::ZERO, 1);
    let (mut receiver, mut wire) = (Receiver::with(&config, 1), Wire(Vec::new()));
    let (mut now, mut cut) = (Instant::ZERO, None);
    sender.start(now, &mut wire);
    while !sender.is_finished() {
        now += Span::from_millis(100);
        let sent = std::mem::take(&mut wire.0);
        assert!(!sent.is_empty(), "nothing is under way");
        for segment in sent.into_iter().filter(|one| one.seq != 15 || one.retransmission) {
            receiver.on_data(segment.seq);
            let Reply::Now(feedback) = receiver.reply(segment.seq, now, now) else { continue };
            let before = (sender.cwnd(), sender.counters().window_cuts);
            sender.on_ack_with(receiver.next(), now, feedback.blocks(), now, &mut wire);
            if sender.counters().window_cuts > before.1 {
                cut = Some((before.0, sender.cwnd()));
            }
        }
    }
    let counters = sender.counters();
    assert_eq!((counters.sent, counters.retransmits, counters.timeouts, counters.window_cuts), (41, 1, 0, 1));
    cut.expect("a loss")
}

fn main() {
    let variant = options::OPTIONS.iter().find(|option| option.key == "variant").expect("an option");
    assert!(["toy", "toy-control"].iter().all(|name| variant.meaning.contains(name)));
    let (before, after) = windows("toy");
    assert_eq!(after, before / 2.0);
    let (before, after) = windows("toy-control");
    assert_eq!(after, before * 0.75);
    assert_eq!(before, 10.0 + 0.5 * 15.0);
}
