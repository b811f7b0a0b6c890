//! Epochs as long as round trips.
//!
//! *Idea.* Where data and acknowledgements have links of their own, an epoch need not end when something reaches a receiver. It has two
//! legs: links of data are served up to its end, and receivers answer what these have brought; then links of acknowledgements are served,
//! further than the others by the least time in which data reach a receiver. What comes back to a sender ends the epoch.
//! *Where it breaks.* Applications, delayed acknowledgements, flows that are observed; and while data from before the run paused wait in
//! the calendar. Epochs are then one way long.
//! *What it buys.* Without it short round trips take 17 % more instructions, 100,000 flows 6 % more time (`benches/ablation.py --path
//! round-trip-epochs`).

use super::Epochs;
use crate::engine::plan::ordered_links::OrderedLink;
use crate::model::flow::Flow;
use paceline_core::Instant;

/// Which links are served one after another, before hosts handle what arrives from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leg {
    /// All of them, before all hosts.
    All,
    /// Those of data, before receivers.
    There,
    /// Those of acknowledgements, before senders.
    Back,
}

impl Leg {
    /// Whether such a link is one of them.
    pub(crate) fn has(self, ordered_link: &OrderedLink) -> bool {
        match self {
            Leg::All => true,
            Leg::There => !ordered_link.carries_acks,
            Leg::Back => ordered_link.carries_acks,
        }
    }
}

impl Epochs {
    /// The legs of an epoch, and how far hosts have run that feed the links of each.
    pub(crate) fn legs(&self, hosts_until: Instant) -> impl Iterator<Item = (Leg, Instant)> + use<> {
        let legs = match self.plan.way_there.filter(|_| self.are_round_trips) {
            Some(way) => [Some((Leg::There, hosts_until)), Some((Leg::Back, hosts_until + way))],
            None => [Some((Leg::All, hosts_until)), None],
        };
        legs.into_iter().flatten()
    }

    /// From now on epochs are as long as round trips, if they may be and none of the flows has data in the calendar. Whether
    /// they pay is found out before: a trace, under which none is a round trip, must not decide that.
    pub(crate) fn try_round_trips<'a>(&mut self, mut flows: impl Iterator<Item = &'a Flow>) {
        self.are_round_trips = self.are_round_trips
            || self.plan.way_there.is_some()
                && self.fallback.is_passed()
                && flows.all(|flow| flow.gates[0].lets_run_ahead());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use super::*;
    use crate::{Control, Engine, Method, Scenario};
    use paceline_core::Span;

    /// Flows between four of forty pairs of hosts, over round trips of at least 44 ms; and what else is asked for.
    fn after_a_second(tcp: &str, more: &str, test: impl FnOnce(&Engine<'_>)) {
        let text = format!(
            "duration = \"2 s\"\n[network]\ntemplate = \"dumbbell\"\n\
            core = {{ rate = \"10 Mbit/s\", delay = \"15 ms\", buffer = \"20 KB\" }}\n\
            edge = {{ count = 2, rate = \"10 Mbit/s\", delay = \"2 ms .. 3 ms\" }}\n\
            access = {{ per_edge = 20, rate = \"10 Mbit/s\", delay = \"2 ms\" }}\n\
            [[traffic]]\nkind = \"bulk\"\nfrom = \"left.*1\"\ntcp = {{ profile = \"ns2\" {tcp} }}\n{more}"
        );
        let network = Scenario::from_toml(&text).unwrap().network(1).unwrap();
        let mut engine = Engine::with_method(&network, Method::Windowed, None);
        engine.run_until(Instant::from_nanos(1_000_000_000), &Control::default()).unwrap();
        test(&engine);
    }

    #[test]
    fn one_way_traffic_turns() {
        after_a_second("", "", |engine| {
            let epochs = engine.epochs.as_ref().unwrap();
            assert!(epochs.are_round_trips && engine.census().received > 500);
            assert!(
                epochs.plan.way_there.unwrap() >= Span::from_millis(22)
                    && epochs.plan.epoch >= Span::from_millis(44)
            );
        });
    }

    #[test]
    fn no_epoch_where_acks_are_delayed_or_links_shared_or_observed() {
        for (tcp, more) in [
            (", delayed_ack = \"40 ms\"", ""),
            ("", "[[traffic]]\nkind = \"bulk\"\nfrom = \"right.*2\"\ntcp = { profile = \"rfc\" }"),
            ("", "[probes]\nwindow = [{ flows = [0], every = \"10 ms\" }]"),
        ] {
            after_a_second(tcp, more, |engine| {
                let epochs = engine.epochs.as_ref().unwrap();
                assert!(!epochs.are_round_trips && epochs.plan.way_there.is_none(), "{tcp}{more}");
            });
        }
    }
}
