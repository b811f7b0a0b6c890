//! Templates: how a few keys of `[network]` become hosts, routers and links.
//!
//! A template is one file, which reads its keys and lays its cables, and one line in the list below.

mod chain;
mod dumbbell;
mod graph;
mod names;
mod parking_lot;
mod path;
mod tandem;

use crate::compile::draw::Draw;
use crate::compile::layout::Layout;
use crate::compile::link_plan::{COUNTS, Defaults, TIES};
use crate::input::keys::{Key, Kind, Way, key, needed, words};
use crate::input::{Field, Result, Table};

/// Keys of `[network]` in every template.
const KEYS: [Key; 3] = [
    needed("template", Kind::Word(|| words(TEMPLATES)), "what kind of network it is"),
    key("counts", COUNTS, "what the limits of all links count; \"waiting\" unless given"),
    key(
        "ties",
        TIES,
        "who goes first, on all links, where a packet arrives as another leaves; drawn unless given, ns2 with counts = ns2",
    ),
];

/// `[network]`, one way a template.
pub(crate) const NETWORK: Kind = Kind::Ways("network", || {
    let way = |(name, (_, summary, own, _)): &(&'static str, Row)| {
        Way::with(KEYS[0].name, Kind::Just(name, summary), [&KEYS, *own].concat())
    };
    TEMPLATES.iter().map(way).collect()
});
pub(crate) use self::graph::{LINKS, NODES, ROUTES};

/// From the list: the enum, the names and the dispatch.
macro_rules! templates {
    ($($name:literal => $module:ident::$Kind:ident: $summary:literal;)*) => {
        /// A network as a scenario describes it, its ranges not drawn yet.
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) enum Template {
            $($Kind($module::$Kind),)*
        }

        /// What reads the keys of `[network]`, and of the file what belongs to a graph.
        type Reader = fn(&Table<'_>, &Table<'_>, &Defaults) -> Result<Template>;

        /// The name, what it is, the keys and the reader.
        type Row = (&'static str, &'static str, &'static [Key], Reader);

        /// By their names in a scenario.
        const TEMPLATES: &[(&str, Row)] = &[$((
            $name,
            ($name, $summary, &$module::KEYS, |network, file, defaults| {
                Ok(Template::$Kind($module::$Kind::read(network, file, defaults)?))
            }),
        ),)*];

        impl Template {
            /// Its name in a scenario.
            pub(crate) fn name(&self) -> &'static str {
                match self { $(Template::$Kind(_) => $name,)* }
            }

            /// How many hosts it has.
            pub(crate) fn hosts(&self) -> u64 {
                match self { $(Template::$Kind(one) => one.hosts(),)* }
            }

            /// The network, its ranges drawn.
            pub(crate) fn layout(&self, draw: Draw) -> Layout {
                match self { $(Template::$Kind(one) => one.layout(draw),)* }
            }
        }
    };
}

templates! {
    "dumbbell" => dumbbell::Dumbbell: "sending hosts left, receiving hosts right, one core link between";
    "path" => path::Path: "one host to another over a row of links";
    "tandem" => tandem::Tandem: "a row of routers with sending hosts at one end and receiving hosts at the other";
    "parking-lot" => parking_lot::ParkingLot: "a row of routers that some flows pass whole, and others hop by hop";
    "graph" => graph::Graph: "nodes and links as the file lists them";
}

impl Template {
    /// Reads `[network]`, and of the file what belongs to a graph.
    pub(crate) fn read(field: &Field<'_>, file: &Table<'_>) -> Result<Self> {
        let network = field.open()?;
        let (name, _, own, read) = network.required("template", "\"dumbbell\"")?.choice(TEMPLATES)?;
        network.only(&[&KEYS, own].concat())?;
        let stray = graph::FILE_KEYS.into_iter().find_map(|key| file.get(key)).filter(|_| name != "graph");
        if let Some(stray) = stray {
            return Err(stray.wrong("only a graph has these; write template = \"graph\" in [network]"));
        }
        read(&network, file, &Defaults::read(&network, file)?)
    }
}
