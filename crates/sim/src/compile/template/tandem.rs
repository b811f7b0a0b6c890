//! A row of routers with sending hosts at one end and receiving hosts at the other.
//!
//! ```text
//! left.i ─ access.l.i ─ router.0 ─ hop.0 ─ router.1 ─ hop.1 ─ … ─ router.n ─ access.r.i ─ right.i
//! ```

use super::chain::{ACCESS, Access, Chain, EACH_HOP, HOP, HOPS};
use super::names::{CORE, CoreChoice};
use crate::compile::draw::Draw;
use crate::compile::layout::{Back, Layer, Layout};
use crate::compile::link_plan::Defaults;
use crate::input::keys::{Key, needed};
use crate::input::{Result, Table};

/// Keys of `[network]` beside those of every template.
pub(super) const KEYS: [Key; 5] =
    [HOPS, HOP, EACH_HOP, CORE, needed("access", ACCESS, "hosts at either end and their links")];

/// A tandem as a scenario describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tandem {
    chain: Chain,
    access: Access,
    core: CoreChoice,
}

impl Tandem {
    pub(super) fn read(network: &Table<'_>, _: &Table<'_>, defaults: &Defaults) -> Result<Self> {
        let example = r#"{ hosts = 10, rate = "100 Mbit/s", delay = "1 ms" }"#;
        let access = network.needs("access", example, |field| Access::read(field, 1, defaults));
        let chain = Chain::read(network, defaults)?;
        let core = CoreChoice::read(network, chain.names())?;
        Ok(Tandem { access: access?, chain, core })
    }

    pub(super) fn hosts(&self) -> u64 {
        2 * u64::from(self.access.hosts)
    }

    pub(super) fn layout(&self, draw: Draw) -> Layout {
        let count = self.access.hosts;
        let mut layer = Layer::new(draw);
        let [left, right] = layer.sides(count, count);

        let first_router = right.end;
        let last_router = first_router + self.chain.hops.len() as u32;
        let drawn_left = layer.drawn("left", true, count);
        let routers = self.chain.draw_routers(&mut layer);
        let drawn_right = layer.drawn("right", true, count);

        let stage = layer.stage("access.l", drawn_left, routers[0], &self.access.plan, Back::Alike);
        for i in 0..count {
            layer.cable(stage, format!("access.l.{i}"), left.start + i, first_router);
        }
        self.chain.lay(&mut layer, first_router, &routers);
        let stage =
            layer.stage("access.r", routers[routers.len() - 1], drawn_right, &self.access.plan, Back::Alike);
        for i in 0..count {
            let cable = layer.cable(stage, format!("access.r.{i}"), last_router, right.start + i);
            layer.mirrored(i as usize, cable);
        }
        let mut layout = layer.finish();
        layout.core = self.core.find(&layout, Layout::slowest_inner);
        layout
    }
}
