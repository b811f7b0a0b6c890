//! What every discipline does alike: idle links, arrivals at the time at which a packet leaves, rates that are
//! another's; and what each refuses.

use super::drive::{A_BYTE, Parcel, RATE, discipline, steady};
use paceline_core::parameters::Value;
use paceline_core::queue::{self, DISCIPLINES, Discipline, Limit};
use paceline_core::{Ecn, Instant, Rate, Stage, Verdict};

fn packets() -> [Parcel; 3] {
    steady(3, 1000, 1, Ecn::NotEct).try_into().unwrap()
}

#[test]
fn an_idle_link_takes_a_packet_that_may_not_wait() {
    for row in DISCIPLINES {
        let mut queue = discipline(row.name, &[], Some(Limit::Bytes(500)), 1);
        let now = Instant::from_nanos(1_000_000_000);
        let [one, two, _] = packets();
        let _ = queue.enqueue(one, now);
        assert_eq!((queue.held_packets(), queue.held_bytes()), (1, 1000), "{}", row.name);
        assert!(queue.dequeue(now).is_some(), "{}", row.name);
        let is_refused = matches!(queue.enqueue(two, now), Verdict::Refused(_));
        assert_eq!(is_refused, row.name != "fq-codel", "{}: the wire is busy", row.name);
        assert_eq!(queue.held_packets(), 0, "{}", row.name);
    }
}

/// With several queues the next packet is chosen when it is dequeued. Until then a packet whose service is due occupies its
/// place in the buffer, and a third one is dropped.
#[test]
fn what_is_due_to_leave_waits_until_it_does() {
    for name in ["fq-codel", "dualpi2", "priority", "drr"] {
        let mut queue = discipline(name, &[], Some(Limit::Packets(1)), 1);
        let mut now = Instant::from_nanos(1_000_000_000);
        let [one, two, three] = packets();
        let _ = queue.enqueue(one, now);
        assert!(queue.dequeue(now).is_some(), "{name}");
        let _ = queue.enqueue(two, now);
        now = queue.wire().free_at();
        assert_eq!(now.as_nanos(), 1_000_000_000 + 1000 * A_BYTE);
        assert_eq!(queue.next_wakeup(), Some(now), "{name}");
        let _ = queue.enqueue(three, now);
        assert_eq!(queue.held_packets(), 1, "{name}");
        assert!(queue.dequeue(now).is_some() && queue.held_packets() == 0, "{name}");
        assert_eq!(queue.next_wakeup(), None, "{name}");
    }
}

#[test]
fn no_service_begins_before_the_wire_is_said_to_be_free() {
    for row in DISCIPLINES {
        let mut queue = discipline(row.name, &[], None, 1);
        let (now, free) = (Instant::from_nanos(1_000_000_000), Instant::from_nanos(1_000_000_123));
        queue.busy_until(free);
        let _ = queue.enqueue(packets()[0], now);
        assert_eq!(queue.next_wakeup(), Some(free), "{}", row.name);
        assert!(queue.dequeue(now).is_none() && queue.dequeue(free).is_some(), "{}", row.name);
    }
}

#[test]
fn the_least_of_each_parameter_is_taken_and_less_refused() {
    let link = Rate::from_bits_per_second(RATE);
    for (name, parameter, least, less) in [
        ("codel", "interval", "1 ns", "0 ms"),
        ("fq-codel", "quantum", "256 B", "255 B"),
        ("pie", "update", "1 ms", "999999 ns"),
        ("dualpi2", "max_rtt", "1 ns", "0 ms"),
        ("drr", "quanta", "256 B", "255 B"),
    ] {
        let is_taken = |text: &str| {
            let value = Value::Text(text.to_owned());
            let value = if name == "drr" { Value::List(vec![value]) } else { value };
            let mut values = |key: &str| (key == parameter).then(|| value.clone());
            queue::parse(name, &mut values, link).is_ok()
        };
        assert!(is_taken(least) && !is_taken(less), "{name}: {parameter}");
    }
}

