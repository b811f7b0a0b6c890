//! Routes by fewest hops; of equal ones, the first in the order in which the links were laid. Hosts do not forward.

use std::collections::HashMap;

use crate::compile::layout::{Layout, NodeId};
use crate::network::{HostId, LinkId};

/// Finds routes through one layout.
#[derive(Debug)]
pub(crate) struct Routes<'a> {
    layout: &'a Layout,
    /// Links that leave each node, ascending; those of routers only to other routers.
    out: Lists,
    /// Links that reach each host, ascending.
    into: Lists,
    given: HashMap<(HostId, HostId), &'a [LinkId]>,
    /// Shortest ways from the nodes asked for last.
    trees: HashMap<NodeId, Tree>,
}

/// A list of links for each node, end to end in one vector.
#[derive(Debug)]
struct Lists {
    starts: Vec<u32>,
    links: Vec<LinkId>,
}

/// The shortest ways from one node to every router.
#[derive(Debug)]
struct Tree {
    /// For each router: hops from the root, and the last link of the way.
    reached: Vec<Option<(u32, LinkId)>>,
}

/// The root itself has no last link.
const NO_LINK: LinkId = LinkId::MAX;
/// Trees worth keeping: flows mostly come ordered by host.
const MOST_TREES: usize = 256;

impl<'a> Routes<'a> {
    pub(crate) fn new(layout: &'a Layout) -> Self {
        let nodes = layout.node_count();
        let leaves = |link: LinkId| {
            let link = &layout.links[link as usize];
            (!layout.is_router(link.from) || layout.is_router(link.to)).then_some(link.from)
        };
        let reaches = |link: LinkId| {
            let link = &layout.links[link as usize];
            (!layout.is_router(link.to)).then_some(link.to)
        };
        Routes {
            layout,
            out: Lists::new(nodes, layout.links.len(), leaves),
            into: Lists::new(nodes, layout.links.len(), reaches),
            given: layout
                .given
                .iter()
                .map(|route| ((route.from, route.to), route.links.as_slice()))
                .collect(),
            trees: HashMap::new(),
        }
    }

    /// The way there; `None` if there is none.
    pub(crate) fn there(&mut self, from: HostId, to: HostId) -> Option<Box<[LinkId]>> {
        match self.given.get(&(from, to)) {
            Some(links) => Some((*links).into()),
            None => self.fewest_hops(from, to),
        }
    }

    /// The route back: as given, or else the same cables, or else by fewest hops.
    pub(crate) fn back(&mut self, from: HostId, to: HostId, there: &[LinkId]) -> Option<Box<[LinkId]>> {
        if self.given.contains_key(&(to, from)) {
            return self.there(to, from);
        }
        let mates: Option<Box<[LinkId]>> =
            there.iter().rev().map(|link| self.layout.links[*link as usize].mate).collect();
        mates.or_else(|| self.fewest_hops(to, from))
    }

    fn fewest_hops(&mut self, from: HostId, to: HostId) -> Option<Box<[LinkId]>> {
        let links = &self.layout.links;
        // Where there is but one way out, as for most hosts and edges, all that lie before the same router share its tree.
        let (mut root, mut first) = (from, Vec::new());
        for _ in 0..=self.layout.routers {
            if let Some(&last) = self.into.of(to).iter().find(|link| links[**link as usize].from == root) {
                first.push(last);
                return Some(first.into());
            }
            match *self.out.of(root) {
                [only] if self.layout.is_router(links[only as usize].to) => {
                    first.push(only);
                    root = links[only as usize].to;
                }
                _ => break,
            }
        }
        if self.trees.len() >= MOST_TREES && !self.trees.contains_key(&root) {
            self.trees.clear();
        }
        let (layout, out) = (self.layout, &self.out);
        let tree = self.trees.entry(root).or_insert_with(|| Tree::grow(layout, out, root));
        let hops_to = |node: NodeId| match node {
            node if node == root => Some(0),
            node if layout.is_router(node) => {
                tree.reached[node as usize - layout.hosts.len()].map(|(hops, _)| hops)
            }
            _ => None,
        };
        let last = self.into.of(to).iter().copied();
        let last = last.filter_map(|link| Some((hops_to(links[link as usize].from)?, link))).min()?.1;
        let mut route = vec![last];
        let mut node = links[last as usize].from;
        while node != root {
            let (_, link) = tree.reached[node as usize - layout.hosts.len()]?;
            route.push(link);
            node = links[link as usize].from;
        }
        route.extend(first.into_iter().rev());
        route.reverse();
        Some(route.into())
    }
}

