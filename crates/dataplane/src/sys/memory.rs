//! Memory shared with the kernel.

#![allow(unsafe_code, reason = "mapped memory")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

/// Filled in beforehand, but for Miri, which has no such flag.
const POPULATE: libc::c_int = if cfg!(miri) { 0 } else { libc::MAP_POPULATE };

/// A mapping, unmapped when dropped.
///
/// What is in it changes under the program: it is read and written by pointers, never by references to plain memory.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: a mapping is an address range of the process; what is done with it says its own safety.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `length` bytes of a descriptor at `offset`, shared and filled in beforehand.
    pub fn shared(fd: BorrowedFd<'_>, length: usize, offset: i64) -> io::Result<Mapping> {
        Mapping::map(libc::MAP_SHARED | POPULATE, fd.as_raw_fd(), length, offset)
    }

    /// Memory of no file, filled in beforehand.
    pub fn anonymous(length: usize) -> io::Result<Mapping> {
        Mapping::map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | POPULATE, -1, length, 0)
    }

    fn map(flags: libc::c_int, fd: libc::c_int, length: usize, offset: i64) -> io::Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the address, so that no memory in use is replaced.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, fd, offset) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Mapping { base, length })
    }

    /// Length, bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The address of `size` bytes at `offset`.
    ///
    /// # Panics
    /// If they are not within the mapping: whoever asks has reckoned wrongly, and must not go on.
    #[inline]
    pub fn at(&self, offset: usize, size: usize) -> *mut u8 {
        let end = offset.checked_add(size);
        assert!(end.is_some_and(|end| end <= self.length), "{offset}+{size} is beyond the mapping");
        // SAFETY: within the mapping, as just checked.
        unsafe { self.base.as_ptr().add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with that length, and nobody uses it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}
