//! The tables of `[probes]` that switch instruments on: what each may say, and where it then stands.

use super::super::buffers::{mean_round_trip, round_trip_over};
use super::super::names::{NameList, Names};
use super::flows::{By, FlowNames, Rule, chosen};
use super::{MOST_SAMPLES, every, interval};
use crate::input::{Field, Result, ScenarioError, Table};
use crate::network::{FlowSpec, Instrument, InstrumentKind, LinkId, Passing};
use paceline_core::{Instant, Span};

/// Their keys in `[probes]`, in the order of the results.
pub(super) const INSTRUMENTS: [&str; 10] = [
    "window",
    "rate_variation",
    "auto_covariance",
    "succession",
    "bursts",
    "drop_events",
    "delay",
    "transfers",
    "fairness",
    "throughput",
];
/// More intervals than this, and sums of squares would need more than 128 bits.
const MOST_INTERVALS: u64 = 100_000_000;
const MOST_LAGS: u64 = 10_000;

/// One table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChosenInstrument {
    /// Where it is written: `probes.window`.
    path: String,
    from: Instant,
    to: Instant,
    /// `None` is the core, or flows alone.
    links: Option<NameList>,
    what: What,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    Window {
        flows: FlowNames,
        every: Option<Span>,
    },
    /// On links, the same on each.
    Alike(InstrumentKind),
    Succession {
        by: By,
    },
    DropEvents {
        gap: Option<Span>,
        length: Option<Span>,
    },
    Delay {
        by: By,
    },
    Transfers {
        by: By,
    },
    Fairness {
        flows: Option<FlowNames>,
        steps: u32,
        every: Span,
    },
    Throughput {
        by: Option<By>,
        every: Span,
    },
}

/// What an instrument is placed on.
pub(super) struct Context<'a, 'n> {
    pub(super) names: &'a Names<'n>,
    pub(super) core: LinkId,
    pub(super) flows: &'a [FlowSpec],
    /// Propagation delay of each link.
    pub(super) delays: &'a [Span],
}

impl ChosenInstrument {
    /// Reads the table of one kind.
    pub(super) fn read(kind: &str, field: &Field<'_>, warmup: Span, duration: Span) -> Result<Self> {
        let own = field.open()?;
        let keys: &[&str] = match kind {
            "window" => &["flows", "every", "from", "to"],
            "rate_variation" => &["links", "at", "finest", "coarsest", "from", "to"],
            "auto_covariance" => &["links", "at", "interval", "lags", "from", "to"],
            "succession" => &["links", "flows", "by", "from", "to"],
            "bursts" => &["links", "gap", "of", "from", "to"],
            "drop_events" => &["links", "gap", "length", "from", "to"],
            "delay" => &["flows", "by", "from", "to"],
            "transfers" => &["flows", "by"],
            "fairness" => &["flows", "window", "every", "from", "to"],
            _ => &["links", "flows", "by", "every", "from", "to"],
        };
        own.only(keys)?;
        // What happens over time is shown from the start; distributions begin where the statistics do.
        let over_time = matches!(kind, "window" | "fairness" | "throughput");
        let start = if over_time { Span::ZERO } else { warmup };
        let (from, to) = interval(&own, start, duration)?;
        let links = own.optional("links", NameList::read)?;
        let what = match kind {
            "window" => window(&own, from, to)?,
            "rate_variation" => {
                let (finest, scales) = scales(&own, from, to)?;
                What::Alike(InstrumentKind::RateVariation { at: passing(&own)?, finest, scales })
            }
            "auto_covariance" => {
                let (interval, lags) = lags(&own, from, to)?;
                What::Alike(InstrumentKind::AutoCovariance { at: passing(&own)?, interval, lags })
            }
            "succession" => What::Succession { by: By::read(&own, Rule::Flow)? },
            "bursts" => What::Alike(InstrumentKind::Bursts {
                gap: own.optional("gap", Field::span)?,
                of_one_flow: own
                    .optional("of", |field| field.choice(&[("link", false), ("flow", true)]))?
                    .unwrap_or(false),
            }),
            "drop_events" => What::DropEvents {
                gap: own.optional("gap", Field::positive_span)?,
                length: own.optional("length", Field::positive_span)?,
            },
            "delay" => What::Delay { by: By::read(&own, Rule::All)? },
            "transfers" => What::Transfers { by: By::read(&own, Rule::All)? },
            "fairness" => fairness(&own, from, to)?,
            _ => {
                let of_flows = own.get("flows").or(own.get("by"));
                let by = of_flows.map(|_| By::read(&own, Rule::All)).transpose()?;
                What::Throughput { by, every: every(&own, from, to)? }
            }
        };
        Ok(ChosenInstrument { path: own.path().to_owned(), from, to, links, what })
    }

