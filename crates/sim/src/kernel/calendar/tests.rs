use super::*;

fn event(at: u64, flow: u32) -> Event {
    Event::of_flow(Instant::from_nanos(at), 0, Kind::Arrival, flow)
}

/// Random pushes and pops against a sorted list, over densities from many events a slot to one in many revolutions.
#[test]
fn agrees_with_a_sorted_list() {
    let mut state = 12345_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) % below
    };
    for spread in [10, 100_000, 500_000_000, 100_000_000_000] {
        let mut calendar = Calendar::new(Precedence::default());
        let mut model: BTreeMap<(u64, u32, u64), ()> = BTreeMap::new();
        let (mut now, mut count) = (0, 0);
        for _ in 0..300_000 {
            if model.len() < 50 || draw(2) == 0 {
                let (at, flow) = (now + draw(spread), draw(5) as u32);
                calendar.push(event(at, flow));
                model.insert((at, flow, count), ());
                count += 1;
            } else {
                let ((at, flow, _), ()) = model.pop_first().unwrap();
                let popped = calendar.pop_before(Instant::MAX).unwrap();
                assert_eq!((popped.at.as_nanos(), popped.flow), (at, flow));
                now = at;
            }
        }
        assert_eq!(calendar.iter().count(), model.len());
        while let Some(((at, flow, _), ())) = model.pop_first() {
            let popped = calendar.pop_before(Instant::MAX).unwrap();
            assert_eq!((popped.at.as_nanos(), popped.flow), (at, flow));
        }
        assert!(calendar.pop_before(Instant::MAX).is_none());
    }
}

/// Equal events on both sides of the wheel's end, as that moves on: they come as they were pushed.
#[test]
fn equal_events_keep_their_order_wherever_they_wait() {
    [false, true].into_iter().for_each(come_as_they_were_pushed);
}

fn come_as_they_were_pushed(tuned: bool) {
    let mut calendar = Calendar::new(Precedence::default());
    let width = 1 << calendar.shift;
    let far = (SLOTS + 5) * width;
    let equal = |seq: u32| {
        let mut equal = event(far, 7);
        equal.seq = seq;
        equal
    };
    (1..=6).for_each(|slot| calendar.push(event(10 * slot * width, 0)));
    calendar.push(event(SLOTS * width, 0)); // in the wheel, and of the same revolution
    for seq in 0..6 {
        calendar.push(equal(seq));
        calendar.pop_before(Instant::MAX).unwrap();
    }
    if tuned {
        let shift = calendar.shift;
        calendar.retune();
        assert_ne!(calendar.shift, shift);
    }
    calendar.pop_before(Instant::MAX).unwrap();
    let seqs: Vec<u32> = (0..6).map(|_| calendar.pop_before(Instant::MAX).unwrap().seq).collect();
    assert_eq!(seqs, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn nothing_at_or_after_the_end_is_popped() {
    let mut calendar = Calendar::new(Precedence::default());
    calendar.push(event(100, 0));
    assert!(calendar.pop_before(Instant::from_nanos(100)).is_none());
    calendar.push(event(50, 1));
    assert_eq!(calendar.pop_before(Instant::from_nanos(100)).unwrap().flow, 1);
    assert_eq!(calendar.pop_before(Instant::from_nanos(101)).unwrap().flow, 0);
}
