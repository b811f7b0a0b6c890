//! Packet captures: pcap (either byte order, micro- and nanoseconds) and pcapng, plain, gzip'd or in zstd, read as a stream; and
//! written ([`write`]).
//!
//! *Idea.* A capture is read front to back through one buffer that holds a packet at a time, so that memory does not grow
//! with the file. Framing is read here, not by a library: the ones at hand refuse resolutions of powers of two, stop at
//! blocks that a reader may skip, and wait for more of a block that contradicts itself.
//! *Where it breaks.* A file that is cut off or broken yields its packets up to that point, then one
//! [`CaptureError::Broken`], then nothing. Packets without a time (pcapng's simple packet blocks), or with one that cannot be, are
//! counted and left out.
//! *References.* draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.

mod compression;
mod error;
pub mod link_type;
pub mod order;
mod pcap;
mod pcapng;
mod sniff;
mod source;
pub mod write;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use compression::Compression;
pub use error::CaptureError;
use link_type::LinkType;
use pcap::Pcap;
use pcapng::Pcapng;
use source::Source;

/// The largest packet or block that is believed, bytes; Wireshark's limit is 256 KiB for most links.
const MOST_BYTES: u32 = 1 << 24;

/// A packet so far ahead of the one before it is looked at twice, nanoseconds: a day.
const LEAP_NS: u64 = 86_400 * 1_000_000_000;

/// No capture is quiet for so long, nanoseconds: ten years.
const NEVER_NS: u64 = 3_652 * LEAP_NS;

/// As many packets behind one whose time is in doubt say whether it can be.
const WITNESSES: usize = 8;

/// A packet of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// When it was captured, nanoseconds since 1970 (finer resolutions are cut). May be before the one ahead of it: see
    /// [`order::Order`].
    pub time_ns: u64,
    /// Its length on the wire as the capture counts it, bytes: link header included, preamble and checksum seldom.
    pub bytes: u32,
    /// Where it was captured, a position in [`Capture::interfaces`].
    pub interface: u32,
    /// What was captured of it, from its first byte.
    pub frame: &'a [u8],
}

/// Where packets were captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// What its frames begin with.
    pub link_type: LinkType,
    /// As the capture calls it.
    pub name: Option<String>,
}

/// What kind of file a capture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One interface, one clock.
    Pcap,
    /// Blocks: interfaces with clocks of their own.
    Pcapng,
}

impl Format {
    /// What the format is called.
    ///
    /// ```
    /// assert_eq!(paceline_capture::Format::Pcapng.name(), "pcapng");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Format::Pcap => "pcap",
            Format::Pcapng => "pcapng",
        }
    }
}

/// A capture that is being read.
///
/// ```
/// use paceline_capture::{Capture, Format, Interface, link_type::LinkType};
/// use paceline_capture::write::{Form, Writer};
///
/// // Two packets, written and read again.
/// let mut file = Vec::new();
/// let interfaces = [Interface { link_type: LinkType::ETHERNET, name: None }];
/// let mut writer = Writer::new(Box::new(&mut file), Form::plain(Format::Pcap))?;
/// for time_ns in [1_000, 2_000] {
///     writer.write(time_ns, 1514, 0, &[0; 64], &interfaces)?; // of 1514 bytes, 64 captured
/// }
/// writer.finish(&interfaces)?;
///
/// let mut capture = Capture::read_from(Box::new(std::io::Cursor::new(file)))?;
/// assert_eq!(capture.format(), Format::Pcap);
/// while let Some(record) = capture.read()? {
///     assert_eq!((record.bytes, record.frame.len()), (1514, 64));
/// }
/// assert_eq!((capture.packets(), capture.untimed(), capture.mistimed()), (2, 0, 0));
/// assert_eq!(capture.interfaces().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Capture {
    source: Source,
    reader: Reader,
    interfaces: Vec<Interface>,
    packets: u64,
    left_out: LeftOut,
    /// The latest time so far, nanoseconds.
    latest_ns: Option<u64>,
    /// Bytes of the source that the last record takes.
    taken: usize,
    ended: bool,
}

#[derive(Debug)]
enum Reader {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// Packets that are not given because of their times.
#[derive(Debug, Clone, Copy, Default)]
struct LeftOut {
    untimed: u64,
    mistimed: u64,
}

/// Where the next packet lies in the source.
#[derive(Debug, Clone, Copy)]
struct Found {
    time_ns: u64,
    bytes: u32,
    interface: u32,
    /// Its frame begins so many bytes on, and has so many.
    offset: usize,
    captured: usize,
    /// The packet and all that belongs to it has so many.
    total: usize,
}

/// How far a capture has been read, for another thread to see.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Bytes of the file, compressed as it may be, that have been read.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Opens a file. Reads no more than its beginning.
///
/// ```
/// # use std::path::Path;
/// let refused = paceline_capture::open(Path::new("/")).unwrap_err();
/// assert!(refused.to_string().contains("directory"));
/// ```
pub fn open(path: &Path) -> Result<Capture, CaptureError> {
    let unreadable = |error: std::io::Error| CaptureError::Unreadable { problem: error::plain(&error) };
    if path.is_dir() {
        return Err(CaptureError::Unreadable { problem: "it is a directory; name a file in it".to_owned() });
    }
    let file = File::open(path).map_err(unreadable)?;
    Capture::read_from(Box::new(file))
}

impl Capture {
    /// Reads a capture from whatever yields its bytes.
    pub fn read_from(input: Box<dyn Read + Send>) -> Result<Capture, CaptureError> {
        let mut source = Source::new(input)?;
        let mut interfaces = Vec::new();
        let reader = match sniff::format_of(source.peek(sniff::WANTED)?) {
            Ok(Format::Pcap) => {
                let (pcap, interface) = Pcap::begin(&mut source)?;
                interfaces.push(interface);
                Reader::Pcap(pcap)
            }
            Ok(Format::Pcapng) => Reader::Pcapng(Pcapng::begin(&mut source)?),
            Err(what) => return Err(CaptureError::NotACapture { what }),
        };
        let left_out = LeftOut::default();
        Ok(Capture {
            source,
            reader,
            interfaces,
            packets: 0,
            left_out,
            latest_ns: None,
            taken: 0,
            ended: false,
        })
    }