    /// One for each link, or one for all flows.
    pub(super) fn place(&self, context: &Context<'_, '_>) -> Result<Vec<Instrument>> {
        let links = || match &self.links {
            Some(named) => context.names.links(named),
            None => Ok(vec![context.core]),
        };
        let alike = |kind: &InstrumentKind| {
            Ok(links()?.into_iter().map(|link| (Some(link), kind.clone())).collect::<Vec<_>>())
        };
        let of_flows = |kind| vec![(None, kind)];
        let kinds = match &self.what {
            What::Window { flows, every } => of_flows(self.window(flows, *every, context)?),
            What::Alike(kind) => alike(kind)?,
            What::Succession { by } => {
                let classes = by.classes(context.flows, &self.path)?;
                alike(&InstrumentKind::Succession { classes })?
            }
            What::DropEvents { gap: None, length: None } => {
                let kind = |link| {
                    let length = self.round_trip(link, context)?;
                    Ok((Some(link), InstrumentKind::DropEvents { gap: Span::MAX, length }))
                };
                links()?.into_iter().map(kind).collect::<Result<_>>()?
            }
            What::DropEvents { gap, length } => alike(&InstrumentKind::DropEvents {
                gap: gap.unwrap_or(Span::MAX),
                length: length.unwrap_or(Span::MAX),
            })?,
            What::Delay { by } => {
                of_flows(InstrumentKind::Delay { classes: by.classes(context.flows, &self.path)? })
            }
            What::Transfers { by } => {
                of_flows(InstrumentKind::Transfers { classes: by.classes(context.flows, &self.path)? })
            }
            What::Fairness { flows, steps, every } => {
                let flows = chosen(flows.as_ref(), context.flows)?;
                if flows.len() as u64 * u64::from(*steps) > MOST_INTERVALS {
                    let problem = format!(
                        "a window of {steps} steps over {} flows is too much to remember; write a longer step",
                        flows.len()
                    );
                    return Err(ScenarioError::at(&format!("{}.every", self.path), problem));
                }
                of_flows(InstrumentKind::Fairness { flows, steps: *steps, every: *every })
            }
            What::Throughput { by, every } => {
                let every = *every;
                let mut kinds = Vec::new();
                if self.links.is_some() || by.is_none() {
                    kinds = alike(&InstrumentKind::Carried { every })?;
                }
                let mut curves = kinds.len() as u64;
                if let Some(by) = by {
                    let classes = by.classes(context.flows, &self.path)?;
                    curves += classes.names.len() as u64;
                    kinds.push((None, InstrumentKind::Delivered { classes, every }));
                }
                let samples = self.to.since(self.from).as_nanos() / every.as_nanos() * curves;
                if samples > MOST_SAMPLES {
                    let problem = format!("\"{every}\" makes {samples} samples; write a longer interval");
                    return Err(ScenarioError::at(&format!("{}.every", self.path), problem));
                }
                kinds
            }
        };
        let at = |(link, what)| Instrument { what, link, from: self.from, to: self.to };
        Ok(kinds.into_iter().map(at).collect())
    }

    fn window(
        &self,
        named: &FlowNames,
        every: Option<Span>,
        context: &Context<'_, '_>,
    ) -> Result<InstrumentKind> {
        let mut flows = named.find(context.flows)?;
        flows.retain(|flow| !context.flows[*flow as usize].reverse.is_empty());
        if flows.is_empty() {
            return Err(ScenarioError::at(&named.path, "names no TCP flow; only TCP has a window"));
        }
        if let Some(every) = every {
            let samples = self.to.since(self.from).as_nanos() / every.as_nanos() * flows.len() as u64;
            if samples > MOST_SAMPLES {
                let problem =
                    format!("{} flows make {samples} samples; write fewer, or a longer every", flows.len());
                return Err(ScenarioError::at(&named.path, problem));
            }
        }
        Ok(InstrumentKind::Window { flows, every })
    }

    fn round_trip(&self, link: LinkId, context: &Context<'_, '_>) -> Result<Span> {
        let delay = |link: LinkId| context.delays[link as usize].as_nanos();
        mean_round_trip(context.flows, link, |flow| round_trip_over(flow, delay))
            .map(Span::from_nanos)
            .ok_or_else(|| {
                let problem =
                    "no flow passes a link named here, so it has no round-trip time; write gap or length";
                ScenarioError::at(&self.path, problem)
            })
    }
}

