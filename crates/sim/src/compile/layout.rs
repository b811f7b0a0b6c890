//! What every template comes to: hosts, routers, cables between them, and which of them is the core.
//!
//! Nodes are numbered from 0, hosts first, so that a host's number is its [`HostId`]. A cable is a forward link
//! and, mostly, its `.reverse`. Links are numbered forward ones first, in the order in which they were laid.

use std::ops::Range as Numbers;

use paceline_core::{Rate, Span};
use smol_str::format_smolstr;

use super::draw::Draw;
use crate::compile::link_plan::LinkPlan;
use crate::network::{HostId, LinkId, Name};

/// A node's number: hosts first, then routers.
pub(crate) type NodeId = u32;

/// A network with its ranges drawn, before flows, pacers and buffers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    /// Names of the hosts.
    pub(crate) hosts: Vec<Name>,
    /// How many routers follow the hosts.
    pub(crate) routers: u32,
    /// Every link in one direction.
    pub(crate) links: Vec<Laid>,
    /// What kinds of cables there are; a cable's ranges and buffers are its stage's.
    pub(crate) stages: Vec<Stage>,
    /// Nodes as a drawing shows them.
    pub(crate) nodes: Vec<NodeGroup>,
    /// Names that stand for several hosts.
    pub(crate) groups: Vec<(String, Numbers<HostId>)>,
    /// The host that each one sends to by default.
    pub(crate) partner: Vec<Option<HostId>>,
    /// The hosts that send by default; empty where the scenario must name them.
    pub(crate) senders: Numbers<HostId>,
    /// The link that the network is about.
    pub(crate) core: LinkId,
    /// Where a link pacer stands by default; empty where the scenario must name the links.
    pub(crate) pacable: Vec<LinkId>,
    /// Routes that the scenario gives.
    pub(crate) given: Vec<GivenRoute>,
}

/// A link in one direction.
#[derive(Debug, Clone)]
pub(crate) struct Laid {
    pub(crate) name: Name,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) rate: Rate,
    pub(crate) delay: Span,
    /// Position in [`Layout::stages`].
    pub(crate) stage: u32,
    /// Whether it is the `.reverse` of its cable.
    pub(crate) reversed: bool,
    /// The other direction of the same cable.
    pub(crate) mate: Option<LinkId>,
    /// The link that does for traffic the other way what this one does: where acknowledgements are paced too.
    pub(crate) mirror: Option<LinkId>,
}

/// A kind of cable, and the nodes that it joins.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    /// `access.l`, or the link's own name where there is but one.
    pub(crate) name: String,
    /// Position in [`Layout::nodes`].
    pub(crate) from: usize,
    /// Position in [`Layout::nodes`].
    pub(crate) to: usize,
    /// The forward direction.
    pub(crate) plan: LinkPlan,
    /// The way back.
    pub(crate) back: Back,
}

/// The way back over a cable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Back {
    /// The same rate and delay; its buffer is the plan's `reverse_buffer`.
    Alike,
    /// A plan of its own.
    Own(Box<LinkPlan>),
    /// There is none.
    None,
}

/// Nodes that are alike.
#[derive(Debug, Clone)]
pub(crate) struct NodeGroup {
    pub(crate) name: String,
    pub(crate) is_host: bool,
    pub(crate) count: u32,
}

/// A route as a scenario gives it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GivenRoute {
    pub(crate) from: HostId,
    pub(crate) to: HostId,
    pub(crate) links: Vec<LinkId>,
}

impl Layout {
    /// Whether a node forwards what is not for it.
    pub(crate) fn is_router(&self, node: NodeId) -> bool {
        node as usize >= self.hosts.len()
    }

    /// How many nodes there are.
    pub(crate) fn node_count(&self) -> usize {
        self.hosts.len() + self.routers as usize
    }

    /// Whether a link joins two routers.
    pub(crate) fn is_inner(&self, link: &Laid) -> bool {
        self.is_router(link.from) && self.is_router(link.to)
    }

    /// The plan of one direction of a cable.
    pub(crate) fn plan_of(&self, link: &Laid) -> &LinkPlan {
        let stage = &self.stages[link.stage as usize];
        match &stage.back {
            Back::Own(own) if link.reversed => own,
            _ => &stage.plan,
        }
    }

    /// The forward link of the least mean rate, of those between routers if there are such; the first of equals.
    pub(crate) fn slowest_inner(&self) -> LinkId {
        self.slowest_where(|link| self.is_inner(link)).unwrap_or_else(|| self.slowest())
    }

    /// The forward link of the least mean rate, the first of equals.
    pub(crate) fn slowest(&self) -> LinkId {
        self.slowest_where(|_| true).unwrap_or(0)
    }

