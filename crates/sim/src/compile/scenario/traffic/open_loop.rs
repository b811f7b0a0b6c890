//! `cbr`, `poisson`, `on-off`, `self-similar` and `pcap`: packets without feedback.

use std::sync::Arc;

use paceline_core::{Ecn, Instant, Rate, Span};

use super::file;
use crate::compile::draw::Draw;
use crate::compile::scenario::tcp::MOST_PACKET;
use crate::input::keys::{Key, Kind, key, needed, words};
use crate::input::{Field, Range, Result, ScenarioError, Table};
use crate::network::FlowKind;
use crate::workload::Distribution;
use crate::workload::distribution_reader::TIMES;
use crate::workload::on_off::OnOff;
use crate::workload::open_loop::{Schedule, Timing};
use crate::workload::self_similar::{MOST_SLOTS, SelfSimilar};
use paceline_capture::CaptureError;
use paceline_capture::order::Order;

const RATE: Key = needed("rate", Kind::Rates, "on the wire; a range is drawn once a flow");
const PACKET: Key = needed("packet", Kind::Bytes, "of a packet on the wire");
const HEADER: Key = key("header", Kind::Bytes, "of each packet, not counted as goodput; none unless given");
const STOP: Key = key("stop", Kind::Time, "when it stops; at the end unless given");
const ECN: Key =
    key("ecn", Kind::Word(|| words(&ECN_FIELDS)), "field of the IP header; not-ect unless given");
const ECN_FIELDS: [(&str, Ecn); 3] = [("not-ect", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1)];

pub(super) const STEADY_KEYS: [Key; 5] = [RATE, PACKET, HEADER, STOP, ECN];
pub(super) const ON_OFF_KEYS: [Key; 7] = [
    RATE,
    needed("on", TIMES, "how long it sends, drawn"),
    needed("off", TIMES, "how long it is silent, drawn"),
    PACKET,
    HEADER,
    STOP,
    ECN,
];
pub(super) const SELF_SIMILAR_KEYS: [Key; 10] = [
    needed("mean", Kind::Rate, "of the rate, with the bounds at work"),
    key("min", Kind::Rate, "least rate of a slot; 0 bit/s unless given"),
    key("max", Kind::Rate, "greatest rate of a slot; no bound unless given"),
    key("deviation", Kind::Rate, "standard deviation of a slot's rate before the bounds"),
    needed(
        "hurst",
        Kind::Number(0.0, 1.0),
        "Hurst exponent, between 0 and 1; above 0.5 is long-range dependence",
    ),
    key("slot", Kind::Time, "the rate changes at these steps; 10 ms unless given"),
    PACKET,
    HEADER,
    STOP,
    ECN,
];
pub(super) const PCAP_KEYS: [Key; 6] = [
    needed("file", Kind::Text, "pcap or pcapng, perhaps compressed; relative to the scenario's own"),
    file::SPEED,
    key("interface", Kind::Whole(0, u32::MAX as u64), "only what was captured on this one; all unless given"),
    HEADER,
    STOP,
    ECN,
];

/// A cycle of on and off that is shorter on average is no burst but an accident.
const SHORTEST_CYCLE_S: f64 = 1e-6;
/// More packets of a capture than this do not fit in memory with everything else.
const MOST_REPLAYED: usize = 1 << 26;

/// An open-loop source before its rate is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpenLoop {
    rhythm: Rhythm,
    /// The largest packet on the wire, bytes.
    bytes: u32,
    /// Of each, bytes that goodput does not count.
    header: u32,
    /// When it stops.
    stop: Option<Span>,
    /// The ECN field of each.
    ecn: Ecn,
}

#[derive(Debug, Clone, PartialEq)]
enum Rhythm {
    Constant(Range<Rate>),
    Poisson(Range<Rate>),
    OnOff { rate: Range<Rate>, on: Distribution, off: Distribution },
    SelfSimilar(SelfSimilar),
    Replay(Arc<Schedule>),
}

impl OpenLoop {
    pub(super) fn steady(table: &Table<'_>, start: Range<Span>, poisson: bool) -> Result<OpenLoop> {
        let packets = packets(table, start);
        let rate = rate(table, &packets)?;
        let (bytes, header, stop) = packets?;
        let rhythm = if poisson { Rhythm::Poisson(rate) } else { Rhythm::Constant(rate) };
        Ok(OpenLoop { rhythm, bytes, header, stop, ecn: ecn(table)? })
    }

