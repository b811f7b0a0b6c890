//! Templates: how a few keys of `[network]` become hosts, routers and links.
//!
//! A template is one file: it reads its keys and lays its cables. Its name stands in one list, [`Template::read`].

pub(crate) mod draw;
mod dumbbell;
pub(crate) mod layout;
mod path;

use self::draw::Draw;
use self::layout::Layout;
use crate::network::LinkId;
use crate::scenario::error::ScenarioError;
use crate::scenario::link::Defaults;
use crate::scenario::reader::{Field, Table};
use crate::scenario::suggest::suggestion;

type Result<T> = std::result::Result<T, ScenarioError>;

/// More hosts than this are a slip of the pen.
pub(crate) const MOST_HOSTS: u64 = 10_000_000;

/// A network as a scenario describes it, its ranges not drawn yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Template {
    Dumbbell(dumbbell::Dumbbell),
    Path(path::Path),
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Dumbbell,
    Path,
}

/// Keys of `[network]` in every template.
const KEYS: [&str; 2] = ["template", "counts"];

impl Template {
    /// Reads `[network]`.
    pub(crate) fn read(field: &Field<'_>) -> Result<Self> {
        let network = field.open()?;
        let kind = network
            .required("template", "\"dumbbell\"")?
            .choice(&[("dumbbell", Kind::Dumbbell), ("path", Kind::Path)])?;
        let own: &[&str] = match kind {
            Kind::Dumbbell => &dumbbell::KEYS,
            Kind::Path => &path::KEYS,
        };
        network.only(&[&KEYS, own].concat())?;
        let defaults = Defaults::read(&network)?;
        Ok(match kind {
            Kind::Dumbbell => Template::Dumbbell(dumbbell::Dumbbell::read(&network, &defaults)?),
            Kind::Path => Template::Path(path::Path::read(&network, &defaults)?),
        })
    }

    /// Its name in a scenario.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Template::Dumbbell(_) => "dumbbell",
            Template::Path(_) => "path",
        }
    }

    /// How many hosts it has.
    pub(crate) fn hosts(&self) -> u64 {
        match self {
            Template::Dumbbell(dumbbell) => dumbbell.hosts(),
            Template::Path(_) => 2,
        }
    }

    /// The network, its ranges drawn.
    pub(crate) fn layout(&self, draw: Draw) -> Layout {
        match self {
            Template::Dumbbell(dumbbell) => dumbbell.layout(draw),
            Template::Path(path) => path.layout(draw),
        }
    }
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
