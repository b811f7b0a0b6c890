//! Windows in which nothing happens are left out.
//!
//! *Idea.* Hosts go on to where the first window ends in which something will, and links as far as they may then: no further than
//! this run, for what waits for later is still to be served.
//! *What it buys.* Without it no row of the bench takes more, but a source that is silent most of the time at short round trips some
//! 50 times as long (on-off, 20 ms in 5 s, `--engine windowed`).

use super::Engine;
use super::shelf::Shelf;
use super::stage::Stage;
use super::windows::Windows;
use crate::kernel::packet::Event;
use crate::model::link::Link;
use paceline_core::Instant;

impl Engine<'_> {
    /// Nothing has happened: on to the first window in which something will.
    pub(super) fn skip_idle_time(&mut self) {
        let next = self.next_at().into_iter().chain(self.next_window()).fold(self.until, Instant::min);
        if let Some(windows) = &mut self.windows {
            windows.skip_to(next, self.until);
        }
    }

    /// Where the hosts stand when something next happens at a link, in this run.
    pub(super) fn next_window(&self) -> Option<Instant> {
        let stages = self.windows.as_ref()?.stages.iter().zip(&self.staged);
        let far = self.shelves.iter().map(Shelf::first).chain(std::iter::repeat(None));
        let links = &self.links;
        stages
            .zip(far)
            .filter_map(|((stage, arrivals), far)| {
                stage.next_window((arrivals, far), &links[stage.link as usize], self.until)
            })
            .min()
    }
}

impl Windows {
    /// Hosts are idle up to this time, and so are links, in a run up to `until`.
    pub(super) fn skip_to(&mut self, hosts_until: Instant, until: Instant) {
        if crate::ablation::FastPath::Idle.is_on() && hosts_until > self.hosts_until {
            self.hosts_until = hosts_until;
            for stage in &mut self.stages {
                stage.advance((hosts_until, until));
            }
        }
    }
}

impl Stage {
    /// Where the hosts stand when something next happens here, if that is before `until`.
    fn next_window(
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
