//! `[[memory]]`: a switch's memory, and the links that share it.

use paceline_core::queue::Limit;

use super::buffers::largest_packets;
use super::names::{NameList, Names};
use crate::compile::layout::Layout;
use crate::input::keys::{Key, Kind, NAMES, key, needed};
use crate::input::{BufferSize, Field, Result, ScenarioError};
use crate::network::{FlowSpec, MemorySpec};

const KEYS: [Key; 3] = [
    needed("links", NAMES, "out of one node, which share it"),
    needed("size", Kind::BytesOrPackets, "of the memory"),
    key(
        "alpha",
        Kind::Number(0.001, 1000.0),
        "a queue takes at most so many times what is free (Choudhury and Hahne); 1 unless given",
    ),
];
/// `[[memory]]`.
pub(crate) const ALL: Kind = Kind::List(&Kind::Table("memory", &KEYS));

/// A memory as a scenario describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Memory {
    /// Where it is written: `memory[0]`.
    path: String,
    links: NameList,
    size: Limit,
    alpha: f64,
}

impl Memory {
    /// Reads every `[[memory]]`.
    pub(crate) fn read_all(field: &Field<'_>) -> Result<Vec<Memory>> {
        field.each(|field| {
            let table = field.table(&KEYS)?;
            let links = table.needs("links", "[\"core\", \"edge.l.*.reverse\"]", NameList::read);
            let size = table.needs("size", "\"200 KB\"", size)?;
            let alpha = table.optional("alpha", |field| field.number("a factor", 0.001, 1000.0))?;
            Ok(Memory { path: field.path().to_owned(), links: links?, size, alpha: alpha.unwrap_or(1.0) })
        })
    }

    /// Every memory at its links: those out of one node, none of which is another's too.
    pub(crate) fn place_all(
        all: &[Memory],
        layout: &Layout,
        names: &Names<'_>,
        flows: &[FlowSpec],
    ) -> Result<Vec<MemorySpec>> {
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let largest = largest_packets(layout, flows);
        let mut placed: Vec<MemorySpec> = Vec::new();
        for Memory { path, links, size, alpha } in all {
            let found = names.links(links)?;
            let wrong = |problem: String| Err(ScenarioError::at(&links.path, problem));
            let name = |link: u32| &layout.links[link as usize].name;
            let node = |link: u32| layout.links[link as usize].from;
            let first = found[0];
            if let Some(other) = found.iter().find(|link| node(**link) != node(first)) {
                let (first, other) = (name(first), name(*other));
                return wrong(format!(
                    "{first} and {other} leave different nodes; write links out of one node"
                ));
            }
            if let Some(taken) = found.iter().find(|link| placed.iter().any(|one| one.links.contains(link))) {
                return wrong(format!("{} shares an earlier memory; write each link in one", name(*taken)));
            }
            let most = found.iter().map(|link| (largest[*link as usize], *link)).max().unwrap_or_default();
            let takes = match size {
                Limit::Bytes(bytes) => *bytes >= u64::from(most.0),
                Limit::Packets(packets) => *packets > 0,
            };
            if !takes {
                let (packet, link) = (most.0, name(most.1));
                let least =
                    if matches!(size, Limit::Bytes(_)) { format!("{packet} B") } else { "1 packets".into() };
                let problem = format!(
                    "\"{size}\" takes no packet of {packet} B, which passes {link}; write at least \"{least}\""
                );
                return Err(ScenarioError::at(&format!("{path}.size"), problem));
            }
            placed.push(MemorySpec { links: found, size: *size, alpha: *alpha });
        }
        Ok(placed)
    }
}

/// Bytes or packets.
fn size(field: &Field<'_>) -> Result<Limit> {
    match field.buffer()? {
        BufferSize::Bytes(bytes) => Ok(Limit::Bytes(bytes.count())),
        BufferSize::Packets(packets) => Ok(Limit::Packets(packets)),
        BufferSize::Bdp(_) => {
            Err(field.refused("is of one link, and several share a memory; write bytes or packets"))
        }
    }
}
