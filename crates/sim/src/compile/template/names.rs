//! Names of links and hosts in a template, and the link that it is about.

use crate::compile::layout::Layout;
use crate::compile::link_plan::{Defaults, LinkPlan};
use crate::input::keys::{Key, Kind, Way, key};
use crate::input::{Field, Result, Table, suggestion};
use crate::network::LinkId;

/// Senders: a network of more is not laid out, and looked at, within five seconds.
pub(super) const MOST_HOSTS: u64 = 2_000_000;

/// A name that is not taken by the way back of another link.
pub(super) fn link_name(field: &Field<'_>) -> Result<String> {
    let name = field.name()?;
    if name.ends_with(".reverse") {
        return Err(field.refused("would be the way back of another link; write a name without .reverse"));
    }
    Ok(name)
}

/// Of links in a row, beside those of every link.
pub(super) const NAME: Key = key("name", Kind::Text, "of the link");
/// Links in a row.
pub(super) const ROW: Kind =
    Kind::List(&Kind::Ways("link-in-a-row", || vec![Way::of(LinkPlan::keys(&[NAME]))]));
/// The link that a network is about.
pub(super) const CORE: Key =
    key("core", Kind::Text, "the link that the network is about; the slowest unless given");

/// A list of links, named `prefix.0`, `prefix.1`, … unless they have names, which differ.
pub(super) fn links_in_a_row(
    field: &Field<'_>,
    prefix: &str,
    defaults: &Defaults,
) -> Result<Vec<(String, LinkPlan)>> {
    let mut links: Vec<(String, LinkPlan)> = Vec::new();
    let mut numbers = 0..;
    field.each(|field| {
        let number = numbers.next().unwrap_or(0);
        let (table, plan) = LinkPlan::read(field, &[NAME], defaults)?;
        let name = table.optional("name", link_name)?.unwrap_or_else(|| format!("{prefix}.{number}"));
        if links.iter().any(|(other, _)| *other == name) {
            return Err(field.wrong(format!("an earlier link is named \"{name}\"; give each its own name")));
        }
        links.push((name, plan));
        Ok(())
    })?;
    Ok(links)
}

/// The link that a network is about: named, or else the slowest.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CoreChoice(Option<String>);

impl CoreChoice {
    pub(super) fn read<'a>(
        network: &Table<'_>,
        names: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<Self> {
        let named = network.optional(CORE.name, |field| {
            let name = field.text()?;
            if names.clone().any(|other| other == name) {
                return Ok(name.to_owned());
            }
            let what = suggestion(name, names.clone(), || "write the name of a link".to_owned());
            Err(field.refused(format!("is no link here; {what}")))
        })?;
        Ok(CoreChoice(named))
    }

    pub(super) fn find(&self, layout: &Layout, otherwise: impl FnOnce(&Layout) -> LinkId) -> LinkId {
        let named = self.0.as_ref().and_then(|name| layout.links.iter().position(|link| link.name == *name));
        named.map_or_else(|| otherwise(layout), |i| i as LinkId)
    }
}