    pub(super) fn on_off(table: &Table<'_>, start: Range<Span>) -> Result<OpenLoop> {
        let packets = packets(table, start);
        let rate = rate(table, &packets);
        let example = "{ exponential = \"100 ms\" }";
        let on = table.needs("on", example, |field| field.times_with_mean(false));
        let off = table.needs("off", example, |field| field.times_with_mean(true))?;
        let ((bytes, header, stop), rate, on) = (packets?, rate?, on?);
        let on_field = table.required("on", example)?;
        if on.mean() + off.mean() < SHORTEST_CYCLE_S {
            return Err(
                on_field.wrong("on and off last less than a microsecond together; write longer times")
            );
        }
        let rhythm = Rhythm::OnOff { rate, on, off };
        Ok(OpenLoop { rhythm, bytes, header, stop, ecn: ecn(table)? })
    }

    pub(super) fn self_similar(table: &Table<'_>, start: Range<Span>, duration: Span) -> Result<OpenLoop> {
        let packets = packets(table, start);
        let mean = table.needs("mean", "\"16 Mbit/s\"", Field::one_of::<Rate>);
        let hurst = table.needs("hurst", "0.8", hurst);
        let ((bytes, header, stop), mean, hurst) = (packets?, mean?, hurst?);
        let most = Rate::from_bits_per_second(most_rate(bytes));
        let minimum = match table.get("min") {
            Some(field) => match field.zero_or_rate()? {
                minimum if minimum > mean.bits_per_second() => {
                    return Err(field.refused(format!("is above the mean; write at most \"{mean}\"")));
                }
                minimum => minimum,
            },
            None => 0,
        };
        let maximum = match table.get("max") {
            Some(field) => match field.one_of::<Rate>()? {
                maximum if maximum < mean => {
                    return Err(field.refused(format!("is below the mean; write at least \"{mean}\"")));
                }
                maximum if maximum > most => return Err(too_fast(&field, bytes)),
                maximum => maximum,
            },
            None if mean > most => return Err(too_fast(&table.required("mean", "")?, bytes)),
            None => most,
        };
        let nearer = match table.get("max") {
            Some(_) => {
                (mean.bits_per_second() - minimum).min(maximum.bits_per_second() - mean.bits_per_second())
            }
            None => mean.bits_per_second() - minimum,
        };
        let deviation = match table.get("deviation") {
            Some(field) => match field.zero_or_rate()? {
                deviation if deviation > 0 && nearer == 0 => {
                    return Err(field.refused(
                        "is no deviation for a mean at its bound; write \"0 bit/s\", or wider bounds",
                    ));
                }
                deviation => deviation,
            },
            None => nearer / 3,
        };
        let slot = table.optional("slot", Field::positive_span)?.unwrap_or(Span::from_millis(10));
        let slots = duration.as_nanos().div_ceil(slot.as_nanos());
        if slots > MOST_SLOTS {
            let least = Span::from_nanos(duration.as_nanos().div_ceil(MOST_SLOTS));
            let path = table.path_of("slot");
            let problem = format!("\"{slot}\" cuts the run into {slots} slots; write at least \"{least}\"");
            return Err(ScenarioError::at(&path, problem));
        }
        let rhythm = Rhythm::SelfSimilar(SelfSimilar {
            mean,
            minimum_bps: minimum,
            maximum,
            deviation_bps: deviation,
            hurst,
            slot,
        });
        Ok(OpenLoop { rhythm, bytes, header, stop, ecn: ecn(table)? })
    }

    pub(super) fn pcap(table: &Table<'_>, start: Range<Span>, duration: Span) -> Result<OpenLoop> {
        let field = table.required("file", "\"capture.pcap\"")?;
        let header = table.optional("header", |field| field.packet_bytes(0, MOST_PACKET))?.unwrap_or(0);
        let stop = table.optional("stop", |field| stop_after(field, start))?;
        let speed = file::speed(table)?;
        let interface = table.optional("interface", |field| field.whole(0, u64::from(u32::MAX)))?;
        let path = file::path(&field)?;
        let schedule = schedule(path, interface.map(|number| number as u32), speed, duration)
            .map_err(|problem| file::wrong(&field, path, problem))?;
        let Some(largest) = schedule.packets.iter().map(|(_, bytes)| *bytes).max() else {
            let of = interface.map_or(String::new(), |number| format!(" of interface {number}"));
            return Err(file::wrong(&field, path, format!("no packets{of} to replay; write another")));
        };
        let rhythm = Rhythm::Replay(Arc::new(schedule));
        Ok(OpenLoop { rhythm, bytes: u32::from(largest), header, stop, ecn: ecn(table)? })
    }

