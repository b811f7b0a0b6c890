//! The ring against a kernel of the test's own, which fills places as packet_mmap.rst says, and none that is not its.

use std::collections::VecDeque;
use std::os::unix::net::UnixDatagram;

use proptest::prelude::*;

use super::*;

const PLACE: usize = 512;
const PLACES: usize = 6;
/// Where the kernel puts a frame: behind its header, an address and ten bytes for the offloads.
const MAC: usize = 76;

/// The other side.
struct Kernel {
    socket: UnixDatagram,
    next: usize,
}

/// How a frame comes in.
#[derive(Debug, Clone)]
struct Incoming {
    frame: Vec<u8>,
    /// What the kernel has taken out of it.
    tag: Option<[u8; 4]>,
    /// Joined by an offload.
    joined: bool,
    /// Too large for a place: beside the ring, or nowhere.
    large: Option<bool>,
    seconds: u32,
}

impl Incoming {
    fn header(&self) -> [u8; VNET] {
        if self.joined { [1, 1, 0, 0, 100, 0, 34, 0, 16, 0] } else { [0; VNET] }
    }

    /// What the program should see: `None` if it is lost.
    fn seen(&self) -> Option<Vec<u8>> {
        if self.large == Some(false) {
            return None;
        }
        let mut bytes = [&self.header()[..], &self.frame].concat();
        if let Some(tag) = self.tag {
            bytes.splice(VNET + 12..VNET + 12, tag);
            if self.joined {
                bytes[6] += 4; // where the checksum begins
            }
        }
        Some(bytes)
    }
}

impl Kernel {
    /// Fills a place; `false` if the next is not the kernel's, and the frame is dropped.
    fn fill(&mut self, ring: &Ring, incoming: &Incoming) -> bool {
        if ring.status(self.next).load(Ordering::Acquire) != 0 {
            return false;
        }
        let place = ring.offset(self.next);
        let bytes = [&incoming.header()[..], &incoming.frame].concat();
        let there = if incoming.large.is_some() { VNET } else { bytes.len() };
        let to = ring.mapping.at(place + MAC - VNET, there);
        // SAFETY: within the mapping, and the place is the kernel's.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, there) };
        let mut status = STATUS_USER;
        if incoming.large == Some(true) {
            self.socket.send(&bytes).unwrap();
            status |= STATUS_COPY;
        }
        let [a, b, c, d] = incoming.tag.unwrap_or_default();
        if incoming.tag.is_some() {
            status |= STATUS_VLAN | STATUS_VLAN_PROTOCOL;
        }
        let header = libc::tpacket2_hdr {
            tp_status: 0,
            tp_len: incoming.frame.len() as u32,
            tp_snaplen: (there - VNET) as u32,
            tp_mac: MAC as u16,
            tp_net: MAC as u16 + 14,
            tp_sec: incoming.seconds,
            tp_nsec: 999_999_999,
            tp_vlan_tci: u16::from_be_bytes([c, d]),
            tp_vlan_tpid: u16::from_be_bytes([a, b]),
            tp_padding: [0; 4],
        };
        // SAFETY: as above; a place begins aligned.
        unsafe { ring.mapping.at(place, size_of_val(&header)).cast::<libc::tpacket2_hdr>().write(header) };
        ring.status(self.next).store(status, Ordering::Release);
        self.next = (self.next + 1) % ring.places;
        true
    }
}

fn incoming() -> impl Strategy<Value = Incoming> {
    let tag = prop_oneof![3 => Just(None), 1 => any::<[u8; 4]>().prop_map(Some)];
    let large = prop_oneof![6 => Just(None), 1 => any::<bool>().prop_map(Some)];
    let frame = prop::collection::vec(any::<u8>(), 14..300);
    (frame, tag, any::<bool>(), large, any::<u32>())
        .prop_map(|(frame, tag, joined, large, seconds)| Incoming { frame, tag, joined, large, seconds })
}

#[derive(Debug, Clone)]
enum Event {
    Comes(Incoming),
    Take(usize),
    GiveBack,
}

proptest! {
    #[test]
    fn what_comes_is_seen_once_and_in_order(events in prop::collection::vec(
        prop_oneof![4 => incoming().prop_map(Event::Comes), 2 => (1usize..9).prop_map(Event::Take), 1 => Just(Event::GiveBack)],
        1..200,
    )) {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        let mut ring = Ring {
            mapping: Mapping::anonymous(BLOCK).unwrap(),
            socket: ours.into(),
            place: PLACE,
            per_block: BLOCK / PLACE,
            places: PLACES,
            next: 0,
            oldest: 0,
            used: 0,
            wall_offset: clock::wall_offset(),
            compared: clock::now(),
            joined: vec![0; MOST_JOINED],
        };
        let mut kernel = Kernel { socket: theirs, next: 0 };
        let (mut waiting, mut out) = (VecDeque::new(), 0);
        for event in events {
            match event {
                Event::Comes(incoming) => {
                    // it is dropped only if every place is with the program, seen or not
                    let full = waiting.len() + out == PLACES;
                    prop_assert_eq!(kernel.fill(&ring, &incoming), !full);
                    if !full {
                        waiting.push_back(incoming);
                    }
                }
                Event::Take(most) => {
                    for _ in 0..most {
                        prop_assert_eq!(ring.used < PLACES && ring.is_readable(), !waiting.is_empty());
                        let now = clock::now();
                        let Some(arrival) = ring.next(now) else { break };
                        let expected: Incoming = waiting.pop_front().unwrap();
                        out += 1;
                        match (arrival, expected.seen()) {
                            (Arrival::Frame { at, length, arrived }, Some(bytes)) => {
                                prop_assert!(!expected.joined || expected.large.is_some());
                                prop_assert_eq!(ring.bytes(at, length), bytes);
                                prop_assert!(arrived <= now);
                            }
                            (Arrival::Joined { bytes, arrived }, Some(seen)) => {
                                prop_assert!(expected.joined || expected.large.is_some());
                                prop_assert_eq!(bytes, seen);
                                prop_assert!(arrived <= now);
                            }
                            (Arrival::Lost, None) => {}
                            (arrival, _) => prop_assert!(false, "{:?} for {:?}", arrival, expected),
                        }
                    }
                }
                Event::GiveBack => {
                    ring.give_back();
                    out = 0;
                }
            }
        }
    }
}
