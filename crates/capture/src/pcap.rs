//! pcap: a header, then packets, each with a header of 16 bytes.
//!
//! *References.* draft-ietf-opsawg-pcap. The "modified" format with longer packet headers is A. Kuznetsov's, which libpcap
//! reads too.

use super::link_type::LinkType;
use super::source::Source;
use super::{CaptureError, Found, Interface, LeftOut, MOST_BYTES};

/// Bytes of the file's header.
const FILE_HEADER: usize = 24;

/// What the file's header has of its packets.
#[derive(Debug)]
pub(super) struct Pcap {
    big_endian: bool,
    /// Nanoseconds of the fraction's unit.
    unit_ns: u64,
    packet_header: usize,
}

impl Pcap {
    /// Reads the file's header.
    pub(super) fn begin(source: &mut Source) -> Result<(Pcap, Interface), CaptureError> {
        let uncompressed = source.is_compressed();
        let broken = |problem: String| CaptureError::Broken { packets: 0, at: 0, uncompressed, problem };
        let header = source.need(FILE_HEADER, "its header").map_err(broken)?;
        let Some(header) = header.and_then(<[u8]>::first_chunk::<FILE_HEADER>).copied() else {
            return Err(broken("the capture ends within its header".to_owned()));
        };
        let big_endian = header[0] == 0xa1;
        let word = |at: usize| word(&header, at, big_endian);
        let (unit_ns, packet_header) = match word(0) {
            0xa1b2_3c4d => (1, 16),
            0xa1b2_cd34 => (1000, 24),
            _ => (1000, 16),
        };
        let (major, minor) = if big_endian {
            (u16::from_be_bytes([header[4], header[5]]), u16::from_be_bytes([header[6], header[7]]))
        } else {
            (u16::from_le_bytes([header[4], header[5]]), u16::from_le_bytes([header[6], header[7]]))
        };
        if (major, minor) != (2, 4) {
            let what = format!("it is of pcap version {major}.{minor}, and only 2.4 can be read");
            return Err(CaptureError::NotACapture { what });
        }
        // the upper bits tell of checksums
        let link_type = LinkType(word(20) & 0x03ff_ffff);
        source.consume(FILE_HEADER);
        Ok((Pcap { big_endian, unit_ns, packet_header }, Interface { link_type, name: None }))
    }

    #[inline]
    pub(super) fn next(
        &mut self,
        source: &mut Source,
        left_out: &mut LeftOut,
    ) -> Result<Option<Found>, String> {
        let offset = self.packet_header;
        loop {
            let Some(header) = source.need(offset, "a packet's header")? else { return Ok(None) };
            let word = |at| word(header, at, self.big_endian);
            let (time_ns, captured, bytes) = (self.time_ns(header), word(8), word(12));
            if captured > MOST_BYTES {
                return Err(format!("a packet claims to have {captured} captured bytes"));
            }
            let captured = captured as usize;
            let total = offset + captured;
            if source.need(total, "a packet")?.is_none() {
                return Ok(None);
            }
            let Some(time_ns) = time_ns else {
                left_out.mistimed += 1;
                source.consume(total);
                continue;
            };
            let bytes = bytes.max(captured as u32);
            return Ok(Some(Found { time_ns, bytes, interface: 0, offset, captured, total }));
        }
    }

    /// The time of a packet by its header; `None` where more than a second is left of its seconds.
    #[inline]
    fn time_ns(&self, header: &[u8]) -> Option<u64> {
        let word = |at| u64::from(word(header, at, self.big_endian));
        let fraction_ns = word(4) * self.unit_ns;
        (fraction_ns < 1_000_000_000).then(|| word(0) * 1_000_000_000 + fraction_ns)
    }

    /// The time of the packet so many bytes on, if there is one, and how many bytes it takes.
    pub(super) fn time_behind(&self, source: &mut Source, bytes: usize) -> Option<(Option<u64>, usize)> {
        let there = source.need(bytes + self.packet_header, "a packet's header").ok()??;
        let header = there.get(bytes..)?;
        let captured = word(header, 8, self.big_endian);
        (captured <= MOST_BYTES).then(|| (self.time_ns(header), self.packet_header + captured as usize))
    }
}

/// The 32-bit number that begins at a byte; 0 beyond the end.
#[inline]
pub(super) fn word(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let four = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>).copied().unwrap_or_default();
    if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
}

/// The 16-bit number that begins at a byte; 0 beyond the end.
#[inline]
pub(super) fn half(bytes: &[u8], at: usize, big_endian: bool) -> u16 {
    let two = bytes.get(at..).and_then(<[u8]>::first_chunk::<2>).copied().unwrap_or_default();
    if big_endian { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) }
}
