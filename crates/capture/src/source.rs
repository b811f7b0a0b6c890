//! The bytes of a capture: from a file or a pipe, plain or compressed, through one buffer.
//!
//! *Idea.* [`Source::peek`] makes bytes lie in a row, [`Source::consume`] lets them go. The buffer grows with what has been
//! read, never with what a file claims, so that a claim of gigabytes costs nothing.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::compression::Compression;
use super::{CaptureError, Progress, error};

/// The buffer at first, bytes.
const BUFFER: usize = 1 << 18;

/// Bytes to come.
pub(super) struct Source {
    input: Box<dyn Read + Send>,
    progress: Progress,
    compression: Compression,
    buffer: Vec<u8>,
    /// What has been read and not yet consumed lies from here,
    start: usize,
    /// to here.
    end: usize,
    /// Bytes consumed.
    position: u64,
    /// There is no more; or why there is no more to be had.
    ended: Option<Result<(), String>>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("position", &self.position).finish_non_exhaustive()
    }
}

impl Source {
    /// Looks at the first bytes, and unpacks if they say so.
    pub(super) fn new(input: Box<dyn Read + Send>) -> Result<Source, CaptureError> {
        let progress = Progress::default();
        let input = Box::new(Counted { input, count: Arc::clone(&progress.0) });
        let mut source = Source {
            input,
            progress,
            compression: Compression::None,
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            position: 0,
            ended: None,
        };
        let compression = Compression::of_bytes(source.peek(4)?);
        if compression != Compression::None {
            let first = io::Cursor::new(source.buffered().to_vec());
            let rest = std::mem::replace(&mut source.input, Box::new(io::empty()));
            let packed: Box<dyn Read + Send> = match source.ended {
                Some(_) => Box::new(first),
                None => Box::new(first.chain(rest)),
            };
            source.input = compression
                .unpack(packed)
                .map_err(|error| CaptureError::Unreadable { problem: error::plain(&error) })?;
            (source.start, source.end, source.ended, source.compression) = (0, 0, None, compression);
        }
        Ok(source)
    }

    /// So many bytes in a row, or what is left if that is less. Fails where nothing is left because of an error.
    pub(super) fn peek(&mut self, wanted: usize) -> Result<&[u8], CaptureError> {
        self.fill(wanted);
        match &self.ended {
            Some(Err(problem)) if self.end - self.start < wanted => {
                Err(CaptureError::Unreadable { problem: problem.clone() })
            }
            _ => Ok(self.buffered()),
        }
    }

    /// So many bytes in a row; `None` where the input ends before the first. Says what is wrong where it ends later;
    /// `within` what.
    #[inline]
    pub(super) fn need(&mut self, wanted: usize, within: &str) -> Result<Option<&[u8]>, String> {
        if self.end - self.start < wanted {
            self.fill(wanted);
        }
        let there = self.end - self.start;
        if there >= wanted {
            return Ok(self.buffer.get(self.start..self.end));
        }
        match &self.ended {
            Some(Err(problem)) => Err(problem.clone()),
            _ if there == 0 => Ok(None),
            _ => Err(format!("the capture ends within {within}")),
        }
    }

    /// What has been read and not been consumed.
    pub(super) fn buffered(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Lets go of bytes that were peeked at.
    #[inline]
    pub(super) fn consume(&mut self, bytes: usize) {
        let bytes = bytes.min(self.end - self.start);
        self.start += bytes;
        self.position += bytes as u64;
    }

    /// Lets go of bytes whether they have been read or not; how many there were.
    pub(super) fn skip(&mut self, bytes: u64) -> u64 {
        let mut left = bytes;
        while left > 0 {
            self.fill(1);
            let there = (self.end - self.start) as u64;
            if there == 0 {
                break;
            }
            let now = there.min(left);
            self.consume(now as usize);
            left -= now;
        }
        bytes - left
    }

    /// Bytes consumed, of the uncompressed data.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.compression != Compression::None
    }

    pub(super) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Reads until so many bytes lie in a row, or there are no more.
    #[cold]
    fn fill(&mut self, wanted: usize) {
        while self.end - self.start < wanted && self.ended.is_none() {
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            }
            if self.end == self.buffer.len() {
                self.buffer.resize(2 * self.buffer.len(), 0);
            }
            let Some(space) = self.buffer.get_mut(self.end..) else { return };
            match self.input.read(space) {
                Ok(0) => self.ended = Some(Ok(())),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.ended = Some(Err(self.said(&error))),
            }
        }
    }

    fn said(&self, error: &io::Error) -> String {
        match (self.compression.name(), error.kind()) {
            (Some(name), io::ErrorKind::UnexpectedEof) => format!("the {name} data are cut off"),
            // zstd's own errors have no kind
            (Some(name), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other) => {
                format!("the {name} data are corrupt")
            }
            _ => format!("cannot be read: {}", error::plain(error)),
        }
    }
}

/// Counts what is read.
struct Counted {
    input: Box<dyn Read + Send>,
    count: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
