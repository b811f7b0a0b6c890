//! Links of every kind, and lines of packets for them, from a seed.

use super::slow::Way;
use super::varying::Rates;
use super::{Link, Service, TieOrders};
use crate::Scenario;
use crate::kernel::packet::{Event, Packet};
use crate::kernel::signals::Signals;
use crate::network::{DropRule, Fitting, FlowId, ForcedDrop, LinkSpec, Network};
use paceline_core::pacer::parameters::Value;
use paceline_core::pacer::{self, PacerSpec};
use paceline_core::policer::PolicerSpec;
use paceline_core::queue::{Counts, Discipline, Limit, QueueSpec, Ties};
use paceline_core::{Bytes, Instant, Rate, Span};
use std::sync::{Arc, OnceLock};

/// What a link has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing, and its numbers are small.
    Compact,
    /// Nothing.
    Bare,
    /// A meter.
    Watched,
    /// A meter, and a record of single packets.
    Recorded,
    /// A buffer with a limit, and a meter.
    Bounded,
    /// A buffer, with a limit or without, and forced losses.
    Lossy,
    /// A policer, forced losses, and a buffer, with a limit or without.
    Policed,
    /// A buffer with a limit.
    Limited,
    /// A pacer, its limit, and a buffer with one.
    Paced,
    /// The same, forced losses, and a buffer that drops from its front.
    PacedFront,
    /// A buffer that drops from its front.
    Front,
    /// A rate that varies, and a buffer with a limit.
    Varying,
}

pub(super) const KINDS: [Kind; 12] = [
    Kind::Compact,
    Kind::Bare,
    Kind::Watched,
    Kind::Recorded,
    Kind::Bounded,
    Kind::Lossy,
    Kind::Policed,
    Kind::Limited,
    Kind::Paced,
    Kind::PacedFront,
    Kind::Front,
    Kind::Varying,
];

impl Kind {
    pub(super) fn holds(self) -> bool {
        matches!(self, Kind::Paced | Kind::PacedFront | Kind::Front | Kind::Varying)
    }

    pub(super) fn is_lossless(self) -> bool {
        matches!(self, Kind::Compact | Kind::Bare | Kind::Watched | Kind::Recorded)
    }

    /// Its departures are not known at the arrival.
    pub(super) fn is_stepwise(self) -> bool {
        matches!(self, Kind::PacedFront | Kind::Front | Kind::Varying)
    }

    fn has_losses(self) -> bool {
        matches!(self, Kind::Lossy | Kind::Policed | Kind::PacedFront)
    }
}

/// Draws below a bound.
pub(super) struct Draws(u64);

impl Draws {
    pub(super) fn of(seed: u64) -> Self {
        Draws(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 20) % bound
    }

    pub(super) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// A link, what reaches it, and what of that counts.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) kind: Kind,
    pub(super) seed: u64,
    pub(super) spec: LinkSpec,
    pub(super) metered: bool,
    pub(super) record: Option<(Instant, Instant)>,
    pub(super) window: (Instant, Instant),
    pub(super) line: Vec<Event>,
    /// Where epochs end; nothing happens after the last.
    pub(super) cuts: Vec<Instant>,
    pub(super) end: Instant,
    pub(super) rates: Option<Rates>,
}

/// Numbers of the arrivals of the first flow, and of any flow, that are lost.
const LOST: [&[u64]; 2] = [&[1, 5], &[0, 3, 12]];
pub(super) const FLOWS: u32 = 3;

