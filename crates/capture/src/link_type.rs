//! What frames of a capture begin with, by the capture's number for it.
//!
//! *References.* The registry of link types, <https://www.tcpdump.org/linktypes.html>.

use std::fmt;

/// A number of the registry.
///
/// ```
/// use paceline_capture::link_type::{LinkType, understood};
///
/// assert_eq!(LinkType::ETHERNET.to_string(), "1 (Ethernet)");
/// assert!(understood().contains(&"Ethernet"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u32);

impl LinkType {
    /// BSD loopback: the address family in the byte order of the machine, then the packet.
    pub const NULL: LinkType = LinkType(0);
    /// Ethernet.
    pub const ETHERNET: LinkType = LinkType(1);
    /// IP, version 4 or 6, with nothing before it. Two numbers that systems use for the same come as this.
    pub const RAW: LinkType = LinkType(101);
    /// OpenBSD loopback: the address family in network order, then the packet.
    pub const LOOP: LinkType = LinkType(108);
    /// Linux "cooked", version 1.
    pub const LINUX_SLL: LinkType = LinkType(113);
    /// IPv4 with nothing before it.
    pub const IPV4: LinkType = LinkType(228);
    /// IPv6 with nothing before it.
    pub const IPV6: LinkType = LinkType(229);
    /// Linux "cooked", version 2.
    pub const LINUX_SLL2: LinkType = LinkType(276);
}

/// Names, and whether flows can be distinguished in such frames.
const NAMES: &[(u32, &str, bool)] = &[
    (0, "BSD loopback", true),
    (1, "Ethernet", true),
    (9, "PPP", false),
    (12, "raw IP", true),
    (14, "raw IP", true),
    (101, "raw IP", true),
    (104, "Cisco HDLC", false),
    (105, "802.11", false),
    (108, "OpenBSD loopback", true),
    (113, "Linux cooked", true),
    (127, "802.11 with radiotap", false),
    (187, "Bluetooth", false),
    (189, "USB", false),
    (192, "PPI", false),
    (195, "802.15.4", false),
    (197, "ERF", false),
    (220, "USB", false),
    (227, "CAN", false),
    (228, "IPv4", true),
    (229, "IPv6", true),
    (239, "NFLOG", false),
    (253, "Netlink", false),
    (276, "Linux cooked 2", true),
];

/// Names of the link types in whose frames flows can be distinguished.
pub fn understood() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for (_, name, known) in NAMES {
        if *known && !names.contains(name) {
            names.push(name);
        }
    }
    names
}

impl fmt::Display for LinkType {
    /// `1 (Ethernet)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        match (self.0, NAMES.iter().find(|(number, ..)| *number == self.0)) {
            (_, Some((_, name, _))) => write!(f, " ({name})"),
            (147..=162, None) => write!(f, " (USER{})", self.0 - 147),
            _ => Ok(()),
        }
    }
}
