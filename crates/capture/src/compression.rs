//! gzip and zstd, which captures are often kept in: recognised by their first bytes when read, by a file's name when written.

use std::io::{self, BufWriter, Read, Write};

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// Bytes written at once.
const BUFFER: usize = 1 << 18;

/// How a capture's bytes are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
}

impl Compression {
    /// What a file begins with.
    pub(super) fn of_bytes(first: &[u8]) -> Compression {
        match first {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// In messages: `the gzip'd data are cut off`.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Compression::None => None,
            Compression::Gzip => Some("gzip'd"),
            Compression::Zstd => Some("zstd"),
        }
    }

    pub(super) fn unpack(self, input: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Compression::None => input,
            Compression::Gzip => Box::new(MultiGzDecoder::new(input)),
            Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(input)?),
        })
    }
}

/// Bytes on their way into a file.
pub(super) enum Packer<'a> {
    Plain(BufWriter<Box<dyn Write + Send + 'a>>),
    Gzip(GzEncoder<BufWriter<Box<dyn Write + Send + 'a>>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<Box<dyn Write + Send + 'a>>>),
}

impl<'a> Packer<'a> {
    pub(super) fn new(
        output: Box<dyn Write + Send + 'a>,
        compression: Compression,
    ) -> io::Result<Packer<'a>> {
        let output = BufWriter::with_capacity(BUFFER, output);
        Ok(match compression {
            Compression::None => Packer::Plain(output),
            Compression::Gzip => Packer::Gzip(GzEncoder::new(output, flate2::Compression::default())),
            Compression::Zstd => {
                let mut output = zstd::stream::write::Encoder::new(output, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                output.include_checksum(true)?;
                Packer::Zstd(output)
            }
        })
    }

    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Packer::Plain(output) => output.write_all(bytes),
            Packer::Gzip(output) => output.write_all(bytes),
            Packer::Zstd(output) => output.write_all(bytes),
        }
    }

    /// Writes what is held back, and what the packed data end with.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Packer::Plain(mut output) => output.flush(),
            Packer::Gzip(output) => output.finish()?.flush(),
            Packer::Zstd(output) => output.finish()?.flush(),
        }
    }
}
