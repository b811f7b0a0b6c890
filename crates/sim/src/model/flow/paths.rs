//! The two ends of a flow's paths: links beside its hosts, and those after the last ordered link.

use crate::model::link::{Carry, Link, LinkTable};
use paceline_core::Instant;

/// The link beside a host, by which packets leave one end of a flow or come to it.
#[derive(Debug, Default)]
pub(crate) enum AccessLink {
    /// None, or one of a path that is taken hop by hop.
    #[default]
    None,
    /// One that other flows pass too, by its number.
    Shared(u32),
    /// The flow's own.
    Private(Link),
}

impl AccessLink {
    /// The link, if it is on a fast path.
    #[inline(always)]
    pub(crate) fn link<'a>(&'a mut self, shared: &'a mut LinkTable) -> Option<&'a mut Link> {
        match self {
            AccessLink::Private(link) => Some(link),
            AccessLink::Shared(link) => shared.get_mut(*link as usize),
            AccessLink::None => None,
        }
    }

    pub(crate) fn is_private(&self) -> bool {
        matches!(self, AccessLink::Private(_))
    }

    pub(crate) fn is_fast(&self) -> bool {
        !matches!(self, AccessLink::None)
    }
}

/// The links beside one host of a flow.
#[derive(Debug, Default)]
pub(crate) struct AccessLinks {
    /// The last before the host.
    pub(crate) into: AccessLink,
    /// The first after it.
    pub(crate) out: AccessLink,
}

impl AccessLinks {
    /// When a packet is at the host that has come to the last link.
    #[inline(always)]
    pub(crate) fn pass_into(
        &mut self,
        shared: &mut LinkTable,
        (bytes, is_ack): (u16, bool),
        at: Instant,
    ) -> Instant {
        match &mut self.into {
            AccessLink::Private(Link::Compact(link)) => link.carry(bytes, is_ack, at),
            _ => self.pass_into_any(shared, (bytes, is_ack), at),
        }
    }

    #[inline(never)]
    fn pass_into_any(
        &mut self,
        shared: &mut LinkTable,
        (bytes, is_ack): (u16, bool),
        at: Instant,
    ) -> Instant {
        self.into.link(shared).map_or(at, |link| link.carry(bytes, is_ack, at))
    }
}

/// The links after the last ordered one: of several flows, this one or [`PathSuffix::NO_LINK`]; then perhaps a private one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathSuffix {
    /// Passed in the order in which the ordered link lets packets go. While a packet waits for ordered links, this is its event's place.
    pub(crate) shared: u32,
}

impl PathSuffix {
    /// Any other path: it is taken hop by hop.
    pub(crate) const SLOW: PathSuffix = PathSuffix { shared: u32::MAX - 1 };
    /// In the place of a link: the host, or a link of the flow's own, is next.
    pub(crate) const NO_LINK: u32 = u32::MAX;

    pub(crate) fn is_slow(self) -> bool {
        self.shared == PathSuffix::SLOW.shared
    }

    /// The link of several flows, if there is one.
    pub(crate) fn shared(self) -> Option<u32> {
        (self.shared != PathSuffix::NO_LINK).then_some(self.shared)
    }
}
