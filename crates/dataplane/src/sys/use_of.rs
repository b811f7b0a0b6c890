//! Whether the machine itself talks over an interface: what a pacer takes over, nobody else can use.

#![allow(unsafe_code, reason = "system calls")]

use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::interface;
use super::routes::widest_over;

/// Interfaces on interfaces, at most: a kernel refuses more than eight (`MAX_NEST_DEV`).
const LAYERS: usize = 8;

/// What the machine uses the interface of this name for, in words; `None` where it is bare.
pub fn use_of(interface: &str) -> Option<String> {
    own_use(interface).or_else(|| {
        above(interface).iter().find_map(|upper| Some(format!("is below {upper}, which {}", own_use(upper)?)))
    })
}

/// What stands on an interface, at any height: a bridge or a bond that it belongs to, a VLAN, a macvlan.
fn above(interface: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut layer = vec![interface.to_owned()];
    for _ in 0..LAYERS {
        layer = layer
            .iter()
            .flat_map(|lower| directly_above(lower))
            .filter(|name| !found.contains(name))
            .collect();
        found.extend_from_slice(&layer);
    }
    found
}

/// The kernel links each of them as `upper_` and its name.
fn directly_above(interface: &str) -> Vec<String> {
    let entries = std::fs::read_dir(format!("/sys/class/net/{interface}"));
    let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut uppers: Vec<String> =
        names.filter_map(|name| Some(name.to_str()?.strip_prefix("upper_")?.to_owned())).collect();
    uppers.sort();
    uppers
}

fn own_use(interface: &str) -> Option<String> {
    let address = addresses(interface).into_iter().find(|address| !is_link_local(address));
    if let Some(address) = address {
        return Some(format!("has the address {address}"));
    }
    let (index, _) = interface::find(interface).ok()?;
    match widest_over(index) {
        Ok(route) => route.map(|route| format!("carries {route}")),
        Err(error) => Some(format!("may carry a route: routes cannot be read ({error})")),
    }
}

/// RFC 3927, section 2.1; RFC 4291, section 2.5.6: made by the kernel itself, and used by nobody beyond the wire.
pub(super) fn is_link_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// The Internet addresses of an interface.
fn addresses(interface: &str) -> Vec<IpAddr> {
    let mut found = Vec::new();
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: it fills the pointer with a list, which is freed below.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return found;
    }
    let mut next = first;
    while !next.is_null() {
        // SAFETY: an entry of the list, whose name is text that ends with a zero.
        let (entry, name) = unsafe { (&*next, CStr::from_ptr((*next).ifa_name)) };
        if name.to_bytes() == interface.as_bytes() && !entry.ifa_addr.is_null() {
            // SAFETY: an address of a family is of that family's structure; it may lie anywhere.
            match i32::from(unsafe { (*entry.ifa_addr).sa_family }) {
                libc::AF_INET => {
                    // SAFETY: as said above.
                    let address = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned() };
                    found.push(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)).into());
                }
                libc::AF_INET6 => {
                    // SAFETY: as said above.
                    let address = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
                    found.push(Ipv6Addr::from(address.sin6_addr.s6_addr).into());
                }
                _ => {}
            }
        }
        next = entry.ifa_next;
    }
    // SAFETY: the list from above, not used any more.
    unsafe { libc::freeifaddrs(first) };
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_has_an_address_and_nothing_has_none() {
        assert_eq!(use_of("lo").as_deref(), Some("has the address 127.0.0.1"));
        assert_eq!(use_of("no-such-interface"), None);
    }

    #[test]
    fn link_local_addresses_do_not_count() {
        let local = |text: &str| text.parse().is_ok_and(|address| is_link_local(&address));
        assert!(local("169.254.3.4") && local("fe80::1"));
        assert!(!local("10.0.0.1") && !local("fd00::1") && !local("2001:db8::1"));
    }
}
