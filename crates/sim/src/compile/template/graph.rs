//! Nodes and links as the scenario lists them.
//!
//! `[[node]]` has `name` and `kind`; `[[link]]` has `from`, `to`, a link's keys, perhaps a `name` (else `from-to`) and a
//! `reverse`; `[[route]]` has `from`, `to` and `via`. Hosts do not forward.

use std::collections::HashMap;

use serde_json::Value;

use super::names::{CORE, CoreChoice, link_name};
use crate::compile::draw::Draw;
use crate::compile::layout::{Back, GivenRoute, Layer, Layout, NodeId};
use crate::compile::link_plan::{Defaults, LinkPlan, WAY_BACK};
use crate::input::keys::{Key, Kind, Way, key, needed, words};
use crate::input::{Field, Result, ScenarioError, Table, shortened, suggestion};

/// Keys of `[network]` beside those of every template.
pub(super) const KEYS: [Key; 1] = [CORE];
/// Keys of the file that are a graph's alone.
pub(super) const FILE_KEYS: [&str; 3] = ["node", "link", "route"];
pub(crate) const NODES: Kind = Kind::List(&Kind::Table("node", &NODE_KEYS));
pub(crate) const LINKS: Kind =
    Kind::List(&Kind::Ways("link-between-nodes", || vec![Way::of(LinkPlan::keys(&LINK_KEYS))]));
pub(crate) const ROUTES: Kind = Kind::List(&Kind::Table("route", &ROUTE_KEYS));
const NODE_KEYS: [Key; 2] = [
    needed("name", Kind::Text, "of the node"),
    needed("kind", Kind::Word(|| words(&NODE_KINDS)), "hosts send and receive, routers forward"),
];
const NODE_KINDS: [(&str, bool); 2] = [("host", true), ("router", false)];
const LINK_KEYS: [Key; 4] = [
    key("name", Kind::Text, "of the link; from-to unless given"),
    needed("from", Kind::Text, "a node"),
    needed("to", Kind::Text, "another"),
    key(
        "reverse",
        Kind::Either(&[Kind::Flag, WAY_BACK]),
        "the way back: as the way there, none, or a table of its own; true unless given",
    ),
];
const ROUTE_KEYS: [Key; 3] = [
    needed("from", Kind::Text, "a host"),
    needed("to", Kind::Text, "another"),
    needed("via", Kind::List(&Kind::Text), "nodes on the way, or links"),
];

/// A graph as a scenario describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Graph {
    /// Hosts, in the order of the file.
    hosts: Vec<String>,
    /// Routers, in the order of the file; numbered after the hosts.
    routers: Vec<String>,
    links: Vec<GraphLink>,
    routes: Vec<GraphRoute>,
    core: CoreChoice,
}

#[derive(Debug, Clone, PartialEq)]
struct GraphLink {
    name: String,
    from: NodeId,
    to: NodeId,
    plan: LinkPlan,
    back: Back,
}

#[derive(Debug, Clone, PartialEq)]
struct GraphRoute {
    from: NodeId,
    to: NodeId,
    steps: Vec<Step>,
}

/// One direction of a link, by the link's position.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    link: usize,
    reversed: bool,
}

