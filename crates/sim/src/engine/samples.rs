//! Queues that are sampled: how much waits at a link, at regular times.

use super::Engine;
use crate::link::{Fitted, Link};
use crate::network::{Network, ProbeKind};
use crate::output::{SeriesKind, SeriesRow};
use paceline_core::{Instant, Span};

/// A queue that is sampled.
#[derive(Debug)]
pub(super) struct Sample {
    link: u32,
    every: Span,
    next: Instant,
    to: Instant,
}

impl Sample {
    /// All that the network's probes ask for.
    pub(super) fn all(network: &Network) -> Vec<Self> {
        let probes = network.probes.iter().filter_map(|probe| match probe.what {
            ProbeKind::Queue { every } => {
                Some(Sample { link: probe.link, every, next: probe.from, to: probe.to })
            }
            ProbeKind::Departures => None,
        });
        probes.collect()
    }

    /// The link.
    pub(super) fn link(&self) -> u32 {
        self.link
    }

    /// When it is next due.
    pub(super) fn next(&self) -> Option<Instant> {
        (self.next < self.to).then_some(self.next)
    }

    fn take_before(&mut self, time: Instant, link: Option<&mut Fitted>, series: &mut Vec<SeriesRow>) {
        let Some(link) = link else { return };
        while self.next < time && self.next < self.to {
            let bytes = link.meter_at(self.next).map_or(0, |meter| meter.level(self.next));
            let (link, time_ns) = (self.link, self.next.as_nanos());
            series.push(SeriesRow { link, kind: SeriesKind::Queue, time_ns, flow: u32::MAX, bytes });
            self.next += self.every;
        }
    }
}

/// Takes the samples of a link that fall before `time`. Returns when the next one does.
pub(super) fn look(
    samples: &mut [Sample],
    number: u32,
    link: &mut Fitted,
    time: Instant,
    series: &mut Vec<SeriesRow>,
) -> Instant {
    let mut next = Instant::MAX;
    for sample in samples.iter_mut().filter(|sample| sample.link == number) {
        sample.take_before(time, Some(link), series);
        next = next.min(sample.next().unwrap_or(Instant::MAX));
    }
    next
}

impl Engine<'_> {
    /// Samples of queues that fall before `time` (the state between events does not change).
    pub(super) fn sample_before(&mut self, time: Instant) {
        for sample in &mut self.samples {
            let link: &mut Link = &mut self.links[sample.link as usize];
            sample.take_before(time, link.fitted_mut(), &mut self.series);
        }
    }
}