impl Lists {
    /// Puts each of `links` under the node that `owner` names, if it names one.
    fn new(nodes: usize, links: usize, owner: impl Fn(LinkId) -> Option<NodeId>) -> Self {
        let mut starts = vec![0u32; nodes + 1];
        for node in (0..links as LinkId).filter_map(&owner) {
            starts[node as usize + 1] += 1;
        }
        for i in 0..nodes {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut sorted = vec![0; starts[nodes] as usize];
        for link in 0..links as LinkId {
            if let Some(node) = owner(link) {
                sorted[next[node as usize] as usize] = link;
                next[node as usize] += 1;
            }
        }
        Lists { starts, links: sorted }
    }

    fn of(&self, node: NodeId) -> &[LinkId] {
        &self.links[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }
}

impl Tree {
    /// Breadth first, links in their order.
    fn grow(layout: &Layout, out: &Lists, root: NodeId) -> Tree {
        let hosts = layout.hosts.len();
        let mut reached = vec![None; layout.routers as usize];
        if layout.is_router(root) {
            reached[root as usize - hosts] = Some((0, NO_LINK));
        }
        let mut frontier = vec![root];
        let mut hops = 0;
        while !frontier.is_empty() {
            hops += 1;
            let mut next = Vec::new();
            for node in frontier {
                for &link in out.of(node) {
                    let to = layout.links[link as usize].to;
                    if layout.is_router(to) && reached[to as usize - hosts].is_none() {
                        reached[to as usize - hosts] = Some((hops, link));
                        next.push(to);
                    }
                }
            }
            frontier = next;
        }
        Tree { reached }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::layout::Laid;
    use crate::kernel::chance::Stream;
    use paceline_core::{Rate, Span};

    /// Hosts and routers joined at random, with rings, dead ends, one-way links and hosts between routers.
    fn random(seed: u64) -> Layout {
        let mut stream = Stream::new(seed, "graph");
        let (hosts, routers) = (stream.between(2, 5) as u32, stream.between(1, 6) as u32);
        let mut layout = Layout { routers, ..Layout::default() };
        layout.hosts = (0..hosts).map(|i| format!("h{i}").into()).collect();
        for i in 0..stream.between(3, 20) as u32 {
            let mut node = || stream.between(0, u64::from(hosts + routers) - 1) as NodeId;
            let (from, to) = (node(), node());
            let (rate, delay) = (Rate::from_bits_per_second(1), Span::ZERO);
            let name = format!("{i}").into();
            let (stage, reversed, mate, mirror) = (0, false, None, None);
            if from != to {
                layout.links.push(Laid { name, from, to, rate, delay, stage, reversed, mate, mirror });
            }
        }
        layout
    }

    /// Fewest hops by relaxing every link until nothing changes (Bellman and Ford), through routers only.
    fn hops(layout: &Layout, from: HostId, to: HostId) -> Option<usize> {
        let mut hops = vec![None; layout.node_count()];
        hops[from as usize] = Some(0usize);
        for _ in 0..layout.node_count() {
            for link in layout.links.iter().filter(|link| link.from == from || layout.is_router(link.from)) {
                let (near, far) = (hops[link.from as usize], hops[link.to as usize]);
                let over = near.map(|near| near + 1);
                hops[link.to as usize] = [over, far].into_iter().flatten().min();
            }
        }
        hops[to as usize]
    }

    #[test]
    fn routes_are_unbroken_and_as_short_as_can_be() {
        let mut found = 0;
        for seed in 0..500 {
            let layout = random(seed);
            let mut routes = Routes::new(&layout);
            for (from, to) in (0..layout.hosts.len() as u32)
                .flat_map(|a| (0..layout.hosts.len() as u32).map(move |b| (a, b)))
            {
                if from == to {
                    continue;
                }
                let route = routes.there(from, to);
                assert_eq!(
                    route.as_ref().map(|route| route.len()),
                    hops(&layout, from, to),
                    "seed {seed}, {from} to {to}"
                );
                let mut at = from;
                for link in route.into_iter().flatten() {
                    let link = &layout.links[link as usize];
                    assert_eq!(link.from, at);
                    assert!(at == from || layout.is_router(at), "hosts do not forward");
                    at = link.to;
                    found += usize::from(at == to);
                }
            }
        }
        assert!(found > 500, "{found} routes");
    }
}
