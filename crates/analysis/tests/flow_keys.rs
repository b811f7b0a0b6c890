//! Which flow a frame is of, on every link, cut off or not.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use paceline_analysis::flow_key::{FlowKeys, UnknownLink};
use paceline_capture::link_type::LinkType;
use proptest::prelude::*;

#[path = "../../capture/tests/written/mod.rs"]
mod written;
use written::{ipv4, udp};

fn key_of(link_type: LinkType, frame: &[u8]) -> String {
    FlowKeys::default().of(link_type, frame).unwrap().to_string()
}

#[test]
fn flows_are_told_apart_on_every_link() {
    let ethernet = udp(1, 2, (1000, 53), 40);
    let packet = &ethernet[14..];
    let name = "10.0.0.1:1000 > 10.0.0.2:53 udp";
    assert_eq!(key_of(LinkType::ETHERNET, &ethernet), name);
    let beginning = |bytes: &[u8]| [bytes, packet].concat();
    let addresses = &ethernet[..12];
    let vlan = [addresses, &[0x81, 0, 0, 7, 8, 0]].concat();
    assert_eq!(key_of(LinkType::ETHERNET, &beginning(&vlan)), name);
    let two = [addresses, &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 8, 0]].concat();
    assert_eq!(key_of(LinkType::ETHERNET, &beginning(&two)), name);
    let pppoe = [addresses, &[0x88, 0x64, 0x11, 0, 0, 1, 0, 70, 0, 0x21]].concat();
    assert_eq!(key_of(LinkType::ETHERNET, &beginning(&pppoe)), name);
    let mpls = [addresses, &[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64]].concat();
    assert_eq!(key_of(LinkType::ETHERNET, &beginning(&mpls)), name);
    let mut cooked = vec![0; 16];
    cooked[14] = 8;
    assert_eq!(key_of(LinkType::LINUX_SLL, &beginning(&cooked)), name);
    let mut cooked = vec![0; 20];
    cooked[0] = 8;
    assert_eq!(key_of(LinkType::LINUX_SLL2, &beginning(&cooked)), name);
    for family in [[2, 0, 0, 0], [0, 0, 0, 2]] {
        assert_eq!(key_of(LinkType::NULL, &beginning(&family)), name);
        assert_eq!(key_of(LinkType::LOOP, &beginning(&family)), name);
    }
    for raw in [LinkType::RAW, LinkType(12), LinkType(14), LinkType::IPV4] {
        assert_eq!(key_of(raw, packet), name);
    }
    assert_eq!(key_of(LinkType::ETHERNET, &[addresses, &[8, 6]].concat()), "ARP");
    assert_eq!(key_of(LinkType::ETHERNET, addresses), "cut-off frames");
    assert_eq!(FlowKeys::default().of(LinkType(147), packet), Err(UnknownLink));
}

#[test]
fn a_pseudo_wire_is_not_cut_off() {
    let inner = udp(1, 2, (1000, 53), 40);
    let over = |label: &[u8], contents: &[u8]| [&inner[..12], &[0x88, 0x47], label, contents].concat();
    let label = [0, 2, 1, 64];
    let of = |contents: &[u8]| key_of(LinkType::ETHERNET, &over(&label, contents));
    let name = "10.0.0.1:1000 > 10.0.0.2:53 udp";
    assert_eq!(of(&[&[0, 0, 0, 9], &inner[..]].concat()), name, "Ethernet behind a control word");
    assert_eq!(of(&inner), name, "Ethernet without one");
    let spanning_tree = [&inner[..12], &[0, 38, 0x42, 0x42, 3], &[0; 35]].concat();
    assert_eq!(of(&[&[0, 0, 0, 9], &spanning_tree[..]].concat()), "MPLS pseudo-wire");
    assert_eq!(of(&[0x10, 0, 0x7, 0, 1, 2, 3]), "MPLS pseudo-wire", "its associated channel");
    assert_eq!(of(&[0; 48]), "MPLS pseudo-wire", "a circuit's bits");
    assert_eq!(of(&[]), "cut-off frames");
    assert_eq!(of(&inner[14..]), name, "IP, as before");
}

#[test]
fn ipv6_extensions_are_walked() {
    let mut packet = vec![0x60, 0, 0, 0, 0, 32, 0, 64]; // hop-by-hop options next
    packet.extend([&[0xfe][..], &[0; 14], &[1]].concat());
    packet.extend([&[0xfe][..], &[0; 14], &[2]].concat());
    packet.extend([60, 0, 1, 4, 0, 0, 0, 0]); // then destination options
    packet.extend([6, 0, 1, 4, 0, 0, 0, 0]); // then TCP
    packet.extend([0x1f, 0x90, 0, 80]);
    packet.extend([0; 16]);
    assert_eq!(key_of(LinkType::RAW, &packet), "[fe00::1]:8080 > [fe00::2]:80 tcp");
    // cut behind the ports, as captures with few bytes a packet are
    assert_eq!(key_of(LinkType::IPV6, &packet[..60]), "[fe00::1]:8080 > [fe00::2]:80 tcp");
    assert_eq!(key_of(LinkType::IPV6, &packet[..58]), "fe00::1 > fe00::2 tcp");
}

#[test]
fn fragments_belong_to_the_flow_of_the_first() {
    let mut keys = FlowKeys::default();
    let mut of = |identification, fragment, contents: &[u8]| {
        let frame = [ipv4(17, identification, fragment, 1, 2, contents.len()), contents.to_vec()].concat();
        keys.of(LinkType::RAW, &frame).unwrap()
    };
    let first = of(9, 0x2000, &[0, 7, 0, 8, 0, 0, 0, 0]);
    assert_eq!(first.to_string(), "10.0.0.1:7 > 10.0.0.2:8 udp");
    assert_eq!(of(9, 0x2001, &[0xff; 8]), first);
    assert_eq!(of(9, 0x0002, &[0xff; 8]), first);
    assert_eq!(of(10, 0x0002, &[0xff; 8]).to_string(), "10.0.0.1 > 10.0.0.2 udp");
}

proptest! {
    #[test]
    fn no_frame_makes_a_key_panic(frame in proptest::collection::vec(any::<u8>(), 0..120), link in 0..300u32, cut in 0..90usize) {
        let mut keys = FlowKeys::default();
        let _ = keys.of(LinkType(link), &frame);
        let real = udp(1, 2, (3, 4), 40);
        let _ = keys.of(LinkType::ETHERNET, &real[..cut.min(real.len())]);
        let vlan = [&real[..12], &[0x81, 0][..], &frame].concat();
        let _ = keys.of(LinkType::ETHERNET, &vlan);
    }
}
