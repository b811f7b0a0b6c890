//! What is wrong with a capture, in one line that does not name the file.

use std::fmt;
use std::io;

use super::link_type::{self, LinkType};

/// Why a capture cannot be read, or no further. Displays as one line; the caller names the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaptureError {
    /// There is no such file, or it may not be read.
    Unreadable {
        /// The system's message.
        problem: String,
    },
    /// It is something else.
    NotACapture {
        /// What it is, and what to do.
        what: String,
    },
    /// It is cut off or broken; what came before was read.
    Broken {
        /// Packets that could be read.
        packets: u64,
        /// Byte at which what could not be read begins.
        at: u64,
        /// That byte is of the uncompressed data.
        uncompressed: bool,
        /// What is wrong there.
        problem: String,
    },
    /// Frames must be understood, and of this kind they are not.
    UnknownLinkType {
        /// Where they were captured, a position in [`super::Capture::interfaces`].
        interface: u32,
        /// What they begin with.
        link_type: LinkType,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::Unreadable { problem } => f.write_str(problem),
            CaptureError::NotACapture { what } => write!(f, "not a pcap or pcapng capture: {what}"),
            CaptureError::Broken { packets, at, uncompressed, problem } => {
                let of = if *uncompressed { " of the uncompressed data" } else { "" };
                let s = if *packets == 1 { "" } else { "s" };
                write!(f, "{problem}, at byte {at}{of}, after {packets} packet{s}")
            }
            CaptureError::UnknownLinkType { interface, link_type } => {
                let known = link_type::understood().join(", ");
                write!(
                    f,
                    "interface {interface} has frames of link type {link_type}, in which flows cannot be told apart; \
                     those of {known} can"
                )
            }
        }
    }
}

impl std::error::Error for CaptureError {}

/// The system's message, without its number.
pub(super) fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "may not be read: permission denied".to_owned(),
        _ => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            text.replace('\n', " ")
        }
    }
}
