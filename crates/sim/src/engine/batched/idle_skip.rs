//! Epochs in which nothing happens are skipped.
//!
//! *Idea.* Hosts go on to the end of the first epoch in which something happens, and links as far as they may then, within this run.
//! *What it buys.* No row of the bench shows it; a source that is silent most of the time at short round trips takes 50 times as long
//! without it (on-off, 20 ms in 5 s, `--engine windowed`; `benches/ablation.py --path idle-skip`).

use super::Epochs;
use crate::engine::Engine;
use crate::engine::links::Links;
use paceline_core::Instant;

impl Engine<'_> {
    /// Nothing has happened: on to the first epoch in which something will.
    pub(crate) fn skip_idle_time(&mut self) {
        let at_links = self.links.next_epoch(self.until, &self.hosts.mail);
        let next = self.hosts.next_at().into_iter().chain(at_links).fold(self.until, Instant::min);
        if let Some(epochs) = &mut self.epochs {
            epochs.skip_to(next, self.until, [&mut self.links].into_iter());
        }
    }
}

impl Epochs {
    /// Hosts are idle up to this time, and so are links, in a run up to `until`.
    pub(crate) fn skip_to<'l, 'a: 'l>(
        &mut self,
        hosts_until: Instant,
        until: Instant,
        links: impl Iterator<Item = &'l mut Links<'a>>,
    ) {
        if crate::ablation::FastPath::IdleSkip.is_on() && hosts_until > self.hosts_until {
            self.hosts_until = hosts_until;
            links.for_each(|links| links.skip_to(hosts_until, until));
        }
    }
}