    /// The next packet; `None` after the last. After an error there is none.
    #[inline]
    pub fn read(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        Ok(self.read_beside()?.map(|(record, _)| record))
    }

    /// The next packet, with the interfaces known by then.
    pub fn read_beside(&mut self) -> Result<Option<(Record<'_>, &[Interface])>, CaptureError> {
        if self.ended {
            return Ok(None);
        }
        match self.find() {
            Ok(Some(found)) => {
                self.packets += 1;
                self.latest_ns = self.latest_ns.max(Some(found.time_ns));
                let frame = self.source.buffered().get(found.offset..found.offset + found.captured);
                let Found { time_ns, bytes, interface, .. } = found;
                let record = Record { time_ns, bytes, interface, frame: frame.unwrap_or_default() };
                Ok(Some((record, &self.interfaces)))
            }
            Ok(None) => {
                self.ended = true;
                Ok(None)
            }
            Err(problem) => {
                self.ended = true;
                Err(CaptureError::Broken {
                    packets: self.packets,
                    at: self.source.position(),
                    uncompressed: self.source.is_compressed(),
                    problem,
                })
            }
        }
    }

    /// The next packet whose time can be.
    #[inline]
    fn find(&mut self) -> Result<Option<Found>, String> {
        loop {
            self.source.consume(std::mem::take(&mut self.taken));
            let found = match &mut self.reader {
                Reader::Pcap(pcap) => pcap.next(&mut self.source, &mut self.left_out)?,
                Reader::Pcapng(pcapng) => {
                    pcapng.next(&mut self.source, &mut self.interfaces, &mut self.left_out)?
                }
            };
            let Some(found) = found else { return Ok(None) };
            self.taken = found.total;
            let leaps = self.latest_ns.is_none_or(|latest| found.time_ns.saturating_sub(latest) > LEAP_NS);
            if !leaps || !self.is_astray(&found) {
                return Ok(Some(found));
            }
            self.left_out.mistimed += 1;
        }
    }

    /// Whether the first packet, or one that leaps ahead, is far from where most of those behind it are. Of the last packet,
    /// and of a first one that lags, only years tell that.
    #[cold]
    fn is_astray(&mut self, found: &Found) -> bool {
        let (mut behind, mut back, mut ahead) = (0, 0, 0);
        let mut bytes = 0;
        for _ in 0..WITNESSES {
            let next = match &self.reader {
                Reader::Pcap(pcap) => pcap.time_behind(&mut self.source, found.total + bytes),
                Reader::Pcapng(pcapng) => pcapng.time_behind(&mut self.source, found.total + bytes),
            };
            let Some((time_ns, total)) = next else { break };
            if let Some(time_ns) = time_ns {
                behind += 1;
                back += usize::from(found.time_ns.saturating_sub(time_ns) > LEAP_NS);
                ahead += usize::from(time_ns.saturating_sub(found.time_ns) > NEVER_NS);
            }
            bytes += total;
            if bytes > MOST_BYTES as usize {
                break;
            }
        }
        match self.latest_ns {
            _ if 2 * back > behind => true,
            Some(latest) if behind == 0 => {
                self.packets >= WITNESSES as u64 / 2 && found.time_ns - latest > NEVER_NS
            }
            Some(_) => false,
            None => behind >= WITNESSES / 2 && 2 * ahead > behind,
        }
    }

    /// What kind of file it is.
    pub fn format(&self) -> Format {
        match self.reader {
            Reader::Pcap(_) => Format::Pcap,
            Reader::Pcapng(_) => Format::Pcapng,
        }
    }

    /// Where packets were captured, as far as it has been read; a pcapng may add more as it goes on.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Packets read so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Packets left out so far because the capture has no time for them.
    pub fn untimed(&self) -> u64 {
        self.left_out.untimed
    }

    /// Packets left out so far because the time that the capture has for them cannot be: it is before 1970 or after 2554, more
    /// than a second is left of its seconds, or it is a day ahead of most packets around it; so is the first one that is ten
    /// years behind those after it, and the last one that is as much ahead of those before.
    pub fn mistimed(&self) -> u64 {
        self.left_out.mistimed
    }

    /// To see from another thread how far it has been read.
    ///
    /// ```
    /// # use paceline_capture::{Capture, Format, write::{Form, Writer}};
    /// # let mut file = Vec::new();
    /// # Writer::new(Box::new(&mut file), Form::plain(Format::Pcap))?.finish(&[])?;
    /// let length = file.len() as u64; // a pcap without packets
    /// let mut capture = Capture::read_from(Box::new(std::io::Cursor::new(file)))?;
    /// let progress = capture.progress();
    /// while capture.read()?.is_some() {}
    /// assert_eq!(progress.bytes(), length);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn progress(&self) -> Progress {
        self.source.progress()
    }
}
