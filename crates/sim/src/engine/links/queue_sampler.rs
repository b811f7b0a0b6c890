//! Queues that are sampled: how much waits at a link, at regular times.

use crate::instrument::{SeriesKind, SeriesRow};
use crate::model::link::BoundedLink;
use crate::network::{Network, ProbeKind};
use paceline_core::{Instant, Span};

/// A queue that is sampled.
#[derive(Debug)]
pub(crate) struct Sample {
    link: u32,
    every: Span,
    pub(super) next: Instant,
    to: Instant,
}

impl Sample {
    /// All that the network's probes ask for.
    pub(crate) fn all(network: &Network) -> Vec<Self> {
        let probes = network.probes.iter().filter_map(|probe| match probe.what {
            ProbeKind::Queue { every } => {
                Some(Sample { link: probe.link, every, next: probe.from, to: probe.to })
            }
            ProbeKind::Departures => None,
        });
        probes.collect()
    }

    /// The link.
    pub(crate) fn link(&self) -> u32 {
        self.link
    }

    /// When it is next due.
    pub(super) fn next(&self) -> Option<Instant> {
        (self.next < self.to).then_some(self.next)
    }

    /// Takes the one that is due.
    fn take(&mut self, link: &mut BoundedLink, series: &mut Vec<SeriesRow>) {
        let bytes = link.meter_at(self.next).map_or(0, |meter| meter.level(self.next));
        let (link, time_ns) = (self.link, self.next.as_nanos());
        series.push(SeriesRow { link, kind: SeriesKind::Queue, time_ns, flow: u32::MAX, bytes });
        self.next += self.every;
    }
}

/// Takes the samples of a link that fall before `time`, of all its probes in the order of time: a queue does not know what waited
/// before. Returns when the next one does.
pub(crate) fn look(
    samples: &mut [Sample],
    number: u32,
    link: &mut BoundedLink,
    time: Instant,
    series: &mut Vec<SeriesRow>,
) -> Instant {
    loop {
        let of_link = samples.iter_mut().filter(|sample| sample.link == number);
        let due = of_link.filter_map(|sample| Some((sample.next()?, sample)));
        match due.min_by_key(|(next, _)| *next) {
            Some((next, sample)) if next < time => sample.take(link, series),
            next => return next.map_or(Instant::MAX, |(next, _)| next),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use crate::{Control, Engine, Method, Scenario};

    /// The samples of a queue: when, and how many bytes.
    fn samples(probes: &str, method: Method) -> Vec<(u64, u64)> {
        let text = format!(
            "duration = \"30 ms\"\n[network]\ntemplate = \"path\"\n\
            links = [{{ rate = \"1 Mbit/s\", delay = \"1 ms\", buffer = \"3 packets\" }}]\n\
            [[traffic]]\nkind = \"cbr\"\npacket = \"1000 B\"\nrate = \"1 Mbit/s\"\nstop = \"1 ms\"\ncount = 3\n\
            [probes]\nqueue = [{probes}]"
        );
        let network = Scenario::from_toml(&text).unwrap().network(1).unwrap();
        let output = Engine::run_by(&network, method, 1, &Control::default(), None).unwrap();
        output.series.iter().map(|row| (row.time_ns / 1_000_000, row.bytes)).collect()
    }

    #[test]
    fn a_coarse_probe_beside_a_fine_one_changes_nothing() {
        for method in [Method::Reference, Method::Windowed] {
            let fine = [(0, 2000), (5, 2000), (10, 1000), (15, 1000), (20, 0), (25, 0)];
            assert_eq!(samples("{ every = \"5 ms\" }", method), fine);
            let both = samples("{ every = \"20 ms\" }, { every = \"5 ms\" }", method);
            let [zero, .., last] = fine;
            assert_eq!(both[..2], [zero, zero]);
            assert_eq!(both[2..], [fine[1], fine[2], fine[3], fine[4], fine[4], last]);
        }
    }
}
