//! `[probes]`, `[[drop]]` and `[[mark]]`: what to record over time, and which losses and marks to force.

mod instruments;

use paceline_core::queue::QueueSpec;
use paceline_core::{Instant, Span};
use std::sync::Arc;

use self::instruments::ChosenInstrument;
use super::buffers::{mean_round_trip, round_trip_over};
use super::names::{NameList, Names};
use crate::input::keys::{Key, Kind, Way, key, merged, needed};
use crate::input::{Field, Result, ScenarioError, Table, shortened, suggestion};
use crate::instrument::classes::{FLOW, FlowName, LINKS, NamedFlow};
use crate::instrument::{EVERY, FROM, INSTRUMENTS, Row, TO, every, interval, sampling};
use crate::network::{
    DropRule, FlowId, FlowSpec, ForcedDrop, GilbertElliott, Instrument, LinkId, Probe, ProbeKind,
};

/// How much of the end of a run the default probes watch departures.
const DEPARTURES: Span = Span::from_millis(300);

/// `[probes]`: a table a probe, or a list of such tables.
pub(crate) const PROBES: Kind = Kind::Ways("probes", || vec![Way::of(probe_keys())]);

fn probe_keys() -> Vec<Key> {
    let series = [
        key(
            "queue",
            Kind::OneOrMany(&Kind::Table("", &QUEUE_KEYS)),
            "what waits before a link, pacer and buffer together",
        ),
        key(
            "departures",
            Kind::OneOrMany(&Kind::Table("", &DEPARTURE_KEYS)),
            "each packet that starts to leave",
        ),
    ];
    let instrument = |row: &Row| key(row.name, Kind::TablesOf(row.keys), row.summary);
    series.into_iter().chain(INSTRUMENTS.iter().map(instrument)).collect()
}

const QUEUE_KEYS: [Key; 4] = [LINKS, EVERY, FROM, TO];
const DEPARTURE_KEYS: [Key; 3] = [LINKS, FROM, TO];

/// `[[drop]]` and `[[mark]]`, one way a rule.
pub(crate) const LOSSES: Kind = Kind::List(&Kind::Ways("loss", || {
    RULE_KEYS.into_iter().map(|rule| Way::of([&LOSS_KEYS[..], &[rule]].concat())).collect()
}));
const LOSS_KEYS: [Key; 2] = [
    needed("link", Kind::Text, "where packets come to"),
    key("flow", FLOW, "a number or a name; all flows unless given"),
];
/// Of which a table has one.
const RULE_KEYS: [Key; 3] = [
    needed(
        "arrivals",
        Kind::List(&Kind::Whole(0, u64::MAX)),
        "the n-th packet of each such flow to reach the link, from 0, a SYN included",
    ),
    needed("probability", Kind::Number(0.0, 1.0), "each packet with this probability"),
    needed("bursts", Kind::Ways("loss-bursts", bursts), "in bursts, by the Gilbert-Elliott chain"),
];
const BURST_KEYS: [Key; 6] = [
    needed("loss", Kind::Number(0.0, 1.0), "share of all packets"),
    needed("length", Kind::Number(1.0, 1e9), "packets in a row, on average"),
    needed(
        "p",
        Kind::Number(0.0, 1.0),
        "after a packet the chain goes from good to bad with this probability",
    ),
    needed("r", Kind::Number(0.0, 1.0), "and back with this"),
    key("good", Kind::Number(0.0, 1.0), "of a packet in the good state; 0 unless given"),
    key("bad", Kind::Number(0.0, 1.0), "of a packet in the bad state; 1 unless given"),
];

/// By share and length, or by the chain's own probabilities.
fn bursts() -> Vec<Way> {
    let (runs, chain) = BURST_KEYS.split_at(2);
    vec![Way::of(runs.to_vec()), Way::of(chain.to_vec())]
}

/// What to record over time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Probes {
    /// The core's queue, and what leaves the core and the first link that a pacer could stand on.
    Default,
    /// What the scenario lists, and nothing else.
    Chosen(Vec<ChosenProbe>, Vec<ChosenInstrument>),
}

/// A series of a table in `[probes]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChosenProbe {
    /// `None` is the core.
    links: Option<NameList>,
    from: Instant,
    to: Instant,
    what: ProbeKind,
}