impl Graph {
    pub(super) fn read(network: &Table<'_>, file: &Table<'_>, defaults: &Defaults) -> Result<Self> {
        let (hosts, routers) = file.needs("node", r#"[{ name = "a", kind = "host" }, …]"#, read_nodes)?;
        let known: HashMap<&str, NodeId> =
            hosts.iter().chain(&routers).map(String::as_str).zip(0..).collect();
        let mut links: Vec<GraphLink> = Vec::new();
        let mut names: HashMap<String, usize> = HashMap::new();
        let example = r#"[{ from = "a", to = "b", rate = "10 Mbit/s", delay = "1 ms" }, …]"#;
        let listed = file.required("link", example)?;
        listed.each(|field| {
            let link = GraphLink::read(field, &known, defaults)?;
            if names.insert(link.name.clone(), links.len()).is_some() {
                let name = &link.name;
                return Err(field
                    .wrong(format!("an earlier link is named \"{name}\"; give this one a name of its own")));
            }
            links.push(link);
            Ok(())
        })?;
        if links.is_empty() {
            return Err(listed.wrong("no links; write at least one"));
        }
        let mut routes = Vec::new();
        if let Some(field) = file.get("route") {
            field.each(|field| {
                let route = read_route(field, &known, &links, &names, hosts.len())?;
                let same = |other: &GraphRoute| (other.from, other.to) == (route.from, route.to);
                if routes.iter().any(same) {
                    return Err(field.wrong("an earlier route joins these hosts; write one"));
                }
                routes.push(route);
                Ok(())
            })?;
        }
        let core = CoreChoice::read(network, links.iter().map(|link| link.name.as_str()))?;
        drop(known);
        Ok(Graph { hosts, routers, links, routes, core })
    }

    pub(super) fn hosts(&self) -> u64 {
        self.hosts.len() as u64
    }

    pub(super) fn layout(&self, draw: Draw) -> Layout {
        let mut layer = Layer::new(draw);
        layer.hosts(self.hosts.iter().cloned());
        layer.layout.routers = self.routers.len() as u32;
        for (name, is_host) in
            self.hosts.iter().map(|name| (name, true)).chain(self.routers.iter().map(|name| (name, false)))
        {
            layer.drawn(name, is_host, 1);
        }
        for link in &self.links {
            let (from, to) = (link.from as usize, link.to as usize);
            let stage = layer.stage(&link.name, from, to, &link.plan, link.back.clone());
            layer.cable(stage, link.name.clone(), link.from, link.to);
        }
        let mut layout = layer.finish();
        layout.core = self.core.find(&layout, Layout::slowest_inner);
        let id_of = |step: &Step| match step.reversed {
            false => Some(step.link as u32),
            true => layout.links[step.link].mate,
        };
        layout.given = self
            .routes
            .iter()
            .map(|route| GivenRoute {
                from: route.from,
                to: route.to,
                links: route.steps.iter().filter_map(id_of).collect(),
            })
            .collect();
        layout
    }
}

impl GraphLink {
    fn read(field: &Field<'_>, known: &HashMap<&str, NodeId>, defaults: &Defaults) -> Result<Self> {
        let (table, plan) = LinkPlan::read(field, &LINK_KEYS, defaults)?;
        let from = table.needs("from", "\"a\"", |field| node(field, known));
        let to = table.needs("to", "\"b\"", |field| node(field, known))?;
        let from = from?;
        let (from_field, to_field) = (table.required("from", "\"a\"")?, table.required("to", "\"b\"")?);
        if from == to {
            return Err(to_field.refused("is where the link comes from; write another node"));
        }
        let default_name = || Ok(format!("{}-{}", from_field.text()?, to_field.text()?));
        let name = table.optional("name", link_name)?.map_or_else(default_name, Ok)?;
        let back = match table.get("reverse") {
            None => Back::Alike,
            Some(own) => match own.value() {
                Value::Bool(true) => Back::Alike,
                Value::Bool(false) => Back::None,
                _ => Back::Own(Box::new(LinkPlan::read_way_back(&own, defaults)?)),
            },
        };
        if let (Some(buffer), true) = (table.get("reverse_buffer"), back != Back::Alike) {
            return Err(buffer.wrong("reverse says what the way back is; write its buffer there"));
        }
        Ok(GraphLink { name, from, to, plan, back })
    }
}

/// Names of hosts, and of routers.
fn read_nodes(field: &Field<'_>) -> Result<(Vec<String>, Vec<String>)> {
    let (mut hosts, mut routers) = (Vec::new(), Vec::new());
    let mut taken = std::collections::HashSet::new();
    field.each(|field| {
        let table = field.table(&NODE_KEYS)?;
        let name = table.needs("name", "\"a\"", |field| match field.name()? {
            name if taken.insert(name.clone()) => Ok(name),
            _ => Err(field.refused("is an earlier node; write another name")),
        });
        match table.needs("kind", "\"host\" or \"router\"", |kind| kind.choice(&NODE_KINDS))? {
            true => hosts.push(name?),
            false => routers.push(name?),
        }
        Ok(())
    })?;
    Ok((hosts, routers))
}

fn node(field: &Field<'_>, known: &HashMap<&str, NodeId>) -> Result<NodeId> {
    let name = field.text()?;
    known.get(name).copied().ok_or_else(|| {
        // Sorted, because a hash map's order is another on every run.
        let mut names: Vec<&str> = known.keys().copied().collect();
        names.sort_unstable();
        let what = suggestion(name, names, || "write the name of a [[node]]".to_owned());
        field.refused(format!("is no node; {what}"))
    })
}

/// A route by the nodes on its way, or by the links where two nodes have several between them.
fn read_route(
    field: &Field<'_>,
    known: &HashMap<&str, NodeId>,
    links: &[GraphLink],
    names: &HashMap<String, usize>,
    hosts: usize,
) -> Result<GraphRoute> {
    let table = field.table(&ROUTE_KEYS)?;
    let host = |key: &str| {
        let field = table.required(key, "\"a\"")?;
        match node(&field, known)? {
            node if (node as usize) < hosts => Ok(node),
            _ => Err(field.refused("is a router; write a host")),
        }
    };
    let (from, to) = (host("from")?, host("to")?);
    if from == to {
        return Err(field.wrong("from and to are one host; write two"));
    }
    let between = |at: NodeId, next: NodeId| {
        links.iter().enumerate().find_map(|(link, GraphLink { from, to, back, .. })| match (*from, *to) {
            ends if ends == (at, next) => Some(Step { link, reversed: false }),
            ends if ends == (next, at) && *back != Back::None => Some(Step { link, reversed: true }),
            _ => None,
        })
    };
    let (mut at, mut steps) = (from, Vec::new());
    let via = table.required("via", "[\"r1\", \"r2\"]")?;
    for name_field in via.list()? {
        let name = name_field.text()?;
        let step = match (known.get(name), names.get(name)) {
            (Some(next), _) => between(at, *next),
            (None, Some(&link)) if links[link].from == at => Some(Step { link, reversed: false }),
            (None, Some(&link)) if links[link].to == at && links[link].back != Back::None => {
                Some(Step { link, reversed: true })
            }
            (None, Some(_)) => None,
            (None, None) => return Err(name_field.refused("is neither node nor link; write one of theirs")),
        };
        let Some(step) = step else {
            return Err(
                name_field.refused("does not follow from the node before; write each node on the way")
            );
        };
        at = step.end(links);
        steps.push(step);
        if (at as usize) < hosts && at != to {
            return Err(
                name_field.refused("is a host or leads to one, and hosts do not forward; write routers")
            );
        }
    }
    if at != to {
        let Some(step) = between(at, to) else {
            let name = shortened(table.required("to", "\"b\"")?.text()?);
            return Err(ScenarioError::at(
                via.path(),
                format!("no link leads from its end to \"{name}\"; add the nodes between"),
            ));
        };
        steps.push(step);
    }
    Ok(GraphRoute { from, to, steps })
}

impl Step {
    fn end(self, links: &[GraphLink]) -> NodeId {
        if self.reversed { links[self.link].from } else { links[self.link].to }
    }
}
