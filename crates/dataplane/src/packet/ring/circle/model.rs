//! The circle in a model of memory, whose other thread is the kernel, with the accesses of Linux `tpacket_rcv`
//! (net/packet/af_packet.c): a place is filled if its status is the kernel's, by a dependency of control, which orders as an acquire
//! does and which the model has not; the status is stored behind a full barrier.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread::{spawn, yield_now};

use super::{Circle, STATUS_KERNEL, STATUS_USER, Statuses};
use crate::sys::word::model::{Modelled, Weak, holds};

const PLACES: usize = 2;
const FRAMES: u32 = 3;

struct Place {
    status: Modelled<AtomicU32>,
    frame: UnsafeCell<u32>,
}

struct Places {
    places: Vec<Place>,
    /// Counts accesses. loom tries another order of two threads where the last access to a word was the other's; here the kernel
    /// itself has loaded the word that it stores, and only these say that the other side has too.
    accesses: AtomicU32,
}

impl Places {
    fn at(&self, place: usize) -> &Place {
        self.accesses.fetch_add(1, Ordering::Relaxed);
        &self.places[place]
    }
}

impl Statuses for Places {
    type Status = Modelled<AtomicU32>;

    fn status(&self, place: usize) -> &Modelled<AtomicU32> {
        &self.at(place).status
    }
}

/// The kernel puts frames in, and drops one that finds the ring full; those that it has put.
fn kernel(places: &Places) -> Vec<u32> {
    let (mut head, mut put) = (0, Vec::new());
    for number in 0..FRAMES {
        if places.at(head).status.inner.load(Ordering::Acquire) != STATUS_KERNEL {
            yield_now();
            continue;
        }
        // SAFETY: the model refutes it where it is not safe.
        places.at(head).frame.with_mut(|frame| unsafe { *frame = number });
        places.at(head).status.inner.store(STATUS_USER, Ordering::Release);
        put.push(number);
        head = (head + 1) % PLACES;
    }
    put
}

/// All that the kernel has put in is seen once, whole and in order, and none is overwritten before it has been given back.
fn receives(weak: Weak) -> bool {
    holds(move || {
        let place =
            || Place { status: Modelled::<AtomicU32>::new(STATUS_KERNEL, weak), frame: UnsafeCell::new(99) };
        let places =
            Arc::new(Places { places: (0..PLACES).map(|_| place()).collect(), accesses: AtomicU32::new(0) });
        let there = Arc::clone(&places);
        let kernel = spawn(move || kernel(&there));
        let mut circle = Circle::new(PLACES);
        let mut round = || {
            let mut frames = Vec::new();
            while let Some(place) = circle.take(&*places) {
                frames.push(place);
            }
            // what was taken is read while the kernel goes on
            // SAFETY: as above.
            let read = |place: &usize| places.at(*place).frame.with(|frame| unsafe { *frame });
            let frames: Vec<u32> = frames.iter().map(read).collect();
            assert!(frames.len() <= PLACES);
            circle.put_back(&*places);
            frames
        };
        let mut seen = round();
        seen.extend(round());
        let put = kernel.join().unwrap();
        seen.extend(round());
        assert_eq!(seen, put);
        assert!(seen.len() >= PLACES);
    })
}

#[test]
fn no_frame_is_lost_doubled_or_read_before_it_is_there() {
    assert!(receives(Weak::Nothing));
}

#[test]
fn every_ordering_is_needed() {
    assert!(!receives(Weak::Loads));
    assert!(!receives(Weak::Stores));
}
