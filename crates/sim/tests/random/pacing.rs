//! Pacing at random: a method for hosts, one for links, both or none.

use super::networks::Layout;
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
    let rule = select(vec!["wei", "linux", "ideal"]);
    let gain = select(vec!["", "gain = 1.25\n", "gain = 2.0\n"]);
    let lines = prop_oneof![
        (rule, gain.clone(), select(vec!["", "jitter = 0.3\n", "jitter = 1.0\n"]))
            .prop_map(|(rule, gain, jitter)| format!("method = \"host\"\nrule = \"{rule}\"\n{gain}{jitter}")),
        (any::<bool>(), gain)
            .prop_map(|(per_flow, gain)| format!("method = \"port\"\nper_flow = {per_flow}\n{gain}")),
    ];
    (lines, share()).prop_map(|(lines, share)| Pacing { lines, at: None, acks: false, share })
}

fn of_links() -> impl Strategy<Value = Pacing> {
    let lines = prop_oneof![
        2 => (0..30_u32, any::<bool>()).prop_map(|(delay, finish)| {
            let release = if finish { "release = \"finish\"\n" } else { "" };
            format!("method = \"edge\"\ndelay = \"{delay} ms\"\n{release}")
        }),
        1 => (1..30_u32).prop_map(|q| {
            format!("method = \"qlbp\"\nmu_min = \"100 kbit/s\"\nmu_max = \"900 kbit/s\"\nq_max = \"{q} packets\"\n")
        }),
        1 => (1..30_u32).prop_map(|delay| format!("method = \"qlbp\"\nload = 0.5\nmax_delay = \"{delay} ms\"\n")),
        1 => (1..40_u32).prop_map(|rate| format!("method = \"token-bucket\"\nrate = \"{rate}00 kbit/s\"\nburst = \"3 KB\"\n")),
    ];
    (lines, any::<Index>(), prop::option::of(any::<Index>()), any::<bool>(), share()).prop_map(
        |(lines, first, second, acks, share)| Pacing { lines, at: Some((first, second)), acks, share },
    )
}
