//! Which routes lead out of an interface, in any of the kernel's tables (policy routing has its own), alone or as one of several
//! next hops.
//!
//! *References.* rtnetlink(7), `RTM_GETROUTE`; linux/rtnetlink.h.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::netlink::{attributes, routes};

/// struct rtmsg: family, length of the destination, …, type, flags
const BODY: usize = 12;
const DESTINATION_BITS: usize = 1;
const TYPE: usize = 7;
const UNICAST: u8 = 1;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_MULTIPATH: u16 = 9;

/// A route's destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route {
    to: IpAddr,
    bits: u8,
}

impl std::fmt::Display for Route {
    /// As `the default route`, or `the route to 128.0.0.0/1`.
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.bits {
            0 => to.write_str("the default route"),
            bits => write!(to, "the route to {}/{bits}", self.to),
        }
    }
}

/// The widest route by which this machine's packets leave by the interface of that number, other than to neighbours by link-local
/// addresses and to groups, which the kernel makes by itself.
pub(super) fn widest_over(interface: u32) -> io::Result<Option<Route>> {
    let all = routes()?;
    let over = all.iter().filter_map(|route| over(route, interface));
    let own = over.filter(|route| !route.to.is_multicast() && !super::use_of::is_link_local(&route.to));
    Ok(own.min_by_key(|route| (route.bits, route.to)))
}

/// The destination of a message's route, if that interface is its way out.
fn over(message: &[u8], interface: u32) -> Option<Route> {
    let (body, rest) = message.split_first_chunk::<BODY>()?;
    let value = |kind| attributes(rest).find(|(of, _)| *of == kind).map(|(_, value)| value);
    let is_out = value(RTA_OIF) == Some(&interface.to_ne_bytes())
        || value(RTA_MULTIPATH).is_some_and(|hops| next_hops(hops).any(|hop| hop == interface));
    if body[TYPE] != UNICAST || !is_out {
        return None;
    }
    let to = value(RTA_DST).unwrap_or_default();
    let to = match i32::from(body[0]) {
        libc::AF_INET => Ipv4Addr::from(to.try_into().unwrap_or([0; 4])).into(),
        libc::AF_INET6 => Ipv6Addr::from(to.try_into().unwrap_or([0; 16])).into(),
        _ => return None,
    };
    Some(Route { to, bits: body[DESTINATION_BITS] })
}

/// The interfaces of several next hops. struct rtnexthop: length, flags, weight, interface; attributes
fn next_hops(mut bytes: &[u8]) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let [a, b, _, _, c, d, e, f, ..] = *bytes else { return None };
        let length = usize::from(u16::from_ne_bytes([a, b])).next_multiple_of(4);
        bytes = bytes.get(length.max(8)..).unwrap_or_default();
        Some(u32::from_ne_bytes([c, d, e, f]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = [(4 + value.len() as u16).to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn route(family: i32, bits: u8, kind: u8, attributes: &[Vec<u8>]) -> Vec<u8> {
        let body = [family as u8, bits, 0, 0, 254, 3, 0, kind, 0, 0, 0, 0];
        [&body[..], &attributes.concat()].concat()
    }

    #[test]
    fn a_route_leads_out_of_its_interface_and_of_each_of_its_next_hops() {
        let out = |interface: u32| attribute(RTA_OIF, &interface.to_ne_bytes());
        let hop = |interface: u32| [&[8, 0, 0, 0][..], &interface.to_ne_bytes()].concat();
        let half = route(libc::AF_INET, 1, UNICAST, &[attribute(RTA_DST, &[128, 0, 0, 0]), out(3)]);
        assert_eq!(
            over(&half, 3).map(|found| found.to_string()).as_deref(),
            Some("the route to 128.0.0.0/1")
        );
        assert_eq!(over(&half, 2), None);
        let several = attribute(RTA_MULTIPATH, &[hop(5), hop(6)].concat());
        let all = route(libc::AF_INET6, 0, UNICAST, &[several]);
        for (interface, expected) in [(5, true), (6, true), (7, false)] {
            let found = over(&all, interface).map(|found| found.to_string());
            assert_eq!(found.as_deref(), expected.then_some("the default route"), "{interface}");
        }
        let refused = route(libc::AF_INET, 0, 7, &[out(3)]);
        assert_eq!(over(&refused, 3), None);
    }

    proptest! {
        #[test]
        fn whatever_a_message_holds_is_read(bytes in prop::collection::vec(any::<u8>(), 0..80), interface in 0u32..4) {
            let _ = over(&bytes, interface);
        }
    }
}
