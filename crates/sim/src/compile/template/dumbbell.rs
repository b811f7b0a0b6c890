//! Sending hosts left, receiving hosts right, one core link between.
//!
//! ```text
//! left.i ─ access.l.i ─ edge.l.k ─┐           ┌─ edge.r.k ─ access.r.i ─ right.i
//!                                 ├── core ───┤
//! left.j ─ access.l.j ─ edge.l.m ─┘           └─ edge.r.m ─ access.r.j ─ right.j
//! ```
//!
//! Hosts are numbered group by group, and within a group edge by edge. The right side mirrors the left one with draws
//! of its own. With fewer receivers, receiver j stands where sender j·senders/receivers would.

use smol_str::format_smolstr;

use super::names::MOST_HOSTS;
use crate::compile::draw::Draw;
use crate::compile::layout::{Back, Layer, Layout};
use crate::compile::link_plan::{Defaults, LINK, LinkPlan};
use crate::input::keys::{Key, Kind, Way, key, needed};
use crate::input::{Field, Result, Table};

/// Keys of `[network]` beside those of every template.
pub(super) const KEYS: [Key; 4] = [
    needed("core", LINK, "the link between the two sides"),
    key(
        "edge",
        Kind::Ways("edge", || vec![Way::of(LinkPlan::keys(&EDGE_KEYS))]),
        "links that gather the hosts of a side",
    ),
    needed("access", Kind::OneOrMany(&ACCESS), "hosts and their links, or several groups of them"),
    key(
        "receivers",
        Kind::Whole(1, MOST_HOSTS),
        "hosts right, which senders share in turn; as many as senders unless given",
    ),
];
const EDGE_KEYS: [Key; 1] = [needed("count", Kind::Whole(1, MOST_HOSTS), "how many on each side")];
const ACCESS: Kind = Kind::Ways("access", || vec![Way::of(LinkPlan::keys(&GROUP_KEYS))]);
const GROUP_KEYS: [Key; 3] = [
    key("name", Kind::Text, "of the group"),
    key("hosts", Kind::Whole(1, MOST_HOSTS), "how many, where there are no edges"),
    key("per_edge", Kind::Whole(1, MOST_HOSTS), "how many on each edge"),
];

/// A dumbbell as a scenario describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Dumbbell {
    core: LinkPlan,
    edges: Option<(u32, LinkPlan)>,
    groups: Vec<Group>,
    receivers: u32,
}

/// Hosts that are alike.
#[derive(Debug, Clone, PartialEq)]
struct Group {
    name: Option<String>,
    /// On each edge, or on the core's router where there are no edges.
    hosts: u32,
    access: LinkPlan,
}

impl Dumbbell {
    pub(super) fn read(network: &Table<'_>, _: &Table<'_>, defaults: &Defaults) -> Result<Self> {
        let example = r#"{ rate = "100 Mbit/s", delay = "100 ms", buffer = "5 KB" }"#;
        let core = network.needs("core", example, |core| Ok(LinkPlan::read(core, &[], defaults)?.1));
        let edges = network.optional("edge", |edge| {
            let (table, plan) = LinkPlan::read(edge, &EDGE_KEYS, defaults)?;
            Ok((table.needs("count", "10", |count| count.whole(1, MOST_HOSTS))? as u32, plan))
        })?;
        let edge_count = edges.as_ref().map(|(count, _)| *count);
        let with_edges = network.get("edge");
        let example = match with_edges {
            Some(_) => r#"{ per_edge = 100, rate = "10 Mbit/s", delay = "1 ms" }"#,
            None => r#"{ hosts = 100, rate = "10 Mbit/s", delay = "1 ms" }"#,
        };
        let access = network.required("access", example)?;
        let mut groups: Vec<Group> = Vec::new();
        access.all_of(&access.one_or_many(), |field| {
            let group = Group::read(field, with_edges.is_some(), defaults)?;
            let taken = |other: &Group| other.name.is_some() && other.name == group.name;
            if groups.iter().any(taken) {
                return Err(field.wrong("the group before has this name; give each one its own"));
            }
            groups.push(group);
            Ok(())
        })?;
        let senders: u64 = groups.iter().map(|group| u64::from(group.hosts)).sum::<u64>()
            * u64::from(edge_count.unwrap_or(1));
        if senders == 0 {
            return Err(access.wrong("no hosts; write { hosts = 100, … }"));
        }
        if senders > MOST_HOSTS {
            return Err(access.wrong(format!("makes {senders} hosts; write {MOST_HOSTS} at most")));
        }
        let receivers =
            network.optional("receivers", |field| field.whole(1, senders))?.unwrap_or(senders) as u32;
        Ok(Dumbbell { core: core?, edges, groups, receivers })
    }

    /// How many hosts there are, on both sides.
    pub(super) fn hosts(&self) -> u64 {
        u64::from(self.senders()) + u64::from(self.receivers)
    }

    fn senders(&self) -> u32 {
        self.groups.iter().map(|group| group.hosts).sum::<u32>() * self.edge_count()
    }

    /// Routers that hosts hang on, on either side.
    fn edge_count(&self) -> u32 {
        self.edges.as_ref().map_or(1, |(count, _)| *count)
    }

