//! The rings in a model of memory, whose other thread is the kernel, with the accesses of Linux `net/xdp/xsk_queue.h`:
//! the producer's counter is loaded with acquire (`__xskq_cons_peek`) and stored with release (`xskq_prod_submit`), the consumer's
//! stored with release (`__xskq_cons_release`); where the kernel is the producer a store follows the consumer's counter by a
//! dependency of control (`xskq_prod_nb_free`), which orders as an acquire does, and which the model has not.
//!
//! Counters begin just before they begin again.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread::{spawn, yield_now};

use super::{Addresses, Descriptor, Frames, Memory, Ring};
use crate::sys::word::model::{Modelled, Weak, holds};

const SIZE: u32 = 2;
const START: u32 = u32::MAX;
/// One more than fit, at least.
const MANY: u32 = 3;

/// A ring's memory: it tells when one side reads what the other may be writing.
struct Parts<T> {
    producer: Modelled<AtomicU32>,
    consumer: Modelled<AtomicU32>,
    entries: Vec<UnsafeCell<T>>,
}

impl<T: Copy> Parts<T> {
    fn new(empty: T, on_producer: Weak, on_consumer: Weak) -> Arc<Self> {
        Arc::new(Parts {
            producer: Modelled::<AtomicU32>::new(START, on_producer),
            consumer: Modelled::<AtomicU32>::new(START, on_consumer),
            entries: (0..SIZE).map(|_| UnsafeCell::new(empty)).collect(),
        })
    }

    fn entry(&self, counter: u32) -> &UnsafeCell<T> {
        &self.entries[(counter % SIZE) as usize]
    }

    /// The kernel takes `most`; it looks again where there is none.
    fn kernel_takes(&self, most: u32) -> Vec<T> {
        let (mut at, mut taken) = (START, Vec::new());
        while taken.len() < most as usize {
            if self.producer.inner.load(Ordering::Acquire) == at {
                yield_now();
                continue;
            }
            // SAFETY: the model refutes it where it is not safe.
            taken.push(self.entry(at).with(|entry| unsafe { *entry }));
            at = at.wrapping_add(1);
            self.consumer.inner.store(at, Ordering::Release);
        }
        taken
    }

    /// The kernel puts these; it looks again where there is no room.
    fn kernel_puts(&self, values: impl Iterator<Item = T>) {
        let mut at = START;
        for value in values {
            while at.wrapping_sub(self.consumer.inner.load(Ordering::Acquire)) == SIZE {
                yield_now();
            }
            // SAFETY: as above.
            self.entry(at).with_mut(|entry| unsafe { *entry = value });
            at = at.wrapping_add(1);
            self.producer.inner.store(at, Ordering::Release);
        }
    }
}

impl<T: Copy> Memory for Arc<Parts<T>> {
    type Entry = T;
    type Counter = Modelled<AtomicU32>;

    fn producer(&self) -> &Modelled<AtomicU32> {
        &self.producer
    }

    fn consumer(&self) -> &Modelled<AtomicU32> {
        &self.consumer
    }

    unsafe fn read(&self, counter: u32) -> T {
        // SAFETY: as above.
        self.entry(counter).with(|entry| unsafe { *entry })
    }

    unsafe fn write(&self, counter: u32, value: T) {
        // SAFETY: as above.
        self.entry(counter).with_mut(|entry| unsafe { *entry = value });
    }
}

fn descriptor(number: u32) -> Descriptor {
    Descriptor { address: number.into(), length: number, options: 0 }
}

