//! Flows, as many as matter.
//!
//! *Idea.* A capture may have millions of flows, of which a few carry most. At most [`MOST`] are held; when there would be
//! more, the larger half stays and the rest is added up and let go. A flow that was let go and sends again begins anew.
//! *Where it breaks.* Such a flow's numbers lack what it sent before. No flow lacks more than [`Flows::shortfall_bytes`], the sum,
//! over the times that flows were let go, of the largest one's bytes.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use super::flow_key::FlowKey;
use super::group::Group;

/// A flow on an interface.
type Key = (u32, FlowKey);

/// A flow and its statistics.
type Flow = (Key, Group);

/// Flows held at a time.
pub const MOST: usize = 2048;

/// A flow that is held, or was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FlowId {
    slot: u32,
    /// Of how many flows in turn it is the slot's.
    turn: u32,
}

/// Flows that are held, and sums over those that are not.
#[derive(Debug, Default)]
pub(super) struct Flows {
    /// Without a seed: the same on every run.
    places: HashMap<Key, u32, BuildHasherDefault<DefaultHasher>>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// The last packet's: the next is often of the same flow.
    last: Option<(Key, FlowId)>,
    pub(super) rest: Rest,
    pub(super) shortfall_bytes: u64,
}

#[derive(Debug)]
struct Slot {
    turn: u32,
    flow: Option<Flow>,
}

/// Flows that are not shown one by one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Rest {
    /// How many; one that was let go and came again counts again.
    pub flows: u64,
    /// Their packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Flows {
    /// The flow of a packet on an interface, held from now on if it was not.
    #[inline]
    pub(super) fn id_of(&mut self, interface: u32, key: FlowKey, new: impl FnOnce() -> Group) -> FlowId {
        let key = (interface, key);
        if let Some((last, id)) = self.last
            && last == key
        {
            return id;
        }
        let slot = match self.places.get(&key) {
            Some(slot) => *slot,
            None => self.add(key, new()),
        };
        let id = FlowId { slot, turn: self.slots.get(slot as usize).map_or(0, |slot| slot.turn) };
        self.last = Some((key, id));
        id
    }

    /// The flow, while it is held.
    #[inline]
    pub(super) fn get_mut(&mut self, id: FlowId) -> Option<&mut Group> {
        let slot = self.slots.get_mut(id.slot as usize).filter(|slot| slot.turn == id.turn)?;
        slot.flow.as_mut().map(|(_, group)| group)
    }

    #[cold]
    fn add(&mut self, key: Key, group: Group) -> u32 {
        if self.places.len() >= MOST {
            self.keep(MOST / 2);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { turn: 0, flow: None });
            self.slots.len() as u32 - 1
        });
        if let Some(place) = self.slots.get_mut(slot as usize) {
            place.flow = Some((key, group));
        }
        self.places.insert(key, slot);
        slot
    }

    /// Lets go all but the largest so many.
    fn keep(&mut self, most: usize) {
        let mut largest = 0;
        for (_, key, slot) in self.by_size().split_off(most) {
            self.places.remove(&key);
            let Some(place) = self.slots.get_mut(slot as usize) else { continue };
            place.turn = place.turn.wrapping_add(1);
            if let Some((_, group)) = place.flow.take() {
                largest = largest.max(group.captured().bytes());
                self.rest.add(&group);
            }
            self.free.push(slot);
        }
        self.last = None;
        self.shortfall_bytes += largest;
    }

    /// Bytes, key and slot, the largest first; of equal ones in the order of their keys.
    fn by_size(&self) -> Vec<(std::cmp::Reverse<u64>, Key, u32)> {
        let held = self.places.iter().map(|(key, slot)| {
            let flow = self.slots.get(*slot as usize).and_then(|slot| slot.flow.as_ref());
            (std::cmp::Reverse(flow.map_or(0, |(_, group)| group.captured().bytes())), *key, *slot)
        });
        let mut order: Vec<_> = held.collect();
        order.sort_unstable();
        order
    }

    /// The largest so many flows; the others are added to the rest.
    pub(super) fn finish(mut self, top: usize) -> (Vec<Flow>, Rest) {
        let mut shown = Vec::new();
        for (_, _, slot) in self.by_size() {
            let Some(flow) = self.slots.get_mut(slot as usize).and_then(|slot| slot.flow.take()) else {
                continue;
            };
            if shown.len() < top {
                shown.push(flow);
            } else {
                self.rest.add(&flow.1);
            }
        }
        (shown, self.rest)
    }
}

impl Rest {
    fn add(&mut self, group: &Group) {
        self.flows += 1;
        self.packets += group.captured().packets();
        self.bytes += group.captured().bytes();
    }
}
