//! Templates: how a few keys of `[network]` become hosts, routers and links.
//!
//! A template is one file: it reads its keys and lays its cables. Their names stand in one list, [`TEMPLATES`].

mod chain;
mod dumbbell;
mod graph;
mod parking_lot;
mod path;
mod tandem;

use crate::compile::draw::Draw;
use crate::compile::input::error::ScenarioError;
use crate::compile::input::reader::{Field, Table};
use crate::compile::input::suggest::suggestion;
use crate::compile::layout::Layout;
use crate::compile::link_plan::Defaults;
use crate::network::LinkId;

type Result<T> = std::result::Result<T, ScenarioError>;

/// Senders: a network of more is not laid out, and looked at, within five seconds.
pub(crate) const MOST_HOSTS: u64 = 2_000_000;

/// A network as a scenario describes it, its ranges not drawn yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Template {
    Dumbbell(dumbbell::Dumbbell),
    Path(path::Path),
    Tandem(tandem::Tandem),
    ParkingLot(parking_lot::ParkingLot),
    Graph(graph::Graph),
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Dumbbell,
    Path,
    Tandem,
    ParkingLot,
    Graph,
}

/// Every template by its name in a scenario: the one list.
const TEMPLATES: [(&str, Kind); 5] = [
    ("dumbbell", Kind::Dumbbell),
    ("path", Kind::Path),
    ("tandem", Kind::Tandem),
    ("parking-lot", Kind::ParkingLot),
    ("graph", Kind::Graph),
];

/// Keys of `[network]` in every template.
const KEYS: [&str; 3] = ["template", "counts", "ties"];

impl Template {
    /// Reads `[network]`, and of the file what belongs to a graph.
    pub(crate) fn read(field: &Field<'_>, file: &Table<'_>) -> Result<Self> {
        let network = field.open()?;
        let kind = network.required("template", "\"dumbbell\"")?.choice(&TEMPLATES)?;
        let own: Vec<&str> = match kind {
            Kind::Dumbbell => dumbbell::KEYS.to_vec(),
            Kind::Path => path::KEYS.to_vec(),
            Kind::Tandem => [&chain::KEYS, tandem::KEYS.as_slice()].concat(),
            Kind::ParkingLot => [&chain::KEYS, parking_lot::KEYS.as_slice()].concat(),
            Kind::Graph => graph::KEYS.to_vec(),
        };
        network.only(&[&KEYS, own.as_slice()].concat())?;
        if let (Some(stray), false) =
            (graph::FILE_KEYS.iter().find_map(|key| file.get(key)), matches!(kind, Kind::Graph))
        {
            return Err(stray.wrong("only a graph has these; write template = \"graph\" in [network]"));
        }
        let defaults = Defaults::read(&network)?;
        Ok(match kind {
            Kind::Dumbbell => Template::Dumbbell(dumbbell::Dumbbell::read(&network, &defaults)?),
            Kind::Path => Template::Path(path::Path::read(&network, &defaults)?),
            Kind::Tandem => Template::Tandem(tandem::Tandem::read(&network, &defaults)?),
            Kind::ParkingLot => Template::ParkingLot(parking_lot::ParkingLot::read(&network, &defaults)?),
            Kind::Graph => Template::Graph(graph::Graph::read(&network, file, &defaults)?),
        })
    }

    /// Its name in a scenario.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Template::Dumbbell(_) => "dumbbell",
            Template::Path(_) => "path",
            Template::Tandem(_) => "tandem",
            Template::ParkingLot(_) => "parking-lot",
            Template::Graph(_) => "graph",
        }
    }

    /// How many hosts it has.
    pub(crate) fn hosts(&self) -> u64 {
        match self {
            Template::Dumbbell(dumbbell) => dumbbell.hosts(),
            Template::Path(_) => 2,
            Template::Tandem(tandem) => tandem.hosts(),
            Template::ParkingLot(lot) => lot.hosts(),
            Template::Graph(graph) => graph.hosts(),
        }
    }

    /// The network, its ranges drawn.
    pub(crate) fn layout(&self, draw: Draw) -> Layout {
        match self {
            Template::Dumbbell(dumbbell) => dumbbell.layout(draw),
            Template::Path(path) => path.layout(draw),
            Template::Tandem(tandem) => tandem.layout(draw),
            Template::ParkingLot(lot) => lot.layout(draw),
            Template::Graph(graph) => graph.layout(draw),
        }
    }
}

/// A name that is not taken by the way back of another link.
fn link_name(field: &Field<'_>) -> Result<String> {
    let name = field.name()?;
    if name.ends_with(".reverse") {
        return Err(field.refused("would be the way back of another link; write a name without .reverse"));
    }
    Ok(name)
}

/// The link that a network is about: named, or else the slowest.
#[derive(Debug, Clone, PartialEq)]
struct CoreChoice(Option<String>);

impl CoreChoice {
    fn read<'a>(network: &Table<'_>, names: impl Iterator<Item = &'a str> + Clone) -> Result<Self> {
        let named = network.optional("core", |field| {
            let name = field.text()?;
            if names.clone().any(|other| other == name) {
                return Ok(name.to_owned());
            }
            let what = suggestion(name, names.clone(), || "write the name of a link".to_owned());
            Err(field.refused(format!("is no link here; {what}")))
        })?;
        Ok(CoreChoice(named))
    }

    fn find(&self, layout: &Layout, otherwise: impl FnOnce(&Layout) -> LinkId) -> LinkId {
        let named = self.0.as_ref().and_then(|name| layout.links.iter().position(|link| link.name == *name));
        named.map_or_else(|| otherwise(layout), |i| i as LinkId)
    }
}