/// Transmit ring: each frame reaches the kernel once, whole and in order, and the program knows which it has taken.
fn transmits(on_producer: Weak, on_consumer: Weak) -> bool {
    holds(move || {
        let parts = Parts::new(descriptor(99), on_producer, on_consumer);
        let there = Arc::clone(&parts);
        let kernel = spawn(move || there.kernel_takes(MANY));
        let mut ring = Frames(Ring::new(parts, SIZE, START));
        for number in 0..MANY {
            while !ring.has_room() {
                yield_now();
            }
            let position = ring.position();
            ring.put(number.into(), number);
            ring.publish();
            assert!((0..=SIZE).contains(&ring.left()));
            assert!(!ring.is_taken(position.wrapping_add(1)));
        }
        let taken = kernel.join().unwrap();
        let seen: Vec<_> = taken.iter().map(|entry| (entry.address, entry.length)).collect();
        assert_eq!(seen, (0..MANY).map(|number| (number.into(), number)).collect::<Vec<_>>());
        assert_eq!(ring.left(), 0);
        assert!((0..MANY).all(|number| ring.is_taken(START.wrapping_add(number))));
    })
}

/// Receive ring: each frame reaches the program once, whole and in order; none is overwritten before it has been given back.
fn receives(on_producer: Weak, on_consumer: Weak) -> bool {
    holds(move || {
        let parts = Parts::new(descriptor(99), on_producer, on_consumer);
        let there = Arc::clone(&parts);
        let kernel = spawn(move || there.kernel_puts((0..MANY).map(descriptor)));
        let mut ring = Frames(Ring::new(parts, SIZE, START));
        let mut number = 0;
        while number < MANY {
            if ring.has_any() {
                assert_eq!(ring.take(), Some((number.into(), number)));
                number += 1;
            } else {
                ring.put_back();
                yield_now();
            }
        }
        kernel.join().unwrap();
        assert!(!ring.has_any() && ring.take().is_none());
    })
}

/// Fill ring: as the transmit ring, of addresses.
fn fills(on_producer: Weak, on_consumer: Weak) -> bool {
    holds(move || {
        let parts = Parts::new(99, on_producer, on_consumer);
        let there = Arc::clone(&parts);
        let kernel = spawn(move || there.kernel_takes(MANY));
        let mut ring = Addresses(Ring::new(parts, SIZE, START));
        let mut number = 0;
        while number < MANY {
            while number < MANY && ring.has_room() {
                ring.put(number.into());
                number += 1;
            }
            ring.publish();
            yield_now();
        }
        assert_eq!(kernel.join().unwrap(), (0..MANY).map(u64::from).collect::<Vec<_>>());
    })
}

/// Completion ring: as the receive ring, of addresses, given back when there are no more.
fn completes(on_producer: Weak, on_consumer: Weak) -> bool {
    holds(move || {
        let parts = Parts::new(99, on_producer, on_consumer);
        let there = Arc::clone(&parts);
        let kernel = spawn(move || there.kernel_puts((0..MANY).map(u64::from)));
        let mut ring = Addresses(Ring::new(parts, SIZE, START));
        for number in 0..MANY {
            loop {
                match ring.take() {
                    Some(address) => break assert_eq!(address, u64::from(number)),
                    None => {
                        ring.put_back();
                        yield_now();
                    }
                }
            }
        }
        kernel.join().unwrap();
        assert_eq!(ring.take(), None);
    })
}

type Model = fn(Weak, Weak) -> bool;

#[test]
fn nothing_is_lost_doubled_or_read_before_it_is_published() {
    for (name, model) in
        [("transmit", transmits as Model), ("receive", receives), ("fill", fills), ("completion", completes)]
    {
        assert!(model(Weak::Nothing, Weak::Nothing), "{name}");
    }
}

#[test]
fn every_ordering_is_needed() {
    for (name, model) in [("transmit", transmits as Model), ("fill", fills)] {
        assert!(!model(Weak::Stores, Weak::Nothing), "{name}: what is published");
        assert!(!model(Weak::Nothing, Weak::Loads), "{name}: whether there is room");
    }
    for (name, model) in [("receive", receives as Model), ("completion", completes)] {
        assert!(!model(Weak::Loads, Weak::Nothing), "{name}: whether there is any");
        assert!(!model(Weak::Nothing, Weak::Stores), "{name}: what is given back");
    }
}