impl Probes {
    /// Reads `[probes]`.
    pub(crate) fn read(field: &Field<'_>, warmup: Span, duration: Span) -> Result<Probes> {
        let table = field.table(&probe_keys())?;
        let queues = field.all_of(&each(&table, "queue"), |queue| {
            let own = queue.table(&QUEUE_KEYS)?;
            let links = own.optional("links", NameList::read)?;
            let (from, to) = interval(&own, Span::ZERO, duration)?;
            let every = every(&own, (from, to))?;
            Ok(ChosenProbe { links, from, to, what: ProbeKind::Queue { every } })
        });
        let departures = field.all_of(&each(&table, "departures"), |departures| {
            let own = departures.table(&DEPARTURE_KEYS)?;
            let links = own.optional("links", NameList::read)?;
            let (from, to) = interval(&own, Span::ZERO, duration)?;
            Ok(ChosenProbe { links, from, to, what: ProbeKind::Departures })
        });
        let instruments: Vec<Result<Vec<ChosenInstrument>>> = INSTRUMENTS
            .iter()
            .map(|row| {
                let read = |own: &Field<'_>| ChosenInstrument::read(row, own, warmup, duration);
                field.all_of(&each(&table, row.name), read)
            })
            .collect();
        let instruments = instruments.into_iter().collect::<Result<Vec<_>>>()?.concat();
        Ok(Probes::Chosen([queues?, departures?].concat(), instruments))
    }

    /// Every instrument at its links or flows.
    pub(crate) fn instruments(
        &self,
        names: &Names<'_>,
        core: LinkId,
        flows: &[FlowSpec],
        delays: &[Span],
    ) -> Result<Vec<Instrument>> {
        let Probes::Chosen(_, chosen) = self else { return Ok(Vec::new()) };
        let named: Vec<NamedFlow<'_>> = flows.iter().map(FlowSpec::as_named).collect();
        let round_trip = |link| {
            let delay = |link: LinkId| delays[link as usize].as_nanos();
            mean_round_trip(flows, link, |flow| round_trip_over(flow, delay)).map(Span::from_nanos)
        };
        let place = |instrument: &ChosenInstrument| instrument.place((names, core), &named, &round_trip);
        let placed = chosen.iter().map(place).collect::<Result<Vec<_>>>()?;
        Ok(placed.into_iter().flatten().collect())
    }

    /// Every probe on its link.
    pub(crate) fn place(
        &self,
        names: &Names<'_>,
        core: LinkId,
        first_pacable: Option<LinkId>,
        duration: Span,
    ) -> Result<Vec<Probe>> {
        let end = Instant::ZERO + duration;
        let mut placed = Vec::new();
        match self {
            Probes::Default => {
                let every = sampling(duration);
                let what = ProbeKind::Queue { every };
                placed.push(Probe { what, link: core, from: Instant::ZERO, to: end });
                let from = end - DEPARTURES;
                for link in [Some(core), first_pacable.filter(|link| *link != core)].into_iter().flatten() {
                    placed.push(Probe { what: ProbeKind::Departures, link, from, to: end });
                }
            }
            Probes::Chosen(chosen, _) => {
                for probe in chosen {
                    let links = match &probe.links {
                        Some(named) => names.links(named)?,
                        None => vec![core],
                    };
                    let on = |link| Probe { what: probe.what, link, from: probe.from, to: probe.to };
                    placed.extend(links.into_iter().map(on));
                }
            }
        }
        Ok(placed)
    }
}

/// The tables under a key: one, a list, or none.
fn each<'a>(table: &Table<'a>, key: &str) -> Vec<Field<'a>> {
    table.get(key).map(|field| field.one_or_many()).unwrap_or_default()
}

/// A loss to force, or a mark.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Loss {
    /// Where it is written: `drop[0]`.
    path: String,
    marks: bool,
    link: String,
    flow: Option<FlowName>,
    rule: Rule,
}

#[derive(Debug, Clone, PartialEq)]
enum Rule {
    Arrivals(Vec<u64>),
    Probability(f64),
    Bursts(GilbertElliott),
}

impl Loss {
    /// Reads every `[[drop]]`.
    pub(crate) fn read_all(field: &Field<'_>) -> Result<Vec<Loss>> {
        field.each(|field| Loss::read(field, false))
    }

    /// Reads every `[[mark]]`.
    pub(crate) fn read_marks(field: &Field<'_>) -> Result<Vec<Loss>> {
        field.each(|field| Loss::read(field, true))
    }

    fn read(field: &Field<'_>, marks: bool) -> Result<Loss> {
        let table = field.table(&merged(LOSS_KEYS.into_iter().chain(RULE_KEYS), Kind::Any))?;
        let link = table.needs("link", "\"core\"", |field| field.text().map(str::to_owned));
        let flow = table.optional("flow", FlowName::read)?;
        let rules = ["arrivals", "probability", "bursts"].map(|key| table.get(key));
        let rule = match rules {
            [Some(arrivals), None, None] => {
                let numbers = arrivals.list()?;
                let mut numbers: Vec<u64> =
                    numbers.iter().map(|number| number.whole(0, u64::MAX)).collect::<Result<_>>()?;
                if numbers.is_empty() {
                    return Err(arrivals.wrong("an empty list; write for example [14]"));
                }
                numbers.sort_unstable();
                numbers.dedup();
                Rule::Arrivals(numbers)
            }
            [None, Some(probability), None] => {
                Rule::Probability(probability.number("a fraction", 0.0, 1.0)?)
            }
            [None, None, Some(bursts)] => Rule::Bursts(read_bursts(&bursts)?),
            [None, None, None] => {
                let ways = "arrivals = [14], probability = 0.01 or bursts = { loss = 0.01, length = 4 }";
                let does = if marks { "marks" } else { "loses" };
                return Err(field.wrong(format!("{does} nothing; write {ways}")));
            }
            _ => return Err(field.wrong("two of arrivals, probability and bursts; write one of them")),
        };
        Ok(Loss { path: field.path().to_owned(), marks, link: link?, flow, rule })
    }

