//! A backlog: what reaches an ordered link many epochs from now is kept aside, in the order of time.
//!
//! *Idea.* A host may have sent its own link more than that can carry in a long time. All of it has passed that link, and would be searched
//! in every epoch for what is due. So now and then what is far from due is put into the backlog, and comes back when it is near.
//! *What it buys.* No row of the bench shows it; a backlog of two seconds takes 50 times as many instructions without it, as its time grows
//! with the square (`benches/ablation.py --path backlog --row backlog`).

use crate::kernel::packet::Event;
use paceline_core::{Instant, Span};
use std::collections::BTreeMap;

/// Fewer packets are searched in each epoch. In tests a few are many.
const FEW: usize = if cfg!(debug_assertions) { 4 } else { 1 << 10 };
/// So many epochs lie between two searches for what is far; what is far is further than that.
const EPOCHS: u32 = if cfg!(debug_assertions) { 1 } else { 4 };

/// What waits for an ordered link, and is far from due.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// By when it comes; what comes at once, in the order in which it was put here.
    far: BTreeMap<(Instant, u64), Event>,
    put: u64,
    /// Epochs since the last look.
    epochs: u32,
}

impl Backlog {
    /// When the first is due.
    pub(crate) fn first(&self) -> Option<Instant> {
        self.far.keys().next().map(|(at, _)| *at)
    }

    pub(crate) fn events(&self) -> impl Iterator<Item = &Event> {
        self.far.values()
    }

    /// An epoch ends then, of about such a length, for which all this waits.
    pub(super) fn keep(&mut self, waiting: &mut Vec<Event>, (end, length): (Instant, Span)) {
        self.put_back(waiting, end);
        self.epochs += 1;
        if !crate::ablation::FastPath::Backlog.is_on() || self.epochs < EPOCHS || waiting.len() <= FEW {
            return;
        }
        self.epochs = 0;
        let far = (0..EPOCHS).fold(end, |far, _| far + length);
        for event in waiting.extract_if(.., |event| event.at >= far) {
            self.far.insert((event.at, self.put), event);
            self.put += 1;
        }
    }

    /// What comes before this time waits again; all is put in the order of time then, so that a flow's packets keep theirs, what has
    /// come at once too.
    fn put_back(&mut self, waiting: &mut Vec<Event>, end: Instant) {
        if self.first().is_none_or(|first| first >= end) {
            return;
        }
        let mut all = Vec::new();
        while let Some(event) = self.far.first_entry().filter(|entry| entry.key().0 < end) {
            all.push(event.remove());
        }
        all.append(waiting);
        all.sort_by_key(|event| event.at);
        *waiting = all;
    }

    /// All that is far waits with the rest again.
    pub(super) fn clear(&mut self, waiting: &mut Vec<Event>) {
        self.put_back(waiting, Instant::MAX);
        waiting.extend(std::mem::take(&mut self.far).into_values()); // what never comes
    }
}
