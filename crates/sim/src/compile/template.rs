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
use crate::compile::link_plan::Defaults;
use crate::input::{Field, Result, Table};

/// Keys of `[network]` in every template.
const KEYS: [&str; 3] = ["template", "counts", "ties"];

/// From the list: the enum, the names and the dispatch.
macro_rules! templates {
    ($($name:literal => $module:ident::$Kind:ident,)*) => {
        /// A network as a scenario describes it, its ranges not drawn yet.
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) enum Template {
            $($Kind($module::$Kind),)*
        }

        /// What reads the keys of `[network]`, and of the file what belongs to a graph.
        type Reader = fn(&Table<'_>, &Table<'_>, &Defaults) -> Result<Template>;

        /// By their names in a scenario: the name, the keys and the reader.
        const TEMPLATES: &[(&str, (&str, &[&str], Reader))] = &[$((
            $name,
            ($name, &$module::KEYS, |network, file, defaults| {
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
    "dumbbell" => dumbbell::Dumbbell,
    "path" => path::Path,
    "tandem" => tandem::Tandem,
    "parking-lot" => parking_lot::ParkingLot,
    "graph" => graph::Graph,
}

impl Template {
    /// Reads `[network]`, and of the file what belongs to a graph.
    pub(crate) fn read(field: &Field<'_>, file: &Table<'_>) -> Result<Self> {
        let network = field.open()?;
        let (name, own, read) = network.required("template", "\"dumbbell\"")?.choice(TEMPLATES)?;
        network.only(&[&KEYS, own].concat())?;
        let stray = graph::FILE_KEYS.iter().find_map(|key| file.get(key)).filter(|_| name != "graph");
        if let Some(stray) = stray {
            return Err(stray.wrong("only a graph has these; write template = \"graph\" in [network]"));
        }
        read(&network, file, &Defaults::read(&network, file)?)
    }
}
