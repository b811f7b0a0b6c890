//! pcapng: sections of blocks; interfaces with clocks of their own, and packets that name theirs.
//!
//! *Idea.* A block's header has its length. Section headers, interfaces and packets (enhanced, simple, and the obsolete
//! kind) are read, all else is passed over without being held. The n-th interface of a section is the n-th of the one
//! before where name and link type are the same, so that captures written one after the other into a file stay together.
//! *References.* draft-ietf-opsawg-pcapng.

use super::link_type::LinkType;
use super::pcap::{half, word};
use super::source::Source;
use super::{CaptureError, Found, Interface, LeftOut, MOST_BYTES};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Bytes of a packet block before the frame.
const PACKET_HEADER: usize = 28;
/// More interfaces than this are no capture's.
const MOST_INTERFACES: usize = 1024;

/// Where in the capture the reader is.
#[derive(Debug)]
pub(super) struct Pcapng {
    big_endian: bool,
    /// Interfaces of this section.
    clocks: Vec<Clock>,
}

/// An interface of a section.
#[derive(Debug, Clone, Copy)]
struct Clock {
    /// Its position among the interfaces of the capture.
    interface: u32,
    resolution: Resolution,
    /// Seconds to add.
    offset_s: i64,
}

/// What a unit of time is.
#[derive(Debug, Clone, Copy)]
enum Resolution {
    /// 10 to the power of minus this, seconds.
    Decimal(u8),
    /// 2 to the power of minus this, seconds.
    Binary(u8),
}

impl Pcapng {
    /// Reads nothing yet: the section's header is a block like others.
    pub(super) fn begin(source: &mut Source) -> Result<Pcapng, CaptureError> {
        let uncompressed = source.is_compressed();
        let broken = |problem: String| CaptureError::Broken { packets: 0, at: 0, uncompressed, problem };
        match source.need(12, "its header") {
            Ok(Some(header)) if byte_order(header).is_some() => {}
            Ok(Some(_)) => {
                return Err(broken("the section's header has no byte order mark".to_owned()));
            }
            Ok(None) => return Err(broken("the capture ends within its header".to_owned())),
            Err(problem) => return Err(broken(problem)),
        }
        Ok(Pcapng { big_endian: false, clocks: Vec::new() })
    }

    pub(super) fn next(
        &mut self,
        source: &mut Source,
        interfaces: &mut Vec<Interface>,
        left_out: &mut LeftOut,
    ) -> Result<Option<Found>, String> {
        loop {
            let Some(header) = source.need(8, "a block's header")? else { return Ok(None) };
            let kind = word(header, 0, self.big_endian);
            if kind == SECTION {
                let header = source.need(12, "a section's header")?.unwrap_or_default();
                let order = byte_order(header).ok_or("a section's header has no byte order mark")?;
                self.big_endian = order;
            }
            let length = word(source.buffered(), 4, self.big_endian);
            if length < 12 || !length.is_multiple_of(4) {
                return Err(format!("a block claims to have {length} bytes"));
            }
            let is_read =
                matches!(kind, SECTION | INTERFACE | OBSOLETE_PACKET | SIMPLE_PACKET | ENHANCED_PACKET);
            if !is_read {
                self.pass_over(source, length)?;
                continue;
            }
            if length > MOST_BYTES {
                return Err(format!("a block that must be read claims to have {length} bytes"));
            }
            let total = length as usize;
            let block = source.need(total, "a block")?.unwrap_or_default();
            if word(block, total - 4, self.big_endian) != length {
                return Err("a block's two lengths are not the same".to_owned());
            }
            let body = block.get(8..total - 4).unwrap_or_default();
            match kind {
                SECTION => self.begin_section(body)?,
                INTERFACE => self.add_interface(body, interfaces)?,
                SIMPLE_PACKET => left_out.untimed += 1,
                _ => match self.packet(kind, body, total)? {
                    Some(found) => return Ok(Some(found)),
                    None => left_out.mistimed += 1,
                },
            }
            source.consume(total);
        }
    }

    fn begin_section(&mut self, body: &[u8]) -> Result<(), String> {
        let major = half(body, 4, self.big_endian);
        if body.len() < 16 || major != 1 {
            return Err(format!("a section is of pcapng version {major}, and only 1 can be read"));
        }
        self.clocks.clear();
        Ok(())
    }