    /// The loss on its link, which has one of these buffers.
    pub(crate) fn place(
        &self,
        names: &Names<'_>,
        flows: &[FlowSpec],
        buffers: &[Arc<QueueSpec>],
    ) -> Result<ForcedDrop> {
        let path = format!("{}.flow", self.path);
        let at = format!("{}.link", self.path);
        let link = names.link(&at, &self.link)?;
        if self.marks && buffers.get(link as usize).is_some_and(|buffer| !buffer.discipline.acts_early()) {
            let problem =
                format!("{} has a queue that marks nothing; write queue = \"red\" there", self.link);
            return Err(ScenarioError::at(&at, problem));
        }
        let flow = match &self.flow {
            None => None,
            Some(FlowName::Number(number)) if *number < flows.len() as u64 => Some(*number as FlowId),
            Some(FlowName::Number(number)) => {
                let last = flows.len() - 1;
                return Err(ScenarioError::at(&path, format!("{number} is no flow; write 0 to {last}")));
            }
            Some(FlowName::Name(name)) => match flows.iter().position(|flow| flow.name == *name) {
                Some(at) => Some(at as FlowId),
                None => {
                    let known = flows.iter().map(|flow| flow.name.as_str());
                    let some = || format!("the first flow is \"{}\"", flows[0].name);
                    let meant = suggestion(name, known, some);
                    let name = shortened(name);
                    return Err(ScenarioError::at(&path, format!("\"{name}\" is no flow; {meant}")));
                }
            },
        };
        if let Some(flow) = flow {
            let spec = &flows[flow as usize];
            if !spec.forward.contains(&link) && !spec.reverse.contains(&link) {
                let problem = format!("{} never passes {}; write a flow that does", spec.name, self.link);
                return Err(ScenarioError::at(&path, problem));
            }
        }
        let rule = match &self.rule {
            Rule::Arrivals(numbers) => DropRule::Arrivals(numbers.clone()),
            Rule::Probability(probability) => DropRule::Probability(*probability),
            Rule::Bursts(chain) => DropRule::Bursts(*chain),
        };
        Ok(ForcedDrop { link, flow, rule, marks: self.marks })
    }
}

/// `{ loss = 0.01, length = 4 }`, or `{ p = 0.002, r = 0.25, good = 0, bad = 1 }`.
fn read_bursts(field: &Field<'_>) -> Result<GilbertElliott> {
    let example = "{ loss = 0.01, length = 4 } or { p = 0.002, r = 0.25 }";
    let table = field.table(&BURST_KEYS)?;
    let share = |field: Field<'_>| match field.number("a fraction", 0.0, 1.0)? {
        0.0 => Err(field.refused("never changes the state; write a fraction above 0")),
        share => Ok(share),
    };
    match ["loss", "length", "p", "r"].map(|key| table.get(key)) {
        [Some(loss), Some(length), None, None] => {
            if let Some(field) = table.get("good").or_else(|| table.get("bad")) {
                return Err(field.wrong(
                    "loss and length lose all in the bad state and none in the good; write p and r beside it",
                ));
            }
            let length = length.number("a number of packets", 1.0, 1e9)?;
            let most = length / (1.0 + length);
            let mean = loss.number("a fraction", 0.0, 1.0)?;
            if mean == 0.0 || mean > most {
                let what = format!(
                    "cannot be lost in runs of {length} on average; write more than 0 and {most:.3} at most"
                );
                return Err(loss.refused(what));
            }
            Ok(GilbertElliott::of_runs(mean, length))
        }
        [None, None, Some(p), Some(r)] => {
            let chance = |field: Field<'_>| field.number("a fraction", 0.0, 1.0);
            let good = table.get("good").map(chance).transpose()?.unwrap_or(0.0);
            let bad = table.get("bad").map(chance).transpose()?.unwrap_or(1.0);
            if good >= bad {
                return Err(field.wrong(format!(
                    "loses {good} in the good state and {bad} in the bad; write more for bad"
                )));
            }
            Ok(GilbertElliott { p: share(p)?, r: share(r)?, good, bad })
        }
        _ => {
            Err(field
                .wrong(format!("says neither how much is lost nor how the state changes; write {example}")))
        }
    }
}
