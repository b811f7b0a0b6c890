//! The ring against a kernel of the test's own, which fills places as packet_mmap.rst says, and none that is not its.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::IoSlice;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use proptest::prelude::*;

use super::circle::STATUS_USER;
use super::*;
use crate::sys::clock;
use crate::sys::kernel::{Read, STATUS_VLAN, STATUS_VLAN_PROTOCOL};

const PLACE: usize = 512;
const PLACES: usize = 6;
/// Events of a case; under Miri each takes long.
const EVENTS: usize = if cfg!(miri) { 20 } else { 200 };
/// Where the kernel puts a frame: behind its header, an address and ten bytes for the offloads.
const MAC: usize = 76;

/// What of a large frame is in its place.
const BEGINNING: usize = 13;

/// What is queued beside the ring, and errors that come up before it.
#[derive(Debug, Default)]
struct Beside {
    frames: VecDeque<(Vec<u8>, Option<[u8; 4]>)>,
    errors: VecDeque<i32>,
}

/// Its calls.
#[derive(Debug, Clone, Default)]
struct Calls(Rc<RefCell<Beside>>);

impl Kernel for Calls {
    fn now(&self) -> Instant {
        clock::now()
    }

    fn wall_offset(&self) -> i64 {
        clock::wall_offset()
    }

    fn processor_time_ns(&self) -> u64 {
        0
    }

    fn sleep_until(&self, _: Instant) {}

    fn wait(&self, _: &OwnedFd, _: Span) -> bool {
        false
    }

    fn take_error(&self, _: &OwnedFd) -> i32 {
        0
    }

    fn read(&self, _: &OwnedFd, into: &mut [u8]) -> io::Result<Read> {
        let mut beside = self.0.borrow_mut();
        if let Some(error) = beside.errors.pop_front() {
            return Err(io::Error::from_raw_os_error(error));
        }
        let Some((bytes, tag)) = beside.frames.pop_front() else {
            return Err(io::Error::from_raw_os_error(libc::EAGAIN));
        };
        into[..bytes.len()].copy_from_slice(&bytes);
        Ok(Read { length: bytes.len(), tag })
    }

    fn send(&self, _: &OwnedFd, frames: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(frames.len())
    }

    fn has_carrier(&self, _: &OwnedFd) -> bool {
        true
    }

    fn packet_overflow(&self, _: &OwnedFd) -> io::Result<u64> {
        Ok(0)
    }

    fn kick(&self, _: &OwnedFd) -> io::Result<()> {
        Ok(())
    }

    fn xdp_dropped(&self, _: &OwnedFd) -> io::Result<u64> {
        Ok(0)
    }
}

/// The other side.
struct Filler {
    calls: Calls,
    next: usize,
}

