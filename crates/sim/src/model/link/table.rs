//! Links by their numbers, as far as they are here.
//!
//! *Idea.* In a large network nearly all are away: private links are stored with their flows. So links are stored in pages, and a page of
//! which none is here needs no memory.

use super::Link;
use std::array::from_fn;
use std::ops::{Index, IndexMut};

/// Links in a page.
const PAGE: usize = u32::BITS as usize;

/// Those of a network, or of a host partition of it.
#[derive(Debug, Default)]
pub(crate) struct LinkTable {
    pages: Vec<Page>,
    /// All that have numbers.
    all: usize,
}

#[derive(Debug, Default)]
struct Page {
    /// `None` where none of them is here; what stands for one that is away is used by nobody.
    links: Option<Box<[Link; PAGE]>>,
    /// A bit for each that is.
    here: u32,
}

impl LinkTable {
    /// So many, all of them away.
    pub(crate) fn away(all: usize) -> Self {
        let mut pages = Vec::new();
        pages.resize_with(all.div_ceil(PAGE), Page::default);
        LinkTable { pages, all }
    }

    /// These, by their numbers from zero on.
    pub(crate) fn of(links: impl ExactSizeIterator<Item = Link>) -> Self {
        let mut all = LinkTable::away(links.len());
        links.enumerate().for_each(|(number, link)| all.put_back(number, link));
        all
    }

    /// So many have numbers.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.all
    }

    /// `None` for a number that no link has, and where its whole page is away.
    #[inline(always)]
    pub(crate) fn get(&self, number: usize) -> Option<&Link> {
        let page = self.pages.get(number / PAGE)?;
        Some(&page.links.as_ref()?[number % PAGE])
    }

    /// The same.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut Link> {
        let page = self.pages.get_mut(number / PAGE)?;
        Some(&mut page.links.as_mut()?[number % PAGE])
    }

    /// One goes away; `None` where it is already.
    pub(crate) fn take(&mut self, number: usize) -> Option<Link> {
        let page = self.pages.get_mut(number / PAGE)?;
        let (links, bit) = (page.links.as_mut()?, 1 << (number % PAGE));
        if page.here & bit == 0 {
            return None;
        }
        let link = std::mem::replace(&mut links[number % PAGE], Link::stand_in());
        page.here &= !bit;
        if page.here == 0 {
            page.links = None;
        }
        Some(link)
    }

    /// One that was away is here.
    pub(crate) fn put_back(&mut self, number: usize, link: Link) {
        let Page { links, here } = &mut self.pages[number / PAGE];
        let links = links.get_or_insert_with(|| Box::new(from_fn(|_| Link::stand_in())));
        links[number % PAGE] = link;
        *here |= 1 << (number % PAGE);
    }

    /// One goes to others that have the same numbers.
    pub(crate) fn move_to(&mut self, number: usize, to: &mut LinkTable) {
        if let Some(link) = self.take(number) {
            to.put_back(number, link);
        }
    }

    /// Those that are here, and what stands for others.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Link> {
        self.pages.iter().filter_map(|page| page.links.as_deref()).flatten()
    }
}

/// A link that is here.
impl Index<usize> for LinkTable {
    type Output = Link;

    #[inline(always)]
    fn index(&self, number: usize) -> &Link {
        match self.get(number) {
            Some(link) => link,
            None => is_away(number),
        }
    }
}

impl IndexMut<usize> for LinkTable {
    #[inline(always)]
    fn index_mut(&mut self, number: usize) -> &mut Link {
        match self.get_mut(number) {
            Some(link) => link,
            None => is_away(number),
        }
    }
}

#[cold]
#[inline(never)]
fn is_away(number: usize) -> ! {
    unreachable!("link {number} is not here")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use super::super::{Carry, Compact};
    use super::*;
    use paceline_core::{Instant, Rate, Span};

    /// So many, and each takes a packet of 1 B as many microseconds as its number.
    fn numbered(all: usize) -> LinkTable {
        let rate = Rate::from_bits_per_second(8_000_000_000); // a byte takes a nanosecond
        LinkTable::of((0..all).map(|number| {
            Link::Compact(Compact::new(rate, Span::from_nanos(1_000 * number as u64)).unwrap())
        }))
    }

    fn number(link: &mut Link) -> u64 {
        link.carry(1, false, Instant::from_nanos(1_000_000)).as_nanos() / 1_000 - 1_000
    }

    /// The pages of the links that are here.
    fn pages(links: &LinkTable) -> Vec<usize> {
        (0..links.len().div_ceil(PAGE)).filter(|page| links.get(page * PAGE).is_some()).collect()
    }

    #[test]
    fn each_number_is_of_one_link() {
        let all = 3 * PAGE + 7;
        let mut links = numbered(all);
        let mut others = LinkTable::away(all);
        for one in 0..all {
            assert_eq!(number(links.get_mut(one).unwrap()), one as u64);
            assert_eq!(number(&mut links[one]), one as u64);
            let here: *const Link = links.get_mut(one).unwrap();
            assert!(std::ptr::eq(links.get(one).unwrap(), here) && std::ptr::eq(&raw const links[one], here));
        }
        assert!(links.get_mut(4 * PAGE).is_none());
        // In an order in which every page goes and comes bit by bit.
        for step in 0..all {
            let one = step * 13 % all;
            if step % 2 == 0 {
                links.move_to(one, &mut others);
            } else {
                let mut link = links.take(one).unwrap();
                assert_eq!(number(&mut link), one as u64);
                others.put_back(one, link);
            }
            assert!(links.take(one).is_none());
            links.move_to(one, &mut others); // it is away: nothing moves
            assert_eq!(number(others.get_mut(one).unwrap()), one as u64);
            let left = (0..4).filter(|page| (step + 1..all).any(|later| later * 13 % all / PAGE == *page));
            assert_eq!(pages(&links), left.collect::<Vec<_>>(), "{step}");
        }
        assert_eq!(pages(&others), [0, 1, 2, 3]);
    }

    #[test]
    #[should_panic(expected = "link 40 is not here")]
    fn a_link_that_is_away_is_named() {
        let mut links = numbered(PAGE);
        links[40] = Link::stand_in();
    }

    #[test]
    fn pages_go_with_the_last_link_and_come_back_with_the_first() {
        let all = 3 * PAGE + 1;
        let mut links = LinkTable::of((0..all).map(|_| Link::stand_in()));
        assert_eq!((links.len(), links.iter().count()), (all, 4 * PAGE));
        let taken: Vec<Link> = (PAGE..2 * PAGE).map(|number| links.take(number).unwrap()).collect();
        assert!(links.get(PAGE).is_none() && links.take(PAGE).is_none());
        let first = links.take(0).unwrap();
        assert!(links.get(1).is_some() && links.take(0).is_none());
        links.put_back(0, first);
        assert!(
            links.get(all - 1).is_some()
                && links.get(5 * PAGE).is_none()
                && links.get(u32::MAX as usize).is_none()
        );
        assert_eq!(links.iter().count(), 3 * PAGE);
        (PAGE..).zip(taken).for_each(|(number, link)| links.put_back(number, link));
        assert_eq!(links.iter().count(), 4 * PAGE);
    }
}
