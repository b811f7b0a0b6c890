//! What reaches the links that are merged, with keys to sort it by.

use super::cut::{Cut, LONGEST};
use crate::engine::links::merge_buffer::{AtFeeds, AtLink, Feed, MergeBuffer};
use crate::kernel::packet::Event;
use crate::kernel::precedence::Precedence;
use crate::model::link::batch_service::{BatchService, OneSizeService};
use crate::network::LinkSpec;
use paceline_core::{Instant, Span};

/// What reaches a link in an epoch, by way of those that are served with it.
#[derive(Debug, Default)]
pub(crate) struct FanIn {
    pub(super) sorter: MergeBuffer,
    /// Of each link what reaches it; the last is of none, for what reaches the common link by itself.
    pub(super) feeds: Vec<Feed>,
    /// Lists, each with the number of its feed.
    pub(super) lists: Vec<(usize, Vec<Event>)>,
    /// These links at work, if nothing keeps any from it.
    pub(super) service: Vec<(Span, BatchService)>,
    /// The same, if packets at each are all alike.
    pub(super) alike: Vec<(Span, OneSizeService)>,
    /// Of each link: when the first packet comes at the earliest, and how many come.
    pub(super) comes: Vec<(Instant, u64)>,
    /// The same block by block, with keys for times, if there are several.
    blocks: Vec<Vec<Event>>,
    pub(super) cut: Cut,
    /// The common link's epoch ends then.
    until: Instant,
    /// What reaches the common link later.
    pub(super) late: Vec<Event>,
}

impl FanIn {
    /// Nothing but these others yet, of an epoch of the common link.
    pub(super) fn begin(&mut self, (from, until): (Instant, Instant), others: Vec<Event>) {
        self.cut = Cut { from, ..Cut::default() };
        (self.until, self.late) = (until, others);
        self.feeds.clear();
        self.service.clear();
        self.alike.clear();
        self.comes.clear();
    }

    /// The lists of this feed, which was added last.
    fn lists_of(&self, number: usize) -> &[(usize, Vec<Event>)] {
        let before = self.lists.iter().rposition(|(feed, _)| *feed != number);
        &self.lists[before.map_or(0, |before| before + 1)..]
    }

    /// A link, in its epoch, whose lists are here already: how many packets are in them, and how much later they come to the next.
    pub(super) fn add(
        &mut self,
        (link, spec): (u32, &LinkSpec),
        (from, end): (Instant, Instant),
    ) -> (usize, Span) {
        let lists = self.lists_of(self.feeds.len());
        let packets = lists.iter().map(|(_, list)| list.len()).sum();
        let first = lists.iter().find_map(|(_, list)| list.first());
        let on_the_wire = first.map_or(Span::ZERO, |event| spec.takes(event.bytes));
        let on_the_wire = on_the_wire.min(Span::from_nanos(1 << LONGEST));
        let ahead = spec.delay + on_the_wire;
        self.cut.from = self.cut.from.min(from + ahead);
        self.cut.slack = self.cut.slack.max(on_the_wire);
        self.feeds.push(Feed { link, ahead, end });
        self.comes.push((from, packets as u64));
        (packets, ahead)
    }

    /// All has been added: cuts it into blocks, if it is much.
    pub(super) fn cut(&mut self) {
        self.feeds.push(Feed { link: Feed::NO_LINK, ahead: Span::ZERO, end: self.until });
        self.lists.push((self.feeds.len() - 1, std::mem::take(&mut self.late)));
        let packets: usize = self.lists.iter().map(|(_, list)| list.len()).sum();
        let ends = self.feeds.iter().map(|feed| feed.end + feed.ahead);
        self.cut = self.cut.of(packets, ends.fold(self.cut.from, Instant::max));
        if self.cut.blocks == 1 {
            return;
        }
        if self.blocks.len() < self.cut.blocks {
            self.blocks.resize_with(self.cut.blocks, Vec::new);
        }
        let (cut, blocks) = (self.cut, &mut self.blocks);
        for (number, list) in &mut self.lists {
            let (number, feed) = (*number, self.feeds[*number]);
            list.retain(|event| {
                let is_due = event.at < feed.end;
                if is_due {
                    let next = event.at + feed.ahead;
                    let block = cut.piece_of(next);
                    let mut event = *event;
                    event.at = cut.key(block, next, number);
                    blocks[block].push(event);
                }
                !is_due
            });
        }
    }

    /// A packet that comes to this link, if all are alike; where none does, any.
    pub(super) fn alike_at<'a>(&'a self, number: usize) -> Option<&'a Event> {
        let lists = self.lists_of(number);
        let first = |lists: &'a [(usize, Vec<Event>)]| lists.iter().find_map(|(_, list)| list.first());
        let one = first(lists).or_else(|| first(&self.lists))?;
        Event::all_are_like(one, lists.iter().flat_map(|(_, list)| list)).then_some(one)
    }

    /// Each sorted packet passes its link, and all are sorted again. Returns whether they nearly were sorted. All are alike.
    #[inline(never)]
    pub(super) fn pass_all_alike(&mut self, from: u64, order: AtLink<'_>) -> bool {
        let FanIn { sorter, alike, .. } = self;
        sorter.pass(from, order, |number, _, next| {
            let (ahead, link) = alike.get_mut(number)?;
            Some(link.pass(next.earlier_by(*ahead)))
        })
    }

    /// All links are at work on packets that are alike at each.
    pub(super) fn all_run_alike(&self) -> bool {
        self.alike.len() + 1 == self.feeds.len()
    }

    /// All links are at work.
    pub(super) fn all_run(&self) -> bool {
        self.service.len() + 1 == self.feeds.len()
    }

    /// Sorts the packets of a block, which begins then. Returns from where their keys count, and up to when all is known that reaches
    /// the common link.
    pub(super) fn sort(&mut self, block: usize, from: Instant, precedence: Precedence<'_>) -> (u64, Instant) {
        let Cut { end, slack, blocks, .. } = self.cut;
        if blocks == 1 {
            self.sorter.gather(&self.feeds, &mut self.lists, (from, end), precedence);
            return (from.as_nanos(), self.until);
        }
        let end = self.cut.end_of(block);
        let (bounds, order) =
            ((Instant::ZERO, self.cut.key(block, end, 0)), AtFeeds { feeds: &self.feeds, precedence });
        self.sorter.sort(&[&self.blocks[block]], bounds, order);
        self.blocks[block].clear();
        let to = if block + 1 == blocks { self.until } else { (end - slack).min(self.until).max(from) };
        (self.cut.origin(block), to)
    }

    /// Keeps what reaches the common link after this time; what does before.
    pub(super) fn keep_later(&mut self, block: usize, to: Instant) -> &[Event] {
        let passed = self.sorter.due();
        let (due, later) = passed.split_at(passed.partition_point(|event| event.at < to));
        for event in later {
            if event.at >= self.until {
                self.late.push(*event);
            } else {
                let next = self.cut.piece_of(event.at).max(block + 1);
                let key = self.cut.key(next, event.at, self.feeds.len() - 1);
                let mut event = *event;
                event.at = key;
                self.blocks[next].push(event);
            }
        }
        due
    }
}