fn socket() -> OwnedFd {
    std::fs::File::open("/dev/null").unwrap().into()
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

impl Filler {
    /// Fills a place; `false` if the next is not the kernel's, and the frame is dropped.
    fn fill(&mut self, ring: &Ring<Calls>, incoming: &Incoming) -> bool {
        if ring.memory.status(self.next).load(Ordering::Acquire) != 0 {
            return false;
        }
        let place = ring.memory.offset(self.next);
        let bytes = [&incoming.header()[..], &incoming.frame].concat();
        let there = if incoming.large.is_some() { VNET + BEGINNING } else { bytes.len() };
        let to = ring.memory.mapping.at(place + MAC - VNET, there);
        // SAFETY: within the mapping, and the place is the kernel's.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, there) };
        let mut status = STATUS_USER;
        if incoming.large == Some(true) {
            self.calls.0.borrow_mut().frames.push_back((bytes, incoming.tag));
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
        unsafe {
            ring.memory.mapping.at(place, size_of_val(&header)).cast::<libc::tpacket2_hdr>().write(header)
        };
        ring.memory.status(self.next).store(status, Ordering::Release);
        self.next = (self.next + 1) % PLACES;
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
    /// The socket has errors pending.
    Fails(Vec<i32>),
    Take(usize),
    GiveBack,
}

proptest! {
    #[test]
    fn what_comes_is_seen_once_and_in_order(events in prop::collection::vec(
        prop_oneof![
            8 => incoming().prop_map(Event::Comes),
            4 => (1usize..9).prop_map(Event::Take),
            2 => Just(Event::GiveBack),
            1 => prop::collection::vec(prop_oneof![Just(libc::ENETDOWN), Just(libc::ENOMEM)], 1..10).prop_map(Event::Fails),
        ],
        1..EVENTS,
    )) {
        let calls = Calls::default();
        let mapping = Mapping::anonymous(BLOCK).unwrap();
        let mut ring = Ring::over(calls.clone(), mapping, socket(), PLACE, PLACES);
        let mut kernel = Filler { calls: calls.clone(), next: 0 };
        let (mut waiting, mut out) = (VecDeque::new(), 0);
        for (number, event) in events.into_iter().enumerate() {
            match event {
                Event::Comes(mut incoming) => {
                    incoming.frame[..8].copy_from_slice(&number.to_be_bytes()); // no two begin alike
                    // it is dropped only if every place is with the program, seen or not
                    let full = waiting.len() + out == PLACES;
                    prop_assert_eq!(kernel.fill(&ring, &incoming), !full);
                    if !full {
                        waiting.push_back(incoming);
                    }
                }
                Event::Fails(errors) => calls.0.borrow_mut().errors.extend(errors),
                Event::Take(most) => {
                    for _ in 0..most {
                        prop_assert_eq!(ring.is_readable(), !waiting.is_empty());
                        let now = clock::now();
                        let failures = calls.0.borrow().errors.len();
                        let Some(arrival) = ring.next(now) else { break };
                        let expected: Incoming = waiting.pop_front().unwrap();
                        out += 1;
                        match (arrival, expected.seen()) {
                            (Arrival::Frame { at, length, arrived }, Some(bytes)) => {
                                prop_assert!(!expected.joined || expected.large.is_some());
                                prop_assert_eq!(ring.bytes(at, length), bytes);
                                prop_assert!(arrived <= now);
                            }
                            (Arrival::Apart { bytes, arrived }, Some(seen)) => {
                                prop_assert!(expected.joined || expected.large.is_some());
                                prop_assert_eq!(bytes, seen);
                                prop_assert!(arrived <= now);
                            }
                            (Arrival::Lost, None) => {}
                            // too many errors for one frame: it is lost, and no other with it
                            (Arrival::Lost, Some(_)) => {
                                prop_assert!(expected.large == Some(true) && failures >= TRIES as usize);
                            }
                            (arrival, _) => prop_assert!(false, "{:?} for {:?}", arrival, expected),
                        }
                    }
                }
                Event::GiveBack => {
                    ring.put_back();
                    out = 0;
                }
            }
        }
    }
}

/// What no kernel should say of a place, and what a program must not follow.
#[test]
fn nothing_that_a_place_says_makes_the_program_look_beyond_it() {
    for mac in [0, 1, 9, 10, 31, 35, 45, 46, 76, 400, 511, 512, u16::MAX] {
        for snaplen in [0, 1, 11, 12, 100, 400, 440, 511, 513, 1 << 20, u32::MAX - 10, u32::MAX] {
            for status in [STATUS_USER, STATUS_USER | STATUS_VLAN, STATUS_USER | STATUS_COPY | STATUS_VLAN] {
                let mapping = Mapping::anonymous(BLOCK).unwrap();
                let mut ring = Ring::over(Calls::default(), mapping, socket(), PLACE, PLACES);
                let header = libc::tpacket2_hdr {
                    tp_status: status,
                    tp_len: snaplen,
                    tp_snaplen: snaplen,
                    tp_mac: mac,
                    tp_net: 0,
                    tp_sec: 0,
                    tp_nsec: 0,
                    tp_vlan_tci: 5,
                    tp_vlan_tpid: 0x8100,
                    tp_padding: [0; 4],
                };
                let at = ring.memory.mapping.at(0, size_of_val(&header)).cast::<libc::tpacket2_hdr>();
                // SAFETY: within the mapping, at the beginning of a place.
                unsafe { at.write(header) };
                let tagged = if status & STATUS_VLAN == 0 { 0 } else { 4 };
                match ring.next(clock::now()) {
                    Some(Arrival::Frame { at, length, .. }) => {
                        assert!(at >= size_of::<libc::tpacket2_hdr>() && at + length <= PLACE);
                        assert_eq!(length, VNET + tagged + snaplen as usize);
                    }
                    Some(Arrival::Lost) => {}
                    other => panic!("{other:?}"),
                }
                // SAFETY: as above. The ring's own header is as the kernel wrote it.
                assert_eq!(unsafe { at.read() }.tp_snaplen, snaplen);
            }
        }
    }
}
