//! In which order ordered links are served, and how far they are from hosts: the lookahead of conservative parallel simulation.
//!
//! *References.* R. Tarjan, "Depth-first search and linear graph algorithms" (SIAM J. Comput. 1972).

use paceline_core::Span;
use std::collections::{BTreeMap, BTreeSet};

/// From one link that runs in epochs (or a host) to the next, the least time between (Chandy and Misra's lookahead).
pub(crate) type Lookahead = BTreeMap<(u32, u32), Span>;

/// Any host, where a link is meant else.
pub(crate) const HOST: u32 = u32::MAX;

/// Whether somewhere packets come back, to a host or round a ring of links, with no time between.
pub(crate) fn takes_no_time(ways: &Lookahead) -> bool {
    let is_at_once = |(ends, way): &(&(u32, u32), &Span)| **way == Span::ZERO && **ends != (HOST, HOST);
    depth_first(&ways.iter().filter(is_at_once).map(|(ends, _)| *ends).collect()).is_err()
}

/// The links that the ways lead to, each after those that feed it; by number where none is before the other. While there
/// is a ring, its longest way is left out.
pub(crate) fn order(ways: &Lookahead) -> Vec<u32> {
    let mut edges: BTreeSet<(u32, u32)> = ways.keys().filter(|(_, to)| *to != HOST).copied().collect();
    let mut order = loop {
        match depth_first(&edges) {
            Ok(order) => break order,
            Err(ring) => {
                ring.iter().max_by_key(|edge| ways[edge]).is_some_and(|longest| edges.remove(longest))
            }
        };
    };
    let mut levels: BTreeMap<u32, u32> = BTreeMap::new();
    for from in &order {
        let level = *levels.entry(*from).or_default() + 1;
        for (_, to) in edges.range((*from, 0)..=(*from, HOST)) {
            levels.entry(*to).and_modify(|known| *known = level.max(*known)).or_insert(level);
        }
    }
    order.retain(|link| *link != HOST);
    order.sort_by_key(|link| (levels[link], *link));
    order
}

/// The places that edges join, in an order in which all edges lead onwards; or else a ring of them.
fn depth_first(edges: &BTreeSet<(u32, u32)>) -> Result<Vec<u32>, Vec<(u32, u32)>> {
    let mut followers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    edges.iter().for_each(|&(from, to)| followers.entry(from).or_default().push(to));
    let (mut left, mut met) = (Vec::new(), BTreeSet::new());
    for &(root, _) in edges {
        let mut path = if met.insert(root) { vec![root] } else { Vec::new() };
        while let Some(&place) = path.last() {
            match followers.get_mut(&place).and_then(Vec::pop) {
                Some(next) if met.insert(next) => path.push(next),
                Some(next) => {
                    if let Some(start) = path.iter().position(|before| *before == next) {
                        let ring = path[start..].iter().copied();
                        return Err(ring.clone().zip(ring.skip(1).chain([next])).collect());
                    }
                }
                None => left.extend(path.pop()),
            }
        }
    }
    left.reverse();
    Ok(left)
}

/// The least time from any host to each link.
pub(crate) fn offsets(ways: &Lookahead) -> BTreeMap<u32, Span> {
    let mut offsets = BTreeMap::from([(HOST, Span::ZERO)]);
    let mut has_news = true;
    while std::mem::take(&mut has_news) {
        for (&(from, to), &way) in ways.iter().filter(|((_, to), _)| *to != HOST) {
            let Some(&before) = offsets.get(&from) else { continue };
            let offset = offsets.entry(to).or_insert(Span::MAX);
            has_news |= before + way < *offset;
            *offset = (before + way).min(*offset);
        }
    }
    offsets
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use super::*;

    fn ways(of: &[(u32, u32, u64)]) -> Lookahead {
        of.iter().map(|&(from, to, ms)| ((from, to), Span::from_millis(ms))).collect()
    }

    #[test]
    fn without_a_ring_each_comes_after_all_that_feed_it() {
        let ways =
            ways(&[(HOST, 5, 1), (HOST, 2, 0), (5, 1, 3), (2, 1, 9), (1, 4, 2), (2, 4, 1), (4, HOST, 1)]);
        assert_eq!(order(&ways), [2, 5, 1, 4]);
        let after = offsets(&ways).into_values().map(|offset| offset.as_nanos() / 1_000_000);
        assert_eq!(after.collect::<Vec<_>>(), [4, 0, 1, 1, 0]); // of 1, 2, 4, 5 and hosts
    }

    #[test]
    fn a_ring_is_left_by_its_longest_way() {
        for longest in 0..4 {
            let (from, to) = (longest, (longest + 1) % 4);
            let mut ring =
                ways(&[(0, 1, 5), (1, 2, 5), (2, 3, 5), (3, 0, 5), (HOST, 2, 1), (7, 2, 1), (HOST, 7, 0)]);
            ring.extend([((1, 8), Span::ZERO), ((8, HOST), Span::ZERO), ((from, to), Span::from_millis(6))]);
            let order = order(&ring);
            let place = |link: u32| order.iter().position(|placed| *placed == link).unwrap();
            let back =
                ring.keys().filter(|(from, to)| *from != HOST && *to != HOST && place(*from) >= place(*to));
            assert_eq!(back.collect::<Vec<_>>(), [&(from, to)], "{order:?}");
        }
    }

    #[test]
    fn somewhere_time_must_pass_on_the_way_back_to_a_place() {
        let open = [(HOST, 0, 0), (HOST, 1, 0), (0, 1, 0), (HOST, HOST, 0)];
        assert!(!takes_no_time(&ways(&[&open[..], &[(1, 0, 1), (1, HOST, 1)]].concat())));
        assert!(takes_no_time(&ways(&[&open[..], &[(1, 0, 0), (1, HOST, 1)]].concat())));
        assert!(takes_no_time(&ways(&[&open[..], &[(1, 0, 1), (1, HOST, 0)]].concat())));
        assert!(takes_no_time(&ways(&[(HOST, 0, 1), (0, 0, 0), (0, HOST, 1)])));
    }
}