fn window(own: &Table<'_>, from: Instant, to: Instant) -> Result<What> {
    let flows = FlowNames::read(&own.required("flows", "\"bulk.0\"")?)?;
    let at_changes = own.get("every").is_some_and(|field| field.value().as_str() == Some("change"));
    let every = if at_changes { None } else { Some(every(own, from, to)?) };
    Ok(What::Window { flows, every })
}

/// The finest scale, and how many there are.
fn scales(own: &Table<'_>, from: Instant, to: Instant) -> Result<(Span, u32)> {
    let finest = length(own, "finest", from, to)?;
    let watched = to.since(from);
    let coarsest = match own.get("coarsest") {
        None => Span::from_nanos(watched.as_nanos() / 16).max(finest),
        Some(field) => match field.span()? {
            coarsest if coarsest < finest => {
                return Err(field.refused(format!("is finer than finest; write \"{finest}\" or more")));
            }
            coarsest if coarsest.as_nanos() > watched.as_nanos() / 2 => {
                let most = Span::from_nanos(watched.as_nanos() / 2);
                return Err(field.refused(format!(
                    "leaves fewer than two intervals in \"{watched}\"; write \"{most}\" or less"
                )));
            }
            coarsest => coarsest,
        },
    };
    Ok((finest, (coarsest.as_nanos() / finest.as_nanos()).ilog2() + 1))
}

/// The length of an interval, and the longest lag in intervals.
fn lags(own: &Table<'_>, from: Instant, to: Instant) -> Result<(Span, u32)> {
    let interval = length(own, "interval", from, to)?;
    let intervals = to.since(from).as_nanos() / interval.as_nanos();
    let lags = match own.get("lags") {
        None => 50.min(intervals / 2),
        Some(field) => {
            let lags = field.whole(1, MOST_LAGS)?;
            if lags >= intervals {
                let problem = format!("is too many: there are {intervals} intervals; write fewer");
                return Err(field.refused(problem));
            }
            lags
        }
    };
    Ok((interval, lags as u32))
}

/// The length of the intervals that a rate is taken over; a millisecond unless given.
fn length(own: &Table<'_>, key: &str, from: Instant, to: Instant) -> Result<Span> {
    let length = own.optional(key, Field::positive_span)?.unwrap_or(Span::from_millis(1));
    let watched = to.since(from);
    let intervals = watched.as_nanos() / length.as_nanos();
    let wrong = |problem: String| Err(ScenarioError::at(&own.path_of(key), problem));
    if intervals > MOST_INTERVALS {
        return wrong(format!(
            "\"{length}\" makes {intervals} intervals of \"{watched}\"; write a longer one"
        ));
    }
    if intervals < 2 {
        let most = Span::from_nanos(watched.as_nanos() / 2);
        return wrong(format!(
            "\"{length}\" makes fewer than two intervals of \"{watched}\"; write \"{most}\" or less"
        ));
    }
    Ok(length)
}

fn passing(own: &Table<'_>) -> Result<Passing> {
    let choices = [("arrival", Passing::Arrival), ("departure", Passing::Departure)];
    Ok(own.optional("at", |field| field.choice(&choices))?.unwrap_or(Passing::Departure))
}

fn fairness(own: &Table<'_>, from: Instant, to: Instant) -> Result<What> {
    let flows = own.optional("flows", FlowNames::read)?;
    let window = own.required("window", "\"1 s\"")?;
    let length = window.positive_span()?;
    if length > to.since(from) {
        let watched = to.since(from);
        return Err(window.refused(format!("is longer than the time watched; write \"{watched}\" or less")));
    }
    let every = match own.get("every") {
        Some(_) => every(own, from, to)?,
        None => Span::from_nanos(length.as_nanos().div_ceil(10)),
    };
    let steps = length.as_nanos() / every.as_nanos();
    if steps == 0 || steps * every.as_nanos() != length.as_nanos() || steps > MOST_SAMPLES {
        let tenth = Span::from_nanos(length.as_nanos().div_ceil(10));
        let problem = format!(
            "\"{every}\" does not go into the window a whole number of times; write for example \"{tenth}\""
        );
        return Err(ScenarioError::at(&own.path_of("every"), problem));
    }
    Ok(What::Fairness { flows, steps: steps as u32, every })
}
