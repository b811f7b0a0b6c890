//! How packets come to their hosts after the last ordered link of their paths (`hosts/delivery.rs`).

use super::routes::{AT_ONCE, IS_LINK, ORDERED, PLACE, SUFFIX};
use crate::model::flow::PathSuffix;
use std::collections::BTreeSet;

/// A path suffix, and the link at its end: the flow's private one, or that of a host that flows share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ingress {
    pub(crate) suffix: PathSuffix,
    /// The ordered link downstream of which it lies, once that is known.
    downstream: u32,
    pub(crate) own: Option<u32>,
    pub(crate) into: Option<u32>,
}

impl Ingress {
    const NO_ORDERED_LINK: u32 = u32::MAX;
    const SLOW: Ingress =
        Ingress { suffix: PathSuffix::SLOW, downstream: Ingress::NO_ORDERED_LINK, own: None, into: None };
}

/// The ways of each flow's data and acknowledgements into hosts; and by ordered link, where a suffix begins downstream of it for every packet,
/// their shared links. Downstream of another ordered link a suffix has no shared link, since packets that go on to other places might pass
/// that; else, and downstream of an observed link, every packet goes hop by hop.
pub(crate) fn ingress_of(
    routes: &[u32],
    (stride, ack_hop): (usize, usize),
    ordered_links: usize,
    passes: &[u32],
    is_looked_at: &impl Fn(u32) -> bool,
    may_be_shared: impl Fn(usize, usize) -> bool,
) -> (Vec<[Ingress; 2]>, Vec<Option<BTreeSet<u32>>>) {
    let mut ends = vec![Some(BTreeSet::new()); ordered_links];
    let ways = routes.chunks(stride).enumerate().map(|(flow, route)| {
        [(0, &route[..ack_hop]), (1, &route[ack_hop..])].map(|(end, way)| {
            let links = way.iter().take_while(|entry| **entry != u32::MAX && **entry & IS_LINK != 0).count();
            let way = &way[..links];
            let last = way.iter().rposition(|entry| *entry & ORDERED != 0);
            let downstream = &way[last.map_or(0, |last| last + 1)..];
            let way_in = suffix_of(downstream, passes, is_looked_at, may_be_shared(flow, end));
            for (place, entry) in way.iter().enumerate().filter(|(_, entry)| **entry & ORDERED != 0) {
                let end = &mut ends[(entry & PLACE) as usize];
                match end {
                    Some(shared) if Some(place) == last && !way_in.suffix.is_slow() => {
                        shared.extend(way_in.suffix.shared());
                    }
                    _ => *end = None,
                }
            }
            Ingress { downstream: last.map_or(Ingress::NO_ORDERED_LINK, |last| way[last] & PLACE), ..way_in }
        })
    });
    let mut ways: Vec<[Ingress; 2]> = ways.collect();
    let is_fast = |way: &Ingress| {
        way.downstream != Ingress::NO_ORDERED_LINK
            && (way.suffix.shared().is_none() || ends[way.downstream as usize].is_some())
    };
    for way in ways.iter_mut().flatten().filter(|way| !is_fast(way)) {
        *way = Ingress::SLOW;
    }
    (ways, ends)
}

/// Marks in routes where suffixes begin.
pub(crate) fn mark_suffixes(routes: &mut [u32], (stride, ack_hop): (usize, usize), ways: &[[Ingress; 2]]) {
    for (route, ways) in routes.chunks_mut(stride).zip(ways) {
        let (there, back) = route.split_at_mut(ack_hop);
        for (route, _) in [there, back].into_iter().zip(ways).filter(|(_, way)| !way.suffix.is_slow()) {
            let is_ordered = |entry: &u32| *entry != u32::MAX && *entry & ORDERED != 0;
            if let Some(last) = route.iter().rposition(is_ordered) {
                route[last + 1] |= SUFFIX;
            }
        }
    }
}

/// Downstream of the last ordered entry of a way; whether the host at its end may be a shared one.
fn suffix_of(
    downstream: &[u32],
    passes: &[u32],
    is_looked_at: &impl Fn(u32) -> bool,
    may_be_shared: bool,
) -> Ingress {
    let is_own = |entry: u32| passes[(entry & PLACE) as usize] == 1;
    let (shared, own, into) = match *downstream {
        _ if downstream.iter().any(|entry| entry & AT_ONCE == 0 || is_looked_at(entry & PLACE)) => {
            return Ingress::SLOW;
        }
        [] => (PathSuffix::NO_LINK, None, None),
        [own] if is_own(own) => (PathSuffix::NO_LINK, Some(own & PLACE), None),
        [shared] => (shared & PLACE, None, None),
        [shared, own] if is_own(own) => (shared & PLACE, Some(own & PLACE), None),
        [shared, into] if may_be_shared => (shared & PLACE, None, Some(into & PLACE)),
        _ => return Ingress::SLOW,
    };
    Ingress { suffix: PathSuffix { shared }, downstream: Ingress::NO_ORDERED_LINK, own, into }
}
