//! What the process may do: what it needs, what it lacks, and giving up the rest.

#![allow(unsafe_code, reason = "system calls")]

use std::io;

use super::check;

/// A capability by its number in `linux/capability.h`, and what it is for here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    /// Its number.
    pub number: u8,
    /// Its name.
    pub name: &'static str,
    /// What needs it.
    pub purpose: &'static str,
}

/// Interfaces' flags and programs.
pub const NET_ADMIN: Capability =
    Capability { number: 12, name: "CAP_NET_ADMIN", purpose: "to set up the interfaces" };
/// Packet sockets.
pub const NET_RAW: Capability =
    Capability { number: 13, name: "CAP_NET_RAW", purpose: "to read and write frames" };
/// BPF programs.
pub const BPF: Capability =
    Capability { number: 39, name: "CAP_BPF", purpose: "to load the program that lets traffic bypass" };
/// Taking over what an earlier run left.
pub const SYS_ADMIN: u8 = 21;

/// Version 3 of the interface: two words each.
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Words {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// The first of those that the process does not have.
pub fn missing(needed: &[Capability]) -> Option<Capability> {
    let held = effective().unwrap_or(u64::MAX); // where it cannot be asked, the kernel will say
    let has = |number: u8| held & (1 << number) != 0;
    let has_or_covers =
        |capability: &Capability| has(capability.number) || (*capability == BPF && has(SYS_ADMIN));
    needed.iter().find(|capability| !has_or_covers(capability)).copied()
}

/// The capabilities in effect, a bit each.
fn effective() -> io::Result<u64> {
    let mut header = Header { version: VERSION, pid: 0 };
    let mut words = [Words::default(); 2];
    // SAFETY: a header and the two structures that version 3 fills.
    let returned = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, words.as_mut_ptr()) };
    check(returned as libc::c_int)?;
    let [low, high] = words;
    Ok(u64::from(low.effective) | u64::from(high.effective) << 32)
}

/// Gives up, for this thread and those that it starts, every capability but that one, if any, and the gaining of others.
pub fn keep_only(kept: Option<Capability>) -> io::Result<()> {
    let had = effective()? & kept.map_or(0, |kept| 1 << kept.number);
    let [low, high] = [had as u32, (had >> 32) as u32];
    let words = [low, high].map(|word| Words { effective: word, permitted: word, inheritable: 0 });
    let mut header = Header { version: VERSION, pid: 0 };
    // SAFETY: integers only.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    // SAFETY: a header and the two structures that version 3 reads.
    let returned = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, words.as_ptr()) };
    check(returned as libc::c_int).map(|_| ())
}