    /// As the flow of this name draws it.
    pub(crate) fn of_flow(&self, name: &str, draw: Draw) -> FlowKind {
        let timing = match &self.rhythm {
            Rhythm::Constant(rate) => Timing::Constant(draw.rate(*rate, name)),
            Rhythm::Poisson(rate) => Timing::Poisson(draw.rate(*rate, name)),
            Rhythm::OnOff { rate, on, off } => {
                Timing::OnOff(OnOff { rate: draw.rate(*rate, name), on: *on, off: *off })
            }
            Rhythm::SelfSimilar(spec) => Timing::SelfSimilar(*spec),
            Rhythm::Replay(schedule) => Timing::Replay(Arc::clone(schedule)),
        };
        let stop = self.stop.map(|stop| Instant::ZERO + stop);
        let OpenLoop { bytes, ecn, .. } = *self;
        let header = self.header as u16; // no larger than a packet
        FlowKind::OpenLoop { bytes, header, timing: Box::new(timing), stop, ecn }
    }
}

/// `ecn`: the field of the IP header.
fn ecn(table: &Table<'_>) -> Result<Ecn> {
    Ok(table.optional("ecn", |field| field.choice(&ECN_FIELDS))?.unwrap_or_default())
}

/// `packet`, `header`, `stop`.
fn packets(table: &Table<'_>, start: Range<Span>) -> Result<(u32, u32, Option<Span>)> {
    let bytes = table.needs("packet", "\"1000 B\"", |field| field.packet_bytes(1, MOST_PACKET));
    let most = bytes.clone().unwrap_or(MOST_PACKET);
    let header = table.optional("header", |field| field.packet_bytes(0, most))?.unwrap_or(0);
    let stop = table.optional("stop", |field| stop_after(field, start))?;
    Ok((bytes?, header, stop))
}

fn hurst(field: &Field<'_>) -> Result<f64> {
    let hurst = field.number("a Hurst exponent", 0.0, 1.0)?;
    if hurst == 0.0 || hurst == 1.0 {
        let problem = "is no noise; write a Hurst exponent between 0 and 1, for example 0.8";
        return Err(field.refused(problem));
    }
    Ok(hurst)
}

fn stop_after(field: &Field<'_>, start: Range<Span>) -> Result<Span> {
    match field.span()? {
        stop if stop <= start.low => {
            Err(field.refused(format!("is not after the start; write more than \"{}\"", start.low)))
        }
        stop => Ok(stop),
    }
}

fn rate(table: &Table<'_>, packets: &Result<(u32, u32, Option<Span>)>) -> Result<Range<Rate>> {
    let bytes = packets.as_ref().map_or(MOST_PACKET, |(bytes, ..)| *bytes);
    table.needs("rate", "\"1 Mbit/s\"", |field| match field.rates()? {
        rate if rate.high.bits_per_second() > most_rate(bytes) => Err(too_fast(field, bytes)),
        rate => Ok(rate),
    })
}

/// A packet a nanosecond, bit/s.
fn most_rate(bytes: u32) -> u64 {
    u64::from(bytes) * 8_000_000_000
}

fn too_fast(field: &Field<'_>, bytes: u32) -> ScenarioError {
    let most = Rate::from_bits_per_second(most_rate(bytes));
    field.refused(format!("is more than a packet a nanosecond; write at most \"{most}\""))
}

/// What a capture holds, of one interface if that is named, until the run is over.
fn schedule(path: &str, interface: Option<u32>, speed: f64, duration: Span) -> Result<Schedule, String> {
    let text = |error: CaptureError| error.to_string();
    let mut capture = paceline_capture::open(path.as_ref()).map_err(text)?;
    let (mut order, mut first) = (Order::default(), None);
    let mut packets = Vec::new();
    while let Some(record) = capture.read().map_err(text)? {
        if interface.is_some_and(|wanted| wanted != record.interface) {
            continue;
        }
        let time = order.hold(record.time_ns);
        let after = ((time - *first.get_or_insert(time)) as f64 / speed) as u64;
        if after >= duration.as_nanos() {
            break;
        }
        if record.bytes > 0 {
            packets.push((after, record.bytes.min(MOST_PACKET) as u16));
        }
        if packets.len() > MOST_REPLAYED {
            return Err(format!(
                "more than {MOST_REPLAYED} packets; cut the capture, or write a shorter duration"
            ));
        }
    }
    Ok(Schedule { packets })
}
