//! Frames that know what they are: each says its number, and everything else about it follows from that.

use super::script::{Chance, hash};
use crate::packet::VNET;

const ENDS: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
/// Local experimental EtherType 1.
const OWN: [u8; 2] = [0x88, 0xb5];
const HEADERS: usize = 14 + 20 + 20;

/// A frame that comes in: one, or several that an offload has joined.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) number: u64,
    /// So many frames of their own, numbered from `number`, with so many payload bytes each.
    pub(super) joined: Option<(u64, usize)>,
    /// Bytes, its tag left out.
    pub(super) length: usize,
}

impl Arrival {
    /// The next one, of an interface with that MTU.
    pub(super) fn random(number: u64, mtu: usize, joins: bool, chance: &mut Chance) -> Arrival {
        if joins && chance.one_in(4) {
            let each = 200 + chance.below(mtu as u64 - 240) as usize;
            let most = if chance.one_in(8) { (60_000 / each as u64).min(20) } else { 4 };
            let count = 2 + chance.below(most);
            return Arrival { number, joined: Some((count, each)), length: HEADERS + count as usize * each };
        }
        // few are large: what they cost is the time of the test
        let longest = if chance.one_in(8) { mtu as u64 + 14 } else { 200 };
        let length = 60 + chance.below(longest - 59) as usize;
        Arrival { number, joined: None, length }
    }

    /// How many frames it is on a wire.
    pub(super) fn frames(&self) -> u64 {
        self.joined.map_or(1, |(count, _)| count)
    }

    pub(super) fn tag(&self) -> Option<[u8; 4]> {
        tag_of(self.number)
    }

    /// As the kernel has it, its tag taken out.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let Some((count, each)) = self.joined else { return plain(self.number, self.length) };
        let mut bytes = ENDS.to_vec();
        bytes.extend([0x08, 0x00, 0x45, 0]);
        bytes.extend(((self.length - 14) as u16).to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend([0, 1, 0, 2]);
        bytes.extend((self.number as u32).to_be_bytes());
        bytes.extend([0, 0, 0, 0, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
        for index in 0..count {
            bytes.extend(segment(self.number + index, self.number, each));
        }
        bytes
    }

    /// Its header for offloads.
    pub(super) fn header(&self) -> [u8; VNET] {
        let mut header = [0; VNET];
        if let Some((_, each)) = self.joined {
            (header[0], header[1]) = (1, 1); // lacks its checksum; TCP over IPv4
            header[2..4].copy_from_slice(&(HEADERS as u16).to_ne_bytes());
            header[4..6].copy_from_slice(&(each as u16).to_ne_bytes());
            header[6..8].copy_from_slice(&34u16.to_ne_bytes());
            header[8..10].copy_from_slice(&16u16.to_ne_bytes());
        }
        header
    }
}

fn tag_of(number: u64) -> Option<[u8; 4]> {
    let value = hash(number ^ 0x7a6);
    (!value.is_multiple_of(3)).then_some([0x81, 0x00, (value >> 8) as u8 & 0x0f, (value >> 16) as u8])
}

fn plain(number: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![hash(number) as u8; length.max(26)];
    bytes[..12].copy_from_slice(&ENDS);
    bytes[12..14].copy_from_slice(&OWN);
    bytes[14..22].copy_from_slice(&number.to_be_bytes());
    bytes[22..26].copy_from_slice(&(length as u32).to_be_bytes());
    bytes
}

fn segment(number: u64, first: u64, each: usize) -> Vec<u8> {
    let mut bytes = vec![hash(number) as u8; each.max(20)];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    bytes[8..16].copy_from_slice(&first.to_be_bytes());
    bytes[16..20].copy_from_slice(&(each as u32).to_be_bytes());
    bytes
}

/// The number of a frame that leaves, if it is whole and has its own tag.
pub(super) fn number_of(bytes: &[u8]) -> Result<u64, String> {
    let (tag, rest) = match bytes.get(12..14) {
        Some([0x81, 0x00]) => (bytes.get(12..16), bytes.get(16..)),
        _ => (None, bytes.get(12..)),
    };
    let rest = rest.ok_or("a runt leaves")?;
    let big =
        |at: usize| rest.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map(u64::from_be_bytes);
    let four = |at: usize| rest.get(at..at + 4).and_then(|four| four.try_into().ok()).map(u32::from_be_bytes);
    let is_own = rest.first_chunk() == Some(&OWN);
    let (number, tagged_as, whole) = if is_own {
        let (number, length) = (big(2).ok_or("a cut frame")?, four(10).ok_or("a cut frame")?);
        (number, number, plain(number, (length as usize).min(1 << 16)).get(12..) == Some(rest))
    } else {
        let payload = HEADERS - 12;
        let number = big(payload).ok_or("a cut segment")?;
        let first = big(payload + 8).ok_or("a cut segment")?;
        let each = four(payload + 16).ok_or("a cut segment")? as usize;
        let has_length = rest.get(4..6) == Some(&((40 + each) as u16).to_be_bytes());
        let is_whole = rest.get(payload..) == Some(&segment(number, first, each.min(1 << 16)));
        (number, first, has_length && is_whole)
    };
    if !whole || bytes.get(..12) != Some(&ENDS) {
        return Err(format!("frame {number} leaves changed: {} bytes", bytes.len()));
    }
    if tag_of(tagged_as).as_ref().map(|tag| &tag[..]) != tag {
        return Err(format!("frame {number} leaves with another's tag: {tag:?}"));
    }
    Ok(number)
}