impl Case {
    pub(super) fn draw(kind: Kind, seed: u64) -> Case {
        let mut draws = Draws::of(seed);
        let bps = match kind {
            // slower, or faster, than a compact one can be
            Kind::Bare | Kind::Watched => draws.one_of(&[100_000, 9_999_999_999]),
            _ => draws.one_of(&[3_000_000, 8_000_000, 10_000_000, 7_654_321]),
        };
        let sizes: &[u16] = draws.one_of::<&[u16]>(&[&[1000], &[1000], &[40, 1500], &[40, 999, 1500, 1500]]);
        let line = line(&mut draws, bps, sizes);
        let last = line.last().map_or(0, |event| event.at.as_nanos());
        let rates = (kind == Kind::Varying).then(|| Rates::draw(&mut draws));
        let outages = if rates.is_some() { 2_000_000_000 } else { 0 };
        let end = Instant::from_nanos(last + 200 * 8 * 1500 * 1_000_000_000 / bps + outages);
        let mut cuts = vec![end];
        for _ in 0..draws.below(6) {
            let time = Instant::from_nanos(draws.below(last + 1));
            cuts.push(if draws.below(2) == 0 {
                time
            } else {
                line[draws.below(line.len() as u64) as usize].at
            });
        }
        cuts.sort_unstable();
        let (from, to) = (draws.below(last + 1), draws.below(last + 1));
        let all = (Instant::ZERO, end);
        let part = (Instant::from_nanos(from.min(to)), Instant::from_nanos(from.max(to) + 1));
        let fitting = Fitting {
            buffer: Arc::new(buffer(&mut draws, kind)),
            pacer: matches!(kind, Kind::Paced | Kind::PacedFront).then(|| Box::new(pacer(&mut draws, bps))),
            policer: (kind == Kind::Policed).then(|| PolicerSpec {
                rate: Rate::from_bits_per_second(draws.one_of(&[bps / 2, bps, 1_234_567])),
                burst: Bytes::new(draws.one_of(&[1500, 4000, 12_345])),
            }),
            varying: rates.as_ref().map(Rates::spec),
            jitter: None,
            reported: false,
        };
        let delay = Span::from_nanos(draws.below(3_000_000));
        let spec = LinkSpec {
            name: "link".into(),
            rate: Rate::from_bits_per_second(bps),
            delay,
            fitting: Arc::new(fitting),
        };
        let may_be_recorded = !matches!(kind, Kind::Compact | Kind::Bare | Kind::Watched);
        let record = [None, Some((Instant::ZERO, Instant::MAX)), Some(part)][draws.below(3) as usize];
        Case {
            kind,
            seed,
            spec,
            metered: !matches!(kind, Kind::Compact | Kind::Bare | Kind::Limited),
            record: record.filter(|_| may_be_recorded),
            window: draws.one_of(&[all, part, part]),
            line,
            cuts,
            end,
            rates,
        }
    }

    /// The link, before anything has reached it.
    pub(super) fn link(&self) -> Link {
        let losses = [Some(0), None].into_iter().zip(LOST).filter(|_| self.kind.has_losses());
        let losses =
            losses.map(|(flow, numbers)| forced(flow, DropRule::Arrivals(numbers.to_vec()))).collect();
        let watched = (self.metered, self.record.is_some(), false);
        let mut link =
            Link::new(&self.spec, losses, watched, self.window, (network(), 0), &mut TieOrders::default());
        if let Some(bounded) = link.bounded_mut() {
            if self.record.is_some() {
                assert_eq!(bounded.record, Some((Instant::ZERO, Instant::MAX))); // as a trace has it
            }
            bounded.record = self.record;
        }
        link
    }

    pub(super) fn service(&self) -> Service {
        match self.kind {
            Kind::Compact | Kind::Bare | Kind::Watched => Service::All,
            Kind::Bounded => Service::Bounded,
            Kind::Recorded | Kind::Lossy | Kind::Policed | Kind::Limited => Service::Each,
            Kind::Paced | Kind::PacedFront | Kind::Front | Kind::Varying => Service::Between,
        }
    }

    pub(super) fn counts(&self, at: Instant) -> bool {
        self.window.0 <= at && at < self.window.1
    }

    pub(super) fn is_recorded(&self, start: Instant) -> bool {
        self.record.is_some_and(|(from, to)| from <= start && start < to)
    }

    /// How much of a packet's time on the wire lies in the window.
    pub(super) fn share_of_window(&self, way: &Way) -> f64 {
        let (from, to) = self.window;
        if way.start == way.finish {
            return f64::from(u8::from(self.counts(way.start)));
        }
        let within = way.finish.min(to).since(way.start.max(from)).as_nanos();
        within as f64 / way.finish.since(way.start).as_nanos() as f64
    }

