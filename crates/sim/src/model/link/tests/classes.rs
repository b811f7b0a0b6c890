//! Counts by class, worked by hand.

use super::*;
use crate::model::link::ByClass;
use std::sync::Arc;

/// Flows 0 and 2 are of class 1, flow 1 of class 0. The window is from 100 to 200 ns.
#[test]
fn each_class_has_its_packets_and_what_of_it_waits() {
    let classes: Arc<[u8]> = [1, 1, 0, 0, 1, 1].into_iter().collect(); // data and acknowledgements of each
    let at = Instant::from_nanos;
    let mut by_class = ByClass::new(&classes, (at(100), at(200)));
    let packet = |flow: u32, bytes: u16| {
        let mut event = Case::draw(Kind::Front, 1).line[0];
        (event.flow, event.bytes) = (flow, bytes);
        event
    };
    by_class.comes(&packet(0, 1000), at(50), true); // before the window: it waits there for 20 ns
    by_class.comes(&packet(0, 10), at(99), false);
    by_class.comes(&packet(2, 500), at(100), true); // to the window's end, and beyond
    by_class.goes(&packet(0, 1000), at(120), false);
    by_class.comes(&packet(1, 700), at(150), true);
    by_class.comes(&packet(1, 300), at(160), true);
    by_class.goes(&packet(1, 700), at(170), true); // dropped after 20 ns
    by_class.comes(&packet(1, 50), at(175), true);
    by_class.goes(&packet(1, 50), at(180), true); // dropped after 5 ns
    by_class.comes(&packet(0, 30), at(190), true);
    by_class.comes(&packet(2, 40), at(199), false);
    by_class.goes(&packet(0, 30), at(200), true); // as the window ends
    by_class.comes(&packet(1, 10), at(200), true); // after the window
    by_class.goes(&packet(1, 300), at(230), true);
    let found: Vec<_> =
        by_class.finish().map(|(counts, mean)| (counts.arrived, counts.dropped, mean)).collect();
    let bytes = |area: u64| area as f64 / 100.0;
    assert_eq!(found[0], (3, 2, bytes(700 * 20 + 300 * 40 + 50 * 5)));
    assert_eq!(found[1], (3, 1, bytes(1000 * 20 + 500 * 100 + 30 * 10)));
    assert!(found[2..].iter().all(|counts| *counts == (0, 0, 0.0)), "{found:?}");
}
