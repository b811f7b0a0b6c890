//! Pacing at random: a method for hosts, one for links, both or none.

use super::listed::{listed, written};
use super::networks::Layout;
use paceline_core::pacer::{self, METHODS};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// One `[[pacing]]`.
#[derive(Debug, Clone)]
pub(crate) struct Pacing {
    /// The method and its parameters.
    lines: String,
    /// The links it acts on, if it is for links: one, and perhaps another.
    at: Option<(Index, Option<Index>)>,
    acks: bool,
    share: &'static str,
}

impl Pacing {
    /// It acts on hosts that send TCP.
    pub(crate) fn is_of_hosts(&self) -> bool {
        self.at.is_none()
    }

    /// The table.
    pub(crate) fn text(&self, layout: &Layout) -> String {
        let mut text = format!("[[pacing]]\n{}", self.lines);
        if let Some((first, second)) = &self.at {
            let mut at = vec![first.get(&layout.links)];
            at.extend(second.iter().map(|link| link.get(&layout.links)));
            at.dedup();
            text += &format!("at = {at:?}\n");
            if self.acks && layout.two_ways {
                text += "acks = true\n";
            }
        }
        text + self.share + "\n"
    }
}

/// For hosts, and for links.
pub(crate) fn pacing() -> impl Strategy<Value = [Option<Pacing>; 2]> {
    (prop::option::weighted(0.35, of_hosts()), prop::option::weighted(0.5, of_links()))
        .prop_map(|(hosts, links)| [hosts, links])
}

fn share() -> impl Strategy<Value = &'static str> {
    prop_oneof![3 => Just(""), 1 => Just("share = 0.5\n")]
}

fn of_hosts() -> impl Strategy<Value = Pacing> {
    let rule = select(vec!["wei", "linux", "ideal", "prague"]);
    let gain = select(vec!["", "gain = 1.25\n", "gain = 2.0\n"]);
    let lines = prop_oneof![
        (
            rule,
            gain.clone(),
            select(vec!["", "jitter = 0.3\n", "jitter = 1.0\n", "quantum = \"4 packets\"\n"])
        )
            .prop_map(|(rule, gain, more)| format!("method = \"host\"\nrule = \"{rule}\"\n{gain}{more}")),
        (any::<bool>(), gain, select(vec!["", "cap = \"2 Mbit/s\"\n", "cap = \"77777 kbit/s\"\n"])).prop_map(
            |(per_flow, gain, cap)| format!("method = \"port\"\nper_flow = {per_flow}\n{gain}{cap}")
        ),
    ];
    (lines, share()).prop_map(|(lines, share)| Pacing { lines, at: None, acks: false, share })
}

fn of_links() -> impl Strategy<Value = Pacing> {
    let pacers = METHODS.iter().filter(|row| row.name != "none").map(|row| (row.name, row.parameters));
    let lines = listed(pacers, pacer::parse).prop_map(|(name, given)| {
        let lines: Vec<String> = given.iter().map(|one| written(one) + "\n").collect();
        format!("method = \"{name}\"\n{}", lines.concat())
    });
    (lines, any::<Index>(), prop::option::of(any::<Index>()), any::<bool>(), share()).prop_map(
        |(lines, first, second, acks, share)| Pacing { lines, at: Some((first, second)), acks, share },
    )
}
