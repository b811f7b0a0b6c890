//! Ports of fragmented packets.
//!
//! *Idea.* Only the first fragment of a packet has the ports. They are kept by what all its fragments share, in a table of
//! fixed size where a newer packet takes an older one's place.
//! *Where it breaks.* A fragment that comes before the first one, or long after it, has no ports: it is of a flow without.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::net::IpAddr;

/// Packets whose ports are kept.
const PLACES: usize = 4096;

/// What the fragments of a packet share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Packet {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) protocol: u8,
    pub(super) identification: u32,
}

/// Source and destination.
pub(super) type Ports = (u16, u16);

/// Packets of which the first fragment has come lately.
#[derive(Debug, Clone, Default)]
pub(super) struct Fragments {
    /// Empty until the first fragment comes.
    places: Vec<Option<(Packet, Ports)>>,
}

impl Fragments {
    /// The first fragment of a packet has come.
    pub(super) fn keep(&mut self, packet: Packet, ports: Ports) {
        if self.places.is_empty() {
            self.places = vec![None; PLACES];
        }
        if let Some(place) = self.places.get_mut(place_of(&packet)) {
            *place = Some((packet, ports));
        }
    }

    /// The ports of a packet of which a later fragment has come.
    pub(super) fn find(&self, packet: &Packet) -> Option<Ports> {
        let (kept, ports) = self.places.get(place_of(packet))?.as_ref()?;
        (kept == packet).then_some(*ports)
    }
}

/// By a hash without a seed: the same on every run.
fn place_of(packet: &Packet) -> usize {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(packet) as usize % PLACES
}
