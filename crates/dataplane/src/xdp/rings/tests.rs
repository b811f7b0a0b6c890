//! The rings against a kernel of the test's own, across the point where counters begin again.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const SIZE: u32 = 8;
const OFFSETS: Offsets = Offsets { producer: 0, consumer: 64, entries: 192, flags: 128 };

fn ring(start: u32, entry: usize) -> Ring {
    let mapping = Mapping::anonymous(192 + SIZE as usize * entry).unwrap();
    let ring = Ring { mapping, offsets: OFFSETS, size: SIZE, mine: start, theirs: start };
    ring.producer().store(start, Ordering::Relaxed);
    ring.consumer().store(start, Ordering::Relaxed);
    ring
}

proptest! {
    #[test]
    fn what_is_put_is_taken_by_the_kernel_once_and_in_order(
        start in prop_oneof![Just(0), (u32::MAX - 20)..=u32::MAX], events in prop::collection::vec(0u8..6, 1..200)
    ) {
        let mut frames = Frames(ring(start, size_of::<Descriptor>()));
        let (mut taken, mut put, mut number) = (start, VecDeque::new(), 0u64);
        let mut published = 0;
        for event in events {
            match event {
                0..3 => {
                    prop_assert_eq!(frames.has_room(), put.len() < SIZE as usize);
                    if frames.has_room() {
                        frames.put(number, number as u32);
                        put.push_back(number);
                        number += 1;
                    }
                }
                3 => {
                    frames.publish();
                    published = put.len();
                    prop_assert_eq!(frames.left() as usize, published);
                }
                _ if published > 0 => {
                    prop_assert!(frames.0.producer().load(Ordering::Acquire) != taken);
                    // SAFETY: an entry that has been published.
                    let entry = unsafe { frames.0.entry::<Descriptor>(taken).read() };
                    prop_assert_eq!(Some(entry.address), put.pop_front());
                    prop_assert_eq!(u64::from(entry.length), entry.address);
                    taken = taken.wrapping_add(1);
                    published -= 1;
                    frames.0.consumer().store(taken, Ordering::Release);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn what_the_kernel_puts_is_taken_once_and_in_order(
        start in prop_oneof![Just(0), (u32::MAX - 20)..=u32::MAX], events in prop::collection::vec(0u8..6, 1..200)
    ) {
        let mut addresses = Addresses(ring(start, size_of::<u64>()));
        let (mut produced, mut there, mut number) = (start, VecDeque::new(), 0u64);
        for event in events {
            let room = SIZE - produced.wrapping_sub(addresses.0.consumer().load(Ordering::Acquire));
            prop_assert_eq!(room as usize, SIZE as usize - there.len()); // what was taken is the kernel's at once
            if event < 3 && room > 0 {
                // SAFETY: an entry that is the kernel's.
                unsafe { addresses.0.entry::<u64>(produced).write(number) };
                produced = produced.wrapping_add(1);
                addresses.0.producer().store(produced, Ordering::Release);
                there.push_back(number);
                number += 1;
            } else if event >= 3 {
                prop_assert_eq!(addresses.take(), there.pop_front());
            }
        }
    }
}
