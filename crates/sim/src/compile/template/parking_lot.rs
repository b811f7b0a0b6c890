//! A row of routers with hosts that send all the way, and at each hop hosts that cross it alone.
//!
//! ```text
//! through.l.i ─ router.0 ─── hop.0 ─── router.1 ─── hop.1 ─── router.2 ─ through.r.i
//!             cross.0.l.i ─┘         ├─ cross.0.r.i         └─ cross.1.r.i
//!                                    └─ cross.1.l.i
//! ```
//!
//! The cable of a host is `access.` and the host's name.

use super::chain::{ACCESS, Access, Chain, EACH_HOP, HOP, HOPS};
use super::names::{CORE, CoreChoice, MOST_HOSTS};
use crate::compile::draw::Draw;
use crate::compile::layout::{Back, Layer, Layout};
use crate::compile::link_plan::Defaults;
use crate::input::keys::{Key, Kind, needed};
use crate::input::{Result, Table};

/// Keys of `[network]` beside those of every template.
pub(super) const KEYS: [Key; 6] = [
    HOPS,
    HOP,
    EACH_HOP,
    CORE,
    needed("access", ACCESS, "hosts whose flows pass all hops, and their links"),
    needed("cross", Kind::OneOrMany(&ACCESS), "hosts whose flows pass one hop: the same at each, or a list"),
];

/// A parking lot as a scenario describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParkingLot {
    chain: Chain,
    through: Access,
    /// For each hop.
    cross: Vec<Access>,
    core: CoreChoice,
}

/// Hosts in pairs, and the routers that they hang on.
struct Side<'a> {
    name: String,
    access: &'a Access,
    enters: u32,
    leaves: u32,
}

impl ParkingLot {
    pub(super) fn read(network: &Table<'_>, _: &Table<'_>, defaults: &Defaults) -> Result<Self> {
        let example = r#"{ hosts = 10, rate = "100 Mbit/s", delay = "1 ms" }"#;
        let through = network.needs("access", example, |field| Access::read(field, 1, defaults));
        let cross = network.needs("cross", example, |field| {
            field.all_of(&field.one_or_many(), |group| Access::read(group, 0, defaults))
        });
        let chain = Chain::read(network, defaults)?;
        let (through, cross) = (through?, cross?);
        let field = network.required("cross", example)?;
        if field.value().is_array() && cross.len() != chain.hops.len() {
            let (is, wanted) = (cross.len(), chain.hops.len());
            return Err(field.wrong(format!(
                "{is} groups for {wanted} hops; write one for each hop, or one table for all"
            )));
        }
        let cross: Vec<Access> = cross.into_iter().cycle().take(chain.hops.len()).collect();
        let core = CoreChoice::read(network, chain.names())?;
        let lot = ParkingLot { chain, through, cross, core };
        if lot.hosts() > 2 * MOST_HOSTS {
            return Err(
                field.wrong(format!("makes {} hosts; write {MOST_HOSTS} senders at most", lot.hosts()))
            );
        }
        Ok(lot)
    }

    pub(super) fn hosts(&self) -> u64 {
        let cross: u64 = self.cross.iter().map(|access| u64::from(access.hosts)).sum();
        2 * (u64::from(self.through.hosts) + cross)
    }

    pub(super) fn layout(&self, draw: Draw) -> Layout {
        let hops = self.chain.hops.len() as u32;
        let through = Side { name: "through".to_owned(), access: &self.through, enters: 0, leaves: hops };
        let cross = self.cross.iter().zip(0..).map(|(access, k)| Side {
            name: format!("cross.{k}"),
            access,
            enters: k,
            leaves: k + 1,
        });
        let pairs: Vec<Side<'_>> = std::iter::once(through).chain(cross).collect();

        let mut layer = Layer::new(draw);
        for side in ["l", "r"] {
            let first = layer.layout.hosts.len() as u32;
            for Side { name, access, .. } in &pairs {
                let hosts = layer.hosts((0..access.hosts).map(|i| format!("{name}.{side}.{i}")));
                if side == "l" {
                    layer.layout.groups.push((name.clone(), hosts.clone()));
                }
                layer.layout.groups.push((format!("{name}.{side}"), hosts));
            }
            let all = first..layer.layout.hosts.len() as u32;
            layer.layout.groups.push((if side == "l" { "left" } else { "right" }.to_owned(), all));
        }
        let senders = layer.layout.hosts.len() as u32 / 2;
        layer.layout.groups.push(("cross".to_owned(), self.through.hosts..senders));
        layer.layout.senders = 0..senders;
        layer.layout.partner = (senders..2 * senders).chain(0..senders).map(Some).collect();

        let routers = self.chain.draw_routers(&mut layer);
        let mut host = 0;
        for Side { name, access, enters, .. } in &pairs {
            let drawn = layer.drawn(&format!("{name}.l"), true, access.hosts);
            let near = routers[*enters as usize];
            let stage = layer.stage(&format!("access.{name}.l"), drawn, near, &access.plan, Back::Alike);
            for i in 0..access.hosts {
                layer.cable(stage, format!("access.{name}.l.{i}"), host, 2 * senders + enters);
                host += 1;
            }
        }
        self.chain.lay(&mut layer, 2 * senders, &routers);
        for Side { name, access, leaves, .. } in &pairs {
            let drawn = layer.drawn(&format!("{name}.r"), true, access.hosts);
            let near = routers[*leaves as usize];
            let stage = layer.stage(&format!("access.{name}.r"), near, drawn, &access.plan, Back::Alike);
            for i in 0..access.hosts {
                let cable = layer.cable(stage, format!("access.{name}.r.{i}"), 2 * senders + leaves, host);
                layer.mirrored((host - senders) as usize, cable);
                host += 1;
            }
        }
        let mut layout = layer.finish();
        layout.core = self.core.find(&layout, Layout::slowest_inner);
        layout
    }
}
