//! How wide a terminal is.

#![allow(unsafe_code, reason = "system calls")]

use std::os::fd::AsRawFd;

/// What a terminal has that does not say.
const USUAL: usize = 80;

/// Its columns.
pub fn columns(terminal: impl AsRawFd) -> usize {
    // SAFETY: a winsize is integers, for which zero is a value; the call fills in a valid reference.
    let columns = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        match libc::ioctl(terminal.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) {
            0 => size.ws_col,
            _ => 0,
        }
    };
    if columns == 0 { USUAL } else { columns.into() }
}