    fn slowest_where(&self, fits: impl Fn(&Laid) -> bool) -> Option<LinkId> {
        let twice_mean = |link: &Laid| {
            let rate = self.plan_of(link).rate;
            u128::from(rate.low.bits_per_second()) + u128::from(rate.high.bits_per_second())
        };
        let candidates = self.links.iter().enumerate().filter(|(_, link)| !link.reversed && fits(link));
        candidates.min_by_key(|(_, link)| twice_mean(link)).map(|(i, _)| i as LinkId)
    }
}

/// Lays cables, one direction after the other.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) layout: Layout,
    draw: Draw,
    reverse: Vec<Option<Laid>>,
    /// For each cable, the one whose way back stands in its place for traffic the other way.
    mirrors: Vec<Option<usize>>,
}

impl Layer {
    pub(crate) fn new(draw: Draw) -> Self {
        Layer { layout: Layout::default(), draw, reverse: Vec::new(), mirrors: Vec::new() }
    }

    /// Adds hosts that are alike; returns their numbers.
    pub(crate) fn hosts(&mut self, names: impl Iterator<Item = impl Into<Name>>) -> Numbers<HostId> {
        let first = self.layout.hosts.len() as HostId;
        self.layout.hosts.extend(names.map(Into::into));
        first..self.layout.hosts.len() as HostId
    }

    /// Adds hosts that send, `left.0` and on, and hosts that receive, `right.0` and on, each of which is a sender's partner.
    pub(crate) fn sides(&mut self, senders: u32, receivers: u32) -> [Numbers<HostId>; 2] {
        let left = self.hosts((0..senders).map(|i| format_smolstr!("left.{i}")));
        let right = self.hosts((0..receivers).map(|i| format_smolstr!("right.{i}")));
        let layout = &mut self.layout;
        layout.groups = vec![("left".to_owned(), left.clone()), ("right".to_owned(), right.clone())];
        layout.senders = left.clone();
        let partners = (0..senders).map(|i| right.start + i % receivers);
        layout.partner = partners.chain((0..receivers).map(|i| left.start + i)).map(Some).collect();
        [left, right]
    }

    /// Adds nodes to the drawing.
    pub(crate) fn drawn(&mut self, name: &str, is_host: bool, count: u32) -> usize {
        self.layout.nodes.push(NodeGroup { name: name.to_owned(), is_host, count });
        self.layout.nodes.len() - 1
    }

    /// Adds a kind of cable.
    pub(crate) fn stage(&mut self, name: &str, from: usize, to: usize, plan: &LinkPlan, back: Back) -> u32 {
        self.layout.stages.push(Stage { name: name.to_owned(), from, to, plan: plan.clone(), back });
        (self.layout.stages.len() - 1) as u32
    }

    /// Lays one cable; returns its number, which becomes its forward link's.
    pub(crate) fn cable(&mut self, stage: u32, name: impl Into<Name>, from: NodeId, to: NodeId) -> usize {
        let name = name.into();
        let kind = &self.layout.stages[stage as usize];
        let rate = self.draw.rate(kind.plan.rate, &name);
        let delay = self.draw.delay(kind.plan.delay, &name);
        let back_name = format_smolstr!("{name}.reverse");
        let back = match &kind.back {
            Back::Alike => Some((rate, delay)),
            Back::Own(plan) => {
                Some((self.draw.rate(plan.rate, &back_name), self.draw.delay(plan.delay, &back_name)))
            }
            Back::None => None,
        };
        self.reverse.push(back.map(|(rate, delay)| Laid {
            name: back_name,
            from: to,
            to: from,
            rate,
            delay,
            stage,
            reversed: true,
            mate: None,
            mirror: None,
        }));
        self.layout.links.push(Laid {
            name,
            from,
            to,
            rate,
            delay,
            stage,
            reversed: false,
            mate: None,
            mirror: None,
        });
        self.mirrors.push(None);
        self.mirrors.len() - 1
    }

    /// Declares that two cables stand in the same place, for traffic either way; a later declaration replaces it.
    pub(crate) fn mirrored(&mut self, cable: usize, other: usize) {
        self.mirrors[cable] = Some(other);
        self.mirrors[other] = Some(cable);
    }

    /// The layout, with the ways back after all forward links.
    pub(crate) fn finish(self) -> Layout {
        let Layer { mut layout, reverse, mirrors, .. } = self;
        let mut next = layout.links.len() as LinkId;
        let mut number = |back: &Option<Laid>| {
            back.as_ref().map(|_| {
                next += 1;
                next - 1
            })
        };
        let back_of: Vec<Option<LinkId>> = reverse.iter().map(&mut number).collect();
        layout.links.reserve_exact(back_of.iter().flatten().count());
        for (cable, back) in reverse.into_iter().enumerate() {
            let other = mirrors[cable].unwrap_or(cable);
            layout.links[cable].mate = back_of[cable];
            layout.links[cable].mirror = back_of[other];
            if let Some(back) = back {
                let (mate, mirror) = (Some(cable as LinkId), Some(other as LinkId));
                layout.links.push(Laid { mate, mirror, ..back });
            }
        }
        layout.partner.resize(layout.hosts.len(), None);
        layout
    }
}