    fn add_interface(&mut self, body: &[u8], interfaces: &mut Vec<Interface>) -> Result<(), String> {
        if body.len() < 8 {
            return Err("an interface's block is too short".to_owned());
        }
        let mut name = None;
        let (mut resolution, mut offset_s) = (Resolution::Decimal(6), 0);
        let mut options = body.get(8..).unwrap_or_default();
        while options.len() >= 4 {
            let (code, length) = (half(options, 0, self.big_endian), half(options, 2, self.big_endian));
            let Some(value) = options.get(4..4 + usize::from(length)) else { break };
            match (code, value) {
                (0, _) => break,
                (2, text) => {
                    let text = String::from_utf8_lossy(text);
                    name = Some(text.trim_end_matches('\0').to_owned()).filter(|name| !name.is_empty());
                }
                (9, &[unit, ..]) if unit & 0x80 != 0 => resolution = Resolution::Binary(unit & 0x7f),
                (9, &[unit, ..]) => resolution = Resolution::Decimal(unit),
                (14, value) => {
                    if let Ok(eight) = <[u8; 8]>::try_from(value) {
                        let big = self.big_endian;
                        offset_s = if big { i64::from_be_bytes(eight) } else { i64::from_le_bytes(eight) };
                    }
                }
                _ => {}
            }
            options = options.get(4 + usize::from(length).next_multiple_of(4)..).unwrap_or_default();
        }
        let link_type = LinkType(u32::from(half(body, 0, self.big_endian)));
        let interface = Interface { link_type, name };
        let place = self.clocks.len();
        let known = interfaces.get(place) == Some(&interface);
        let place = if known { place } else { interfaces.len() };
        if place >= MOST_INTERFACES {
            return Err(format!("it has more than {MOST_INTERFACES} interfaces"));
        }
        if !known {
            interfaces.push(interface);
        }
        self.clocks.push(Clock { interface: place as u32, resolution, offset_s });
        Ok(())
    }

    /// A packet that has a time, `None` if that cannot be: both kinds have the same fields, but for the interface's.
    fn packet(&self, kind: u32, body: &[u8], total: usize) -> Result<Option<Found>, String> {
        let word = |at| word(body, at, self.big_endian);
        let number = match kind {
            OBSOLETE_PACKET => u32::from(half(body, 0, self.big_endian)),
            _ => word(0),
        };
        let captured = word(12) as usize;
        if body.len() < PACKET_HEADER - 8 || captured > body.len() - (PACKET_HEADER - 8) {
            return Err(format!("a packet claims to have {captured} captured bytes, more than its block"));
        }
        let clock = self.clocks.get(number as usize);
        let clock = clock.ok_or_else(|| {
            format!("a packet is of interface {number}, and the section has {}", self.clocks.len())
        })?;
        let units = u64::from(word(4)) << 32 | u64::from(word(8));
        Ok(clock.nanoseconds(units).map(|time_ns| Found {
            time_ns,
            bytes: word(16).max(captured as u32),
            interface: clock.interface,
            offset: PACKET_HEADER,
            captured,
            total,
        }))
    }

    /// The time of the packet so many bytes on, if the block there is one, and how many bytes that takes.
    pub(super) fn time_behind(&self, source: &mut Source, bytes: usize) -> Option<(Option<u64>, usize)> {
        let there = source.need(bytes + 12, "a block").ok()??;
        let (kind, length) = (word(there, bytes, self.big_endian), word(there, bytes + 4, self.big_endian));
        if kind == SECTION || !(12..=MOST_BYTES).contains(&length) {
            return None;
        }
        let is_packet = matches!(kind, ENHANCED_PACKET | OBSOLETE_PACKET);
        if !is_packet || (length as usize) < PACKET_HEADER {
            return Some((None, length as usize));
        }
        let there = source.need(bytes + PACKET_HEADER, "a block").ok()??;
        // what is captured of it is not looked at: it takes no part in this
        let mut body = [0; PACKET_HEADER - 8];
        body.copy_from_slice(there.get(bytes + 8..bytes + PACKET_HEADER)?);
        body[12..16].fill(0);
        let found = self.packet(kind, &body, 0).ok().flatten();
        Some((found.map(|found| found.time_ns), length as usize))
    }

    /// Skips a block that is not read, however long.
    fn pass_over(&self, source: &mut Source, length: u32) -> Result<(), String> {
        let position = source.position();
        if source.skip(u64::from(length)) == u64::from(length) {
            return Ok(());
        }
        Err(format!("the capture ends within a block that began at byte {position}"))
    }
}

impl Clock {
    /// Nanoseconds since 1970, cut; `None` beyond what can be counted.
    fn nanoseconds(&self, units: u64) -> Option<u64> {
        let scaled = u128::from(units) * 1_000_000_000;
        let since = match self.resolution {
            // 10^39 and more units a second: no time that fits is as much as a nanosecond
            Resolution::Decimal(power) => {
                10u128.checked_pow(u32::from(power)).map_or(0, |units| scaled / units)
            }
            Resolution::Binary(power) => scaled >> power,
        };
        let offset = i128::from(self.offset_s) * 1_000_000_000;
        u64::try_from(i128::try_from(since).ok()?.checked_add(offset)?).ok()
    }
}

/// Whether a section is big-endian.
fn byte_order(header: &[u8]) -> Option<bool> {
    if word(header, 8, false) == BYTE_ORDER {
        return Some(false);
    }
    (word(header, 8, true) == BYTE_ORDER).then_some(true)
}
