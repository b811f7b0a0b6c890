//! Scenarios: a TOML or JSON text becomes a [`Scenario`], and for one seed a [`Network`].
//!
//! One reader serves both formats; every value knows its path, and every error is one line that names it. A sweep is
//! not expanded here: whoever runs it sets the values, one scenario for each combination.

mod buffers;
mod deploy;
mod description;
mod flows;
mod inspection;
mod memory;
mod names;
mod pacing;
mod probes;
mod routes;
mod settings;
mod small_queues;
mod tcp;
mod traffic;

use paceline_core::Span;
use serde_json::Value;
use std::sync::Arc;

pub use self::description::{Description, LinkGroup, NodeGroup};
pub use self::inspection::Inspection;
pub use crate::input::{ScenarioError, line_of};

use self::deploy::{Context, Deployment};
use self::memory::Memory;
use self::names::Names;
use self::pacing::Pacing;
use self::probes::{Loss, Probes};
use self::traffic::Traffic;
use crate::compile::draw::Draw;
use crate::compile::layout::Layout;
use crate::compile::template::{self, Template};
use crate::input::keys::{Key, Kind, key, needed};
use crate::input::{Faults, Field, Result};
use crate::network::{Fitting, FlowSpec, Host, LinkId, LinkSpec, MOST_ROUND_TRIP, Network};

/// Keys of the file.
const KEYS: [Key; 15] = [
    key("title", Kind::Text, "for tables and reports; the file's name unless given"),
    needed("duration", Kind::Time, "simulated time"),
    key("warmup", Kind::Time, "statistics start here; at the start unless given"),
    key("seed", Kind::Whole(0, i64::MAX as u64), "of the first run; 1 unless given"),
    needed("network", template::NETWORK, "hosts, routers and links"),
    needed("traffic", traffic::ALL, "what hosts send, one table a kind of flow"),
    key("pacing", pacing::ALL, "a method, its parameters and where it acts; or several"),
    key("drop", probes::LOSSES, "losses to force"),
    key("mark", probes::LOSSES, "marks (ECN) to force"),
    key("memory", memory::ALL, "switches' memories that links share"),
    key(
        "probes",
        probes::PROBES,
        "what to record over time; the core's queue and its last departures unless given",
    ),
    key(
        "sweep",
        Kind::Open,
        "paths of keys, each with a list of values: every combination is a run; and how many seeds",
    ),
    key("node", template::NODES, "hosts and routers of a graph"),
    key("link", template::LINKS, "links of a graph"),
    key("route", template::ROUTES, "ways through a graph that are not the shortest"),
];
/// Networks of no more links than this report on every one.
const FEW_LINKS: usize = 64;

/// What to simulate, before anything is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    title: String,
    duration: Span,
    warmup: Span,
    seed: u64,
    template: Template,
    traffic: Vec<Traffic>,
    pacing: Vec<Pacing>,
    losses: Vec<Loss>,
    memories: Vec<Memory>,
    probes: Probes,
}

