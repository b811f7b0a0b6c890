//! Writing captures with times in nanoseconds: pcap, or pcapng where there are several interfaces; compressed if asked for.
//!
//! *References.* draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::compression::{Compression, Packer};
use super::link_type::LinkType;
use super::{Format, Interface, error};

/// Ends of the names of captures, and what each means.
const FORMS: [(&str, Form); 6] = [
    (".pcap", Form { format: Format::Pcap, compression: Compression::None }),
    (".pcap.gz", Form { format: Format::Pcap, compression: Compression::Gzip }),
    (".pcap.zst", Form { format: Format::Pcap, compression: Compression::Zstd }),
    (".pcapng", Form { format: Format::Pcapng, compression: Compression::None }),
    (".pcapng.gz", Form { format: Format::Pcapng, compression: Compression::Gzip }),
    (".pcapng.zst", Form { format: Format::Pcapng, compression: Compression::Zstd }),
];

/// What may be captured of a packet, as in the header, bytes.
const MOST_CAPTURED: u32 = 1 << 18;

/// How a capture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// The framing.
    pub format: Format,
    /// And what is made of that.
    pub compression: Compression,
}

impl Form {
    /// The plain form.
    pub fn plain(format: Format) -> Form {
        Form { format, compression: Compression::None }
    }

    /// What a file's name asks for, `paced.pcapng.gz`; `None` where it does not say.
    ///
    /// ```
    /// # use paceline_capture::{Compression, Format, write::Form};
    /// let form = Form::of_name("paced.pcapng.gz".as_ref());
    /// assert_eq!(form, Some(Form { format: Format::Pcapng, compression: Compression::Gzip }));
    /// assert_eq!(Form::of_name("paced.csv".as_ref()), None);
    /// ```
    pub fn of_name(path: &Path) -> Option<Form> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        FORMS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, form)| *form)
    }

    /// Ends of names that say what to write.
    pub fn suffixes() -> [&'static str; FORMS.len()] {
        FORMS.map(|(end, _)| end)
    }
}

/// A capture that is being written.
pub struct Writer<'a> {
    output: Packer<'a>,
    format: Format,
    /// pcap: the header's. None before it is written.
    link_type: Option<LinkType>,
    /// pcapng: whether the section's header has been written, and the number there of each interface.
    begun: bool,
    numbers: Vec<Option<u32>>,
    declared: u32,
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("format", &self.format).finish_non_exhaustive()
    }
}

impl<'a> Writer<'a> {
    /// Writes a file. An error is one line.
    pub fn create(path: &Path, form: Form) -> Result<Writer<'static>, String> {
        let file = File::create(path).map_err(|error| error::plain(&error))?;
        Writer::new(Box::new(file), form)
    }

    /// Writes to whatever takes bytes.
    pub fn new(output: Box<dyn Write + Send + 'a>, form: Form) -> Result<Writer<'a>, String> {
        let output = Packer::new(output, form.compression).map_err(|error| error::plain(&error))?;
        let format = form.format;
        Ok(Writer { output, format, link_type: None, begun: false, numbers: Vec::new(), declared: 0 })
    }

    /// A packet: when, nanoseconds since 1970; its length on the wire; where; what was captured of it.
    pub fn write(
        &mut self,
        time_ns: u64,
        bytes: u32,
        interface: u32,
        frame: &[u8],
        interfaces: &[Interface],
    ) -> Result<(), String> {
        let Some(of) = interfaces.get(interface as usize) else { return Ok(()) };
        match self.format {
            Format::Pcap => self.pcap(time_ns, bytes, of, frame),
            Format::Pcapng => self.pcapng(time_ns, bytes, interface, of, frame),
        }
    }

    /// Ends the file; one without packets has a header too.
    pub fn finish(mut self, interfaces: &[Interface]) -> Result<(), String> {
        match self.format {
            Format::Pcap => {
                self.header(interfaces.first().map_or(LinkType::ETHERNET, |interface| interface.link_type))?;
            }
            Format::Pcapng => self.section()?,
        }
        self.output.finish().map_err(|error| error::plain(&error))
    }

    fn pcap(&mut self, time_ns: u64, bytes: u32, of: &Interface, frame: &[u8]) -> Result<(), String> {
        self.header(of.link_type)?;
        if self.link_type != Some(of.link_type) {
            return Err(
                "a pcap has frames of one link type, and these are of several; name it .pcapng".into()
            );
        }
        let seconds = u32::try_from(time_ns / 1_000_000_000);
        let seconds = seconds.map_err(|_| "a pcap has no time after 2106; name it .pcapng")?;
        let fraction = (time_ns % 1_000_000_000) as u32;
        self.words(&[seconds, fraction, frame.len() as u32, bytes])?;
        self.put(frame)
    }

    fn header(&mut self, link_type: LinkType) -> Result<(), String> {
        if self.link_type.is_some() {
            return Ok(());
        }
        self.link_type = Some(link_type);
        self.words(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, MOST_CAPTURED, link_type.0])
    }

    fn pcapng(
        &mut self,
        time_ns: u64,
        bytes: u32,
        interface: u32,
        of: &Interface,
        frame: &[u8],
    ) -> Result<(), String> {
        self.section()?;
        let place = interface as usize;
        if place >= self.numbers.len() {
            self.numbers.resize(place + 1, None);
        }
        let number = match self.numbers.get(place).copied().flatten() {
            Some(number) => number,
            None => self.interface(place, of)?,
        };
        let padding = frame.len().next_multiple_of(4) - frame.len();
        let length = 32 + (frame.len() + padding) as u32;
        let (high, low) = ((time_ns >> 32) as u32, time_ns as u32);
        self.words(&[6, length, number, high, low, frame.len() as u32, bytes])?;
        self.put(frame)?;
        self.put([0; 3].get(..padding).unwrap_or_default())?;
        self.words(&[length])
    }

    fn section(&mut self) -> Result<(), String> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        self.words(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28])
    }

    /// Declares an interface: its number in the file.
    fn interface(&mut self, place: usize, of: &Interface) -> Result<u32, String> {
        let mut name = of.name.clone().unwrap_or_default().into_bytes();
        name.truncate(usize::from(u16::MAX - 3));
        let size = name.len();
        name.resize(size.next_multiple_of(4), 0);
        // times in units of 10^-9 s: option 9; the name: option 2; the end of options
        let length = 20 + 8 + if size > 0 { 4 + name.len() as u32 } else { 0 } + 4;
        self.words(&[1, length, of.link_type.0 & 0xffff, MOST_CAPTURED, 9 | 1 << 16, 9])?;
        if size > 0 {
            self.words(&[2 | (size as u32) << 16])?;
            self.put(&name)?;
        }
        self.words(&[0, length])?;
        let number = self.declared;
        self.declared += 1;
        if let Some(slot) = self.numbers.get_mut(place) {
            *slot = Some(number);
        }
        Ok(number)
    }

    fn words(&mut self, words: &[u32]) -> Result<(), String> {
        words.iter().try_for_each(|word| self.put(&word.to_le_bytes()))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.output.put(bytes).map_err(|error| error::plain(&error))
    }
}