/// A departure is known at the arrival where packets leave as they came and none that waits is dropped.
#[test]
fn plain_fifos_have_a_closed_form() {
    for row in DISCIPLINES {
        let one = queue::parse(row.name, &mut |_| None, Rate::from_bits_per_second(RATE)).unwrap();
        let expected = match row.name {
            "drop-tail" => (true, true),
            "drop-front" => (true, false),
            _ => (false, false),
        };
        assert_eq!((one.has_closed_form(false), one.has_closed_form(true)), expected, "{}", row.name);
    }
}

/// Without a limit FQ-CoDel holds 10,240 packets (RFC 8290 section 5.2.2).
#[test]
fn fq_codel_has_a_limit_of_its_own() {
    let mut queue = discipline("fq-codel", &[], None, 1);
    let now = Instant::from_nanos(1_000_000_000);
    for parcel in steady(10_242, 1000, 1, Ecn::NotEct) {
        let _ = queue.enqueue(parcel, now);
        let _ = queue.dequeue(now); // the first, which is served at once
    }
    assert_eq!((queue.held_packets(), queue.take_dropped().is_some()), (10_240, true));
}

/// A class beyond the highest is the highest.
#[test]
fn classes_are_seven_at_most() {
    let mut queue = discipline("priority", &[], None, 1).with_classes(&[200, 6].into_iter().collect());
    let now = Instant::from_nanos(1_000_000_000);
    let [mut one, mut two, three] = packets();
    (one.flow, two.flow) = (5, 1); // of a flow without a class, and of class 6
    for parcel in [one, two, three] {
        let _ = queue.enqueue(parcel, now);
    }
    assert_eq!(queue.dequeue(now).map(|parcel| parcel.number), Some(2));
}

/// RED's thresholds at 160 Mbit/s, by ns-2's rule: 5 ms of the link are 200 packets of 500 B, half of that and three
/// times as much; and in bytes as in packets. `bottom` is 80,000 bit/s of it.
#[test]
fn red_computes_its_thresholds() {
    let read = |values: &[(&str, &str)]| -> Result<Discipline, _> {
        let mut value = |key: &str| {
            let given = values.iter().find(|(name, _)| *name == key);
            given.map(|(_, text)| Value::Text((*text).to_owned()))
        };
        queue::parse("red", &mut value, Rate::from_bits_per_second(160_000_000))
    };
    let default = read(&[]).unwrap();
    for values in [
        &[("thresh", "100 packets"), ("maxthresh", "300 packets")][..],
        &[("thresh", "50000 B"), ("maxthresh", "150000 B")],
        &[("thresh", "100 packets")],
        &[("bottom", "0.0005")],
    ] {
        assert_eq!(read(values).unwrap(), default, "{values:?}");
    }
    assert_ne!(read(&[("thresh", "99 packets")]).unwrap(), default);
    assert!(read(&[("thresh", "5 packets"), ("maxthresh", "5 packets")]).is_ok());
    assert!(read(&[("thresh", "5 packets"), ("maxthresh", "4 packets")]).is_err());
}

/// `ns2_draws` is a whole number, as a number or as text.
#[test]
fn a_count_is_a_whole_number() {
    let read = |value: Value| {
        let mut values = |key: &str| (key == "ns2_draws").then(|| value.clone());
        queue::parse("red", &mut values, Rate::from_bits_per_second(RATE))
    };
    let text = |text: &str| read(Value::Text(text.to_owned()));
    assert_eq!(read(Value::Number(3.0)), text("3"));
    assert_eq!(read(Value::Number(0.0)), text("0"));
    assert_ne!(text("0"), text("3"));
    assert!(text("1000000").is_ok() && text("1000001").is_err());
    for value in [3.5, -1.0, 1_000_001.0] {
        assert!(read(Value::Number(value)).is_err(), "{value}");
    }
}

#[test]
fn a_discipline_is_called_by_its_name_in_text_and_table() {
    let table = queue::table();
    for row in DISCIPLINES {
        let one = queue::parse(row.name, &mut |_| None, Rate::from_bits_per_second(RATE)).unwrap();
        assert_eq!(one.to_string(), row.name);
        assert!(table.contains(&format!("| `{}` | | {} | | |\n", row.name, row.summary)));
        assert!(row.parameters.iter().all(|parameter| table.contains(parameter.doc)), "{}", row.name);
    }
}