    pub(super) fn layout(&self, draw: Draw) -> Layout {
        let senders = self.senders();
        let receivers = self.receivers;
        let mut layer = Layer::new(draw);
        let [left, right] = layer.sides(senders, receivers);

        // Routers: the core's two ends, then the left edges, then the right ones.
        let core_left = right.end;
        let edges = self.edges.as_ref().map(|(count, plan)| (*count, plan));
        let edge_left = if edges.is_some() { core_left + 2 } else { core_left };
        let edge_right = if let Some((count, _)) = edges { edge_left + count } else { core_left + 1 };
        layer.layout.routers = 2 + 2 * edges.map_or(0, |(count, _)| count);

        let drawn_left = layer.drawn("left", true, senders);
        let drawn_edges = edges.map(|(count, _)| layer.drawn("edge.l", false, count));
        let drawn_core = (layer.drawn("core.l", false, 1), layer.drawn("core.r", false, 1));
        let drawn_far_edges = edges.map(|(count, _)| layer.drawn("edge.r", false, count));
        let drawn_right = layer.drawn("right", true, receivers);

        let stands = self.stands();
        let first_left = layer.layout.links.len();
        let near = drawn_edges.unwrap_or(drawn_core.0);
        let stages = self.access_stages(&mut layer, "access.l", drawn_left, near);
        for (i, stand) in stands.iter().enumerate() {
            let name = format_smolstr!("access.l.{i}");
            layer.cable(stages[stand.group], name, left.start + i as u32, edge_left + stand.edge);
        }
        let first_edge_left = layer.layout.links.len();
        if let (Some((count, plan)), Some(drawn)) = (edges, drawn_edges) {
            let stage = layer.stage("edge.l", drawn, drawn_core.0, plan, Back::Alike);
            for k in 0..count {
                layer.cable(stage, format!("edge.l.{k}"), edge_left + k, core_left);
            }
        }
        let stage = layer.stage("core", drawn_core.0, drawn_core.1, &self.core, Back::Alike);
        let core = layer.cable(stage, "core".to_owned(), core_left, core_left + 1);
        let first_edge_right = layer.layout.links.len();
        if let (Some((count, plan)), Some(drawn)) = (edges, drawn_far_edges) {
            let stage = layer.stage("edge.r", drawn_core.1, drawn, plan, Back::Alike);
            for k in 0..count {
                let cable = layer.cable(stage, format!("edge.r.{k}"), core_left + 1, edge_right + k);
                layer.mirrored(first_edge_left + k as usize, cable);
            }
        }
        let first_right = layer.layout.links.len();
        let far = drawn_far_edges.unwrap_or(drawn_core.1);
        let stages = self.access_stages(&mut layer, "access.r", far, drawn_right);
        for j in 0..receivers {
            let stand = &stands[(u64::from(j) * u64::from(senders) / u64::from(receivers)) as usize];
            let name = format_smolstr!("access.r.{j}");
            layer.cable(stages[stand.group], name, edge_right + stand.edge, right.start + j);
        }
        for i in (0..senders as usize).rev() {
            layer.mirrored(first_left + i, first_right + i % receivers as usize);
        }

        layer.layout.core = core as u32;
        layer.layout.pacable =
            if edges.is_some() { first_edge_left..core } else { first_left..first_edge_left }
                .map(|i| i as u32)
                .collect();
        debug_assert_eq!(first_edge_right, core + 1);
        let mut first = left.start;
        for group in &self.groups {
            let end = first + group.hosts * self.edge_count();
            if let Some(name) = &group.name {
                layer.layout.groups.push((name.clone(), first..end));
            }
            first = end;
        }
        layer.finish()
    }

    /// The group and the edge of each sending host.
    fn stands(&self) -> Vec<Stand> {
        let mut stands = Vec::with_capacity(self.senders() as usize);
        for (group, plan) in self.groups.iter().enumerate() {
            for edge in 0..self.edge_count() {
                stands.extend((0..plan.hosts).map(|_| Stand { group, edge }));
            }
        }
        stands
    }

    fn access_stages(&self, layer: &mut Layer, name: &str, from: usize, to: usize) -> Vec<u32> {
        let ordered_link_of = |(i, group): (usize, &Group)| {
            let name = match &group.name {
                Some(group) => format!("{name} ({group})"),
                None if self.groups.len() > 1 => format!("{name} ({i})"),
                None => name.to_owned(),
            };
            layer.stage(&name, from, to, &group.access, Back::Alike)
        };
        self.groups.iter().enumerate().map(ordered_link_of).collect()
    }
}

/// Where a sending host stands.
struct Stand {
    group: usize,
    edge: u32,
}

impl Group {
    fn read(field: &Field<'_>, with_edges: bool, defaults: &Defaults) -> Result<Self> {
        let (table, access) = LinkPlan::read(field, &GROUP_KEYS, defaults)?;
        let (key, other) = if with_edges { ("per_edge", "hosts") } else { ("hosts", "per_edge") };
        if let Some(unfit) = table.get(other) {
            return Err(unfit.wrong(if with_edges {
                "hosts hang on edges here; write per_edge = n, the hosts on each edge"
            } else {
                "there are no edges; write hosts = n"
            }));
        }
        let hosts = table.needs(key, "100", |field| field.whole(1, MOST_HOSTS));
        let name = table.optional("name", |name| {
            let text = name.name()?;
            if ["left", "right"].contains(&text.as_str()) {
                return Err(name.refused("is the name of a whole side; write another"));
            }
            if text.contains('.') {
                return Err(name.refused("has a dot, as the names of hosts have; write one without"));
            }
            Ok(text)
        })?;
        Ok(Group { name, hosts: hosts? as u32, access })
    }
}