impl Scenario {
    /// Reads TOML. `[sweep]` is accepted and left alone.
    pub fn from_toml(text: &str) -> Result<Scenario> {
        let value: Value = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            ScenarioError::syntax_at(text, at, error.message())
        })?;
        Scenario::read(&value)
    }

    /// Reads the same as JSON.
    pub fn from_json(text: &str) -> Result<Scenario> {
        let value: Value = serde_json::from_str(text).map_err(|error| {
            let (line, column, problem) = (error.line(), error.column(), error.to_string());
            let place = format!(" at line {line} column {column}");
            let problem = problem.strip_suffix(&place).unwrap_or(&problem).to_owned();
            ScenarioError::Syntax { line, column, problem }
        })?;
        Scenario::read(&value)
    }

    /// A JSON Schema (draft 7) of the file, from the keys that are read: what an editor completes, explains and checks.
    ///
    /// ```
    /// let schema = paceline_sim::Scenario::schema();
    /// assert_eq!(schema["properties"]["duration"]["description"], "simulated time");
    /// ```
    pub fn schema() -> Value {
        let about = "A network, the traffic over it, how that is paced, and what to sweep.";
        crate::input::schema("A scenario of Paceline", about, &KEYS)
    }

    fn read(value: &Value) -> Result<Scenario> {
        Field::read_root(value, Scenario::read_all)
    }

    /// Every table is read, whatever is wrong with the others.
    fn read_all(file: &Field<'_>) -> Result<Scenario> {
        let file = file.table(&KEYS)?;
        let duration = file.needs("duration", "\"60 s\"", Field::positive_span);
        // An hour, where that is wrong: what else is read is held against something usual.
        let until = duration.clone().unwrap_or(Span::from_millis(3_600_000));
        let warmup = file.optional("warmup", |field| match field.span()? {
            warmup if warmup >= until => Err(field
                .refused(format!("leaves nothing to measure; write less than the duration, \"{until}\""))),
            warmup => Ok(warmup),
        })?;
        let warmup = warmup.unwrap_or(Span::ZERO);
        let seed = file.optional("seed", |seed| seed.whole(0, u64::MAX))?.unwrap_or(1);
        let template = file
            .needs("network", "{ template = \"dumbbell\", … }", |network| Template::read(network, &file));
        let example = "[{ kind = \"bulk\" }]";
        let traffic = file.needs("traffic", example, |field| Traffic::read_all(field, until));
        file.optional("sweep", |sweep| sweep.open().map(drop))?;
        Ok(Scenario {
            title: file.optional("title", |title| title.text().map(str::to_owned))?.unwrap_or_default(),
            pacing: file.optional("pacing", Pacing::read_all)?.unwrap_or_default(),
            losses: [
                file.optional("drop", Loss::read_all)?.unwrap_or_default(),
                file.optional("mark", Loss::read_marks)?.unwrap_or_default(),
            ]
            .concat(),
            memories: file.optional("memory", Memory::read_all)?.unwrap_or_default(),
            probes: file
                .optional("probes", |field| Probes::read(field, warmup, until))?
                .unwrap_or(Probes::Default),
            duration: duration?,
            warmup,
            seed,
            template: template?,
            traffic: traffic?,
        })
    }

    /// What the file calls itself; empty if it does not.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// End of the simulated time.
    pub fn duration(&self) -> Span {
        self.duration
    }

    /// Statistics start here.
    pub fn warmup(&self) -> Span {
        self.warmup
    }

    /// The seed of the first run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many hosts the network has.
    pub fn hosts(&self) -> u64 {
        self.template.hosts()
    }

    /// An upper bound on the flows, before hosts are paired: so that a caller may refuse what would take long.
    pub fn most_flows(&self) -> u64 {
        let flows = self.traffic.iter().map(|traffic| traffic.kind.flows(self.hosts(), traffic.count));
        flows.fold(0, u64::saturating_add)
    }

    /// The network that an engine runs under this seed. Everything is checked here that reading could not: names,
    /// routes, sizes.
    pub fn network(&self, seed: u64) -> Result<Network> {
        let layout = self.template.layout(Draw::Seeded(seed));
        let names = Names::new(&layout);
        let (mut flows, profiles) = flows::flows(&self.traffic, &layout, &names, Draw::Seeded(seed))?;
        let context = Context { layout: &layout, names: &names, profiles: &profiles, seed };
        let faults = Faults::default();
        let _ = faults.note(check_routes(&flows, &layout, self.duration));
        let deployed = faults.note(deploy::deploy(&self.pacing, &context, &mut flows));
        let buffers = faults.note(buffers::buffers(&layout, &flows));
        let policers = faults.note(buffers::policers(&layout, &flows));
        let place = |loss: &Loss| loss.place(&names, &flows, buffers.as_deref().unwrap_or_default());
        let drops: Vec<_> = self.losses.iter().flat_map(|loss| faults.note(place(loss))).collect();
        let memories = faults.note(Memory::place_all(&self.memories, &layout, &names, &flows));
        let pacers = deployed.as_ref().map_or(&[][..], |deployed| &deployed.pacers);
        let first_pacer = pacers.iter().position(Option::is_some).map(|i| i as u32);
        let watched = first_pacer.or_else(|| layout.pacable.first().copied());
        let probes = faults.note(self.probes.place(&names, layout.core, watched, self.duration));
        let delays: Vec<Span> = layout.links.iter().map(|link| link.delay).collect();
        let instruments = faults.note(self.probes.instruments(&names, layout.core, &flows, &delays));
        faults.unless_any(Ok(()))?;
        let (Deployment { ports, pacers, .. }, buffers) = (deployed?, buffers?);
        let (policers, memories) = (policers?, memories?);
        let (probes, instruments) = (probes?, instruments?);

        let mut reported: Vec<bool> = (0..layout.links.len())
            .map(|i| {
                let few = layout.links.len() <= FEW_LINKS;
                few || layout.is_inner(&layout.links[i])
                    || pacers[i].is_some()
                    || buffers[i].limit.is_some()
                    || policers[i].is_some()
            })
            .collect();
        let sharing = memories.iter().flat_map(|memory| memory.links.iter().copied());
        let named = drops.iter().map(|drop| drop.link).chain(probes.iter().map(|probe| probe.link));
        let named = named.chain(instruments.iter().filter_map(|instrument| instrument.link));
        named.chain(sharing).chain([layout.core]).for_each(|link| reported[link as usize] = true);

        let classes = flows::classes(&self.traffic, &flows);
        let core = layout.core;
        let plans = layout.links.iter().map(|link| layout.plan_of(link));
        let varied: Vec<_> = plans.map(|plan| (plan.jitter, plan.varying.clone())).collect();
        let Layout { links, hosts, .. } = layout;
        let parts = links.into_iter().zip(buffers).zip(pacers).zip(policers).zip(varied).zip(reported);
        let mut last: Option<Arc<Fitting>> = None;
        let links = parts.map(|(((((link, buffer), pacer), policer), (jitter, varying)), reported)| {
            let fitting = Fitting { buffer, pacer, policer, varying, jitter, reported };
            let fitting = last.take().filter(|last| **last == fitting).unwrap_or_else(|| Arc::new(fitting));
            last = Some(Arc::clone(&fitting));
            LinkSpec { name: link.name, rate: link.rate, delay: link.delay, fitting }
        });
        let mut links: Vec<LinkSpec> = links.collect();
        links.shrink_to_fit(); // it lies where the layout's lay
        let hosts = hosts.into_iter().zip(ports).map(|(name, port)| Host { name, port: port.map(Box::new) });
        let network = Network {
            hosts: hosts.collect(),
            links,
            flows,
            memories,
            classes,
            drops,
            probes,
            instruments,
            duration: self.duration,
            warmup: self.warmup,
            seed,
            core,
        };
        small_queues::check(&network, &self.traffic)?;
        Ok(network)
    }
}
/// Refuses what an engine's packets cannot say: a longer round trip, or more packets to a flow.
fn check_routes(flows: &[FlowSpec], layout: &Layout, duration: Span) -> Result<()> {
    let longest =
        |route: fn(&FlowSpec) -> &[LinkId]| flows.iter().map(|flow| route(flow).len()).max().unwrap_or(0);
    let (there, back) = (longest(|flow| &flow.forward), longest(|flow| &flow.reverse));
    if there + back > MOST_ROUND_TRIP {
        let what = format!(
            "routes of {there} links there and {back} back are too long; {MOST_ROUND_TRIP} in all are the most"
        );
        return Err(ScenarioError::at("network", what));
    }
    for flow in flows {
        let slowest =
            flow.forward.iter().map(|&link| layout.links[link as usize].rate.bits_per_second()).min();
        let (Some(tcp), Some(rate)) = (flow.kind.tcp(), slowest) else { continue };
        let bytes = tcp.data_bytes();
        let packets =
            u128::from(rate) * u128::from(duration.as_nanos()) / (8_000_000_000 * u128::from(bytes.max(1)));
        if packets >= u128::from(u32::MAX) {
            let what = format!(
                "{} could send {packets} packets, and 4294967294 are the most; write a shorter one",
                flow.name
            );
            return Err(ScenarioError::at("duration", what));
        }
    }
    Ok(())
}
