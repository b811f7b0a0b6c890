//! Captures as `tcpdump -w` writes them: pcap, either byte order, micro- or nanoseconds; written with nanoseconds.
//!
//! (`paceline analyse` reads more forms; `editcap -F nsecpcap` makes a pcap of them.)
//!
//! *References.* draft-ietf-opsawg-pcap.

use std::io::{ErrorKind, Read, Write};

use paceline_core::Instant;

/// The largest frame that is believed, bytes.
const MOST_BYTES: u32 = 1 << 18;

/// A frame of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// When it was captured, since 1970.
    pub time: Instant,
    /// Its length on the wire, bytes.
    pub bytes: u32,
    /// What was captured of it.
    pub captured: Vec<u8>,
}

/// A capture that is being read.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    big_endian: bool,
    nanoseconds: bool,
    link_type: u32,
    records: u64,
}

impl<R: Read> Reader<R> {
    /// Reads the header. What is wrong is said in one line.
    pub fn begin(mut input: R) -> Result<Self, String> {
        let mut header = [0; 24];
        input.read_exact(&mut header).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => "is too short for a capture; name a pcap file".to_owned(),
            _ => error.to_string(),
        })?;
        let [a, b, c, d, ..] = header;
        let (big_endian, nanoseconds) = match [a, b, c, d] {
            [0xd4, 0xc3, 0xb2, 0xa1] => (false, false),
            [0x4d, 0x3c, 0xb2, 0xa1] => (false, true),
            [0xa1, 0xb2, 0xc3, 0xd4] => (true, false),
            [0xa1, 0xb2, 0x3c, 0x4d] => (true, true),
            [0x0a, 0x0d, 0x0d, 0x0a] => {
                return Err("is a pcapng; make a pcap of it: editcap -F nsecpcap IN OUT".to_owned());
            }
            [0x1f, 0x8b, ..] => return Err("is gzip'd; unpack it first: gunzip".to_owned()),
            _ => return Err("is no pcap; write one by tcpdump -w".to_owned()),
        };
        let mut reader = Reader { input, big_endian, nanoseconds, link_type: 0, records: 0 };
        let [.., a, b, c, d] = header;
        reader.link_type = reader.word([a, b, c, d]) & 0x0fff_ffff;
        Ok(reader)
    }

    /// What frames begin with, as the header says it.
    pub fn link_type(&self) -> u32 {
        self.link_type
    }

    /// The next frame; `None` after the last.
    #[allow(clippy::should_implement_trait, reason = "it can fail")]
    pub fn next(&mut self) -> Result<Option<Record>, String> {
        let mut header = [[0; 4]; 4];
        let bytes = header.as_flattened_mut();
        let mut there = 0;
        while let Some(space) = bytes.get_mut(there..).filter(|space| !space.is_empty()) {
            match self.input.read(space) {
                Ok(0) if there == 0 => return Ok(None),
                Ok(0) => return Err(self.broken("ends within a frame's header")),
                Ok(count) => there += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        let [seconds, fraction, captured, length] = header.map(|word| self.word(word));
        if captured > MOST_BYTES || length > MOST_BYTES {
            return Err(self.broken("says that a frame has more than 256 KiB"));
        }
        let unit = if self.nanoseconds { 1 } else { 1000 };
        if u64::from(fraction) * unit >= 1_000_000_000 {
            return Err(self.broken("has a fraction of a second that is more than one"));
        }
        let mut frame = vec![0; captured as usize];
        self.input.read_exact(&mut frame).map_err(|_| self.broken("ends within a frame"))?;
        self.records += 1;
        let time = Instant::from_nanos(u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * unit);
        Ok(Some(Record { time, bytes: length, captured: frame }))
    }

    fn word(&self, bytes: [u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn broken(&self, problem: &str) -> String {
        format!("after {} frames it {problem}; it is cut off or broken", self.records)
    }
}

/// A capture that is being written.
#[derive(Debug)]
pub struct Writer<W: Write> {
    output: W,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub fn begin(output: W, link_type: u32) -> Result<Self, String> {
        let mut writer = Writer { output };
        writer.words(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, MOST_BYTES, link_type])?;
        Ok(writer)
    }

    /// A frame that leaves at that time, since 1970.
    pub fn write(&mut self, at: Instant, record: &Record) -> Result<(), String> {
        let nanos = at.as_nanos();
        let seconds = u32::try_from(nanos / 1_000_000_000).map_err(|_| "a pcap has no time after 2106")?;
        let fraction = (nanos % 1_000_000_000) as u32;
        self.words(&[seconds, fraction, record.captured.len() as u32, record.bytes])?;
        self.output.write_all(&record.captured).map_err(|error| error.to_string())
    }

    /// Ends it.
    pub fn finish(mut self) -> Result<(), String> {
        self.output.flush().map_err(|error| error.to_string())
    }

    fn words(&mut self, words: &[u32]) -> Result<(), String> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.output.write_all(&bytes).map_err(|error| error.to_string())
    }
}
