//! The rings against a kernel of the test's own, across the point where counters begin again.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const SIZE: u32 = 8;

proptest! {
    #[test]
    fn what_is_put_is_taken_by_the_kernel_once_and_in_order(
        start in prop_oneof![Just(0), (u32::MAX - 20)..=u32::MAX], events in prop::collection::vec(0u8..6, 1..200)
    ) {
        let mut frames = Frames(alone::ring(SIZE, start));
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
                    prop_assert!(frames.0.memory.producer().load(Ordering::Acquire) != taken);
                    // SAFETY: an entry that has been published.
                    let entry = unsafe { frames.0.memory.read(taken) };
                    prop_assert_eq!(Some(entry.address), put.pop_front());
                    prop_assert_eq!(u64::from(entry.length), entry.address);
                    taken = taken.wrapping_add(1);
                    published -= 1;
                    frames.0.memory.consumer().store(taken, Ordering::Release);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn what_the_kernel_puts_is_taken_once_and_in_order(
        start in prop_oneof![Just(0), (u32::MAX - 20)..=u32::MAX], events in prop::collection::vec(0u8..7, 1..200)
    ) {
        let mut addresses = Addresses(alone::ring(SIZE, start));
        let (mut produced, mut there, mut number, mut taken) = (start, VecDeque::new(), 0u64, 0);
        for event in events {
            let room = SIZE - produced.wrapping_sub(addresses.0.memory.consumer().load(Ordering::Acquire));
            prop_assert_eq!(room as usize, SIZE as usize - there.len() - taken); // none that was not given back
            if event < 3 && room > 0 {
                // SAFETY: an entry that is the kernel's.
                unsafe { addresses.0.memory.write(produced, number) };
                produced = produced.wrapping_add(1);
                addresses.0.memory.producer().store(produced, Ordering::Release);
                there.push_back(number);
                number += 1;
            } else if event == 6 {
                addresses.put_back();
                taken = 0;
            } else if event >= 3 {
                let next = there.pop_front();
                taken += usize::from(next.is_some());
                prop_assert_eq!(addresses.take(), next);
            }
        }
    }
}
