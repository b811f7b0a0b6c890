//! One host to another over a row of links.
//!
//! ```text
//! left.0 ─ links[0] ─ router ─ links[1] ─ … ─ right.0
//! ```

use super::names::{CORE, CoreChoice, ROW, links_in_a_row};
use crate::compile::draw::Draw;
use crate::compile::layout::{Back, Layer, Layout};
use crate::compile::link_plan::{Defaults, LinkPlan, WAY_BACK};
use crate::input::keys::{Key, Kind, key, needed};
use crate::input::{Result, ScenarioError, Table};

/// Keys of `[network]` beside those of every template.
pub(super) const KEYS: [Key; 3] = [
    needed("links", ROW, "from one host to the other"),
    key(
        "reverse",
        Kind::List(&WAY_BACK),
        "the ways back, one for each link; as the links are, unlimited, unless given",
    ),
    CORE,
];

/// A path as a scenario describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    links: Vec<(String, LinkPlan)>,
    /// The ways back, in the order of `links`; empty where they are alike.
    reverse: Vec<LinkPlan>,
    core: CoreChoice,
}

impl Path {
    pub(super) fn read(network: &Table<'_>, _: &Table<'_>, defaults: &Defaults) -> Result<Self> {
        let field = network.required(
            "links",
            r#"[{ name = "slow", rate = "10 Mbit/s", delay = "10 ms", buffer = "20 packets" }]"#,
        )?;
        let links = links_in_a_row(&field, "link", defaults)?;
        if links.is_empty() {
            return Err(field.wrong("no links; write at least one"));
        }
        let mut reverse = Vec::new();
        if let Some(field) = network.get("reverse") {
            reverse = field.each(|field| LinkPlan::read_way_back(field, defaults))?;
            if reverse.len() != links.len() {
                let (is, wanted) = (reverse.len(), links.len());
                return Err(field.wrong(format!(
                    "{is} ways back for {wanted} links; write one for each link, in their order"
                )));
            }
        }
        if let (Some((_, plan)), false) =
            (links.iter().find(|(_, plan)| plan.reverse_buffer.is_some()), reverse.is_empty())
        {
            let path = format!("{}.reverse_buffer", plan.path);
            return Err(ScenarioError::at(
                &path,
                "the way back has a table of its own; write its buffer there",
            ));
        }
        let core = CoreChoice::read(network, links.iter().map(|(name, _)| name.as_str()))?;
        Ok(Path { links, reverse, core })
    }

    pub(super) fn hosts(&self) -> u64 {
        2
    }

    pub(super) fn layout(&self, draw: Draw) -> Layout {
        let mut layer = Layer::new(draw);
        let [left, right] = layer.sides(1, 1);
        let last = self.links.len() - 1;
        layer.layout.routers = last as u32;

        let (mut from, mut drawn_from) = (left.start, layer.drawn("left.0", true, 1));
        for (i, (name, plan)) in self.links.iter().enumerate() {
            let (to, drawn_to) = if i == last {
                (right.start, layer.drawn("right.0", true, 1))
            } else {
                (right.end + i as u32, layer.drawn(&format!("router.{i}"), false, 1))
            };
            let back = self.reverse.get(i).map_or(Back::Alike, |plan| Back::Own(Box::new(plan.clone())));
            let stage = layer.stage(name, drawn_from, drawn_to, plan, back);
            layer.cable(stage, name.clone(), from, to);
            (from, drawn_from) = (to, drawn_to);
        }
        for i in 0..=last / 2 {
            layer.mirrored(i, last - i);
        }
        let mut layout = layer.finish();
        layout.core = self.core.find(&layout, Layout::slowest);
        layout
    }
}