    /// A rule forces its loss.
    pub(super) fn is_lost(&self, event: &Event) -> bool {
        if !self.kind.has_losses() {
            return false;
        }
        let of_its_flow = self.line.iter().filter(|other| other.flow == event.flow);
        let number = of_its_flow.take_while(|other| other.seq != event.seq).count() as u64;
        let of_first = event.flow == 0 && LOST[0].contains(&number);
        of_first || LOST[1].contains(&number)
    }
}

/// Packets that come one by one, together, and after pauses.
fn line(draws: &mut Draws, bps: u64, sizes: &[u16]) -> Vec<Event> {
    let service = 8 * 1000 * 1_000_000_000 / bps;
    let mixed = draws.below(3);
    let mut at = draws.below(2) * draws.below(service);
    let mut line: Vec<Event> = Vec::new();
    for seq in 0..20 + draws.below(180) {
        at += match draws.below(8) {
            0..3 => 0,
            3 => service - draws.below(2),
            4..7 => draws.below(2 * service),
            _ => draws.below(30) * service,
        };
        let is_ack = mixed == 1 || mixed == 2 && draws.below(2) == 0;
        let flow = draws.below(FLOWS.into()) as u32;
        let packet = Packet {
            sent: Instant::ZERO,
            flow,
            seq: seq as u32,
            bytes: draws.one_of(sizes),
            hop: 0,
            is_ack,
            signals: Signals::NONE,
        };
        line.push(Event::of_packet(Instant::from_nanos(at), 0, packet));
    }
    line
}

fn buffer(draws: &mut Draws, kind: Kind) -> QueueSpec {
    let limit = draws.one_of(&[Limit::Packets(1), Limit::Packets(4), Limit::Bytes(3000), Limit::Bytes(4500)]);
    let is_unlimited = matches!(kind, Kind::Lossy | Kind::Policed) && draws.below(3) == 0;
    QueueSpec {
        limit: (!kind.is_lossless() && !is_unlimited).then_some(limit),
        counts: draws.one_of(&[Counts::Waiting, Counts::WaitingAndService]),
        discipline: match kind {
            Kind::PacedFront | Kind::Front => Discipline::DropFront(Default::default()),
            _ => Discipline::default(),
        },
        ties: Ties::Departure,
    }
}

fn pacer(draws: &mut Draws, bps: u64) -> PacerSpec {
    let rate = format!("{} bit/s", bps * (70 + draws.below(90)) / 100);
    let burst = "6000 B".to_owned();
    let (method, parameters) = match draws.below(2) {
        0 => ("token-bucket", vec![("rate", rate), ("burst", burst)]),
        _ => ("edge", vec![("delay", "9 ms".to_owned())]),
    };
    let mut value = |key: &str| {
        parameters.iter().find(|(name, _)| *name == key).map(|(_, text)| Value::Text(text.clone()))
    };
    let mut spec = pacer::parse(method, &mut value, Rate::from_bits_per_second(bps)).unwrap();
    spec.limit = Some(Limit::Packets(12));
    spec
}

/// What a link is made in: it need have no more than flows.
pub(super) fn network() -> &'static Network {
    static NETWORK: OnceLock<Network> = OnceLock::new();
    let text = format!(
        "duration = \"1 s\"\n[network]\ntemplate = \"path\"\nlinks = [{{ rate = \"1 Mbit/s\", delay = \"1 ms\" }}]\n\
         [[traffic]]\nkind = \"bulk\"\ncount = {FLOWS}\n"
    );
    NETWORK.get_or_init(|| Scenario::from_toml(&text).unwrap().network(1).unwrap())
}

/// A loss of that flow's packets.
pub(super) fn forced(flow: Option<FlowId>, rule: DropRule) -> ForcedDrop {
    ForcedDrop { link: 0, flow, rule, marks: false }
}
