//! Routers in a row: what tandem and parking lot share.

use super::names::{MOST_HOSTS, ROW, links_in_a_row};
use crate::compile::layout::{Back, Layer, NodeId};
use crate::compile::link_plan::{Defaults, LINK, LinkPlan};
use crate::input::keys::{Key, Kind, Way, key, needed};
use crate::input::{Field, Result, ScenarioError, Table};

/// More hops than this are a slip of the pen.
const MOST_HOPS: u64 = 1000;

/// Keys of `[network]` that say what the hops are.
pub(super) const HOPS: Key =
    key("hops", Kind::Whole(1, MOST_HOPS), "how many links there are between routers");
pub(super) const HOP: Key = key("link", LINK, "what all of them are");
pub(super) const EACH_HOP: Key = key("links", ROW, "each of them, in the place of hops and link");
/// Of hosts and their links.
pub(super) const ACCESS: Kind = Kind::Ways("hosts", || vec![Way::of(LinkPlan::keys(&HOST_KEYS))]);
const HOST_KEYS: [Key; 1] = [needed("hosts", Kind::Whole(0, MOST_HOSTS), "how many")];

/// Links from each router to the next.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chain {
    pub(super) hops: Vec<(String, LinkPlan)>,
}

impl Chain {
    /// Reads `hops` and `link`, or `links`.
    pub(super) fn read(network: &Table<'_>, defaults: &Defaults) -> Result<Self> {
        let hops = match (network.get("link"), network.get("links")) {
            (Some(field), None) => {
                let count = network.needs("hops", "3", |field| field.whole(1, MOST_HOPS));
                let plan = LinkPlan::read(&field, &[], defaults)?.1;
                let count = count?;
                (0..count).map(|k| (format!("hop.{k}"), plan.clone())).collect()
            }
            (None, Some(field)) => Chain::read_each(network, &field, defaults)?,
            (Some(_), Some(field)) => {
                return Err(field.wrong("link says what all hops are; write link or links, not both"));
            }
            (None, None) => {
                let problem = "missing; write for example link = { rate = \"10 Mbit/s\", delay = \"10 ms\" }";
                let slip = network.slip_of("link").or_else(|| network.slip_of("links"));
                return Err(slip.unwrap_or_else(|| ScenarioError::at(&network.path_of("link"), problem)));
            }
        };
        Ok(Chain { hops })
    }

    fn read_each(
        network: &Table<'_>,
        field: &Field<'_>,
        defaults: &Defaults,
    ) -> Result<Vec<(String, LinkPlan)>> {
        let hops = links_in_a_row(field, "hop", defaults)?;
        if hops.is_empty() || hops.len() as u64 > MOST_HOPS {
            return Err(field.wrong(format!("{} links; write 1 to {MOST_HOPS}", hops.len())));
        }
        if let Some(count) = network.get("hops")
            && count.whole(1, MOST_HOPS)? != hops.len() as u64
        {
            return Err(count.refused(format!("is not the number of links, {}; leave it out", hops.len())));
        }
        Ok(hops)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.hops.iter().map(|(name, _)| name.as_str())
    }

    /// Adds the routers to the drawing; returns their positions there.
    pub(super) fn draw_routers(&self, layer: &mut Layer) -> Vec<usize> {
        (0..=self.hops.len()).map(|k| layer.drawn(&format!("router.{k}"), false, 1)).collect()
    }

    /// Lays the hops from `first_router` on.
    pub(super) fn lay(&self, layer: &mut Layer, first_router: NodeId, drawn: &[usize]) {
        let first = layer.layout.links.len();
        layer.layout.routers = self.hops.len() as u32 + 1;
        for (k, (name, plan)) in self.hops.iter().enumerate() {
            let stage = layer.stage(name, drawn[k], drawn[k + 1], plan, Back::Alike);
            let from = first_router + k as NodeId;
            layer.cable(stage, name.clone(), from, from + 1);
        }
        let last = self.hops.len() - 1;
        (0..=last / 2).for_each(|k| layer.mirrored(first + k, first + last - k));
    }
}

/// Hosts that are alike, each on a cable of its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Access {
    pub(super) hosts: u32,
    pub(super) plan: LinkPlan,
}

impl Access {
    /// Reads `{ hosts, rate, delay, … }`.
    pub(super) fn read(field: &Field<'_>, least: u64, defaults: &Defaults) -> Result<Self> {
        let (table, plan) = LinkPlan::read(field, &HOST_KEYS, defaults)?;
        let hosts = table.needs("hosts", "10", |field| field.whole(least, MOST_HOSTS))? as u32;
        Ok(Access { hosts, plan })
    }
}
