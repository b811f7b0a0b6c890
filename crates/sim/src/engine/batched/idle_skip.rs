//! Epochs in which nothing happens are left out.
//!
//! *Idea.* Hosts go on to where the first epoch ends in which something will, and links as far as they may then: no further than
//! this run, for what waits for later is still to be served.
//! *What it buys.* Without it no row of the bench takes more, but a source that is silent most of the time at short round trips some
//! 50 times as long (on-off, 20 ms in 5 s, `--engine windowed`).

use crate::engine::Engine;
use crate::engine::batched::backlog::Backlog;
use crate::engine::batched::epoch::Epochs;
use crate::engine::plan::ordered_links::OrderedLink;
use crate::kernel::packet::Event;
use crate::model::link::Link;
use paceline_core::Instant;

impl Engine<'_> {
    /// Nothing has happened: on to the first epoch in which something will.
    pub(crate) fn skip_idle_time(&mut self) {
        let next = self.next_at().into_iter().chain(self.next_epoch()).fold(self.until, Instant::min);
        if let Some(epochs) = &mut self.epochs {
            epochs.skip_to(next, self.until);
        }
    }

    /// Where the hosts stand when something next happens at a link, in this run.
    pub(crate) fn next_epoch(&self) -> Option<Instant> {
        let stages = self.epochs.as_ref()?.stages.iter().zip(&self.staged);
        let far = self.backlogs.iter().map(Backlog::first).chain(std::iter::repeat(None));
        let links = &self.links;
        stages
            .zip(far)
            .filter_map(|((stage, arrivals), far)| {
                stage.next_epoch((arrivals, far), &links[stage.link as usize], self.until)
            })
            .min()
    }
}

impl Epochs {
    /// Hosts are idle up to this time, and so are links, in a run up to `until`.
    pub(crate) fn skip_to(&mut self, hosts_until: Instant, until: Instant) {
        if crate::ablation::FastPath::IdleSkip.is_on() && hosts_until > self.hosts_until {
            self.hosts_until = hosts_until;
            for stage in &mut self.stages {
                stage.advance((hosts_until, until));
            }
        }
    }
}

impl OrderedLink {
    /// Where the hosts stand when something next happens here, if that is before `until`.
    fn next_epoch(
        &self,
        (arrivals, far): (&[Event], Option<Instant>),
        link: &Link,
        until: Instant,
    ) -> Option<Instant> {
        let wakeup = link.fitted().and_then(|link| link.wakeup_at);
        let times = arrivals.iter().map(|event| event.at).chain(wakeup).chain(far);
        let first = times.min().filter(|at| *at < until)?;
        Some(Instant::from_nanos(first.as_nanos().saturating_sub(self.offset.as_nanos())))
    }
}
