//! BPF as the kernel offers it: maps, programs and where they are attached, by the one system call. Programs are put together
//! by [`assembler`], so that building needs no other compiler.
//!
//! *References.* linux/bpf.h; RFC 9669 for the instructions.

#![allow(unsafe_code, reason = "system calls")]

pub mod assembler;

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use crate::sys::memory::Mapping;
use assembler::Instruction;

/// Commands of bpf(2).
mod command {
    pub(super) const MAP_CREATE: i32 = 0;
    pub(super) const MAP_UPDATE: i32 = 2;
    pub(super) const PROG_LOAD: i32 = 5;
    pub(super) const PROG_ATTACH: i32 = 8;
    pub(super) const PROG_DETACH: i32 = 9;
    pub(super) const PROG_BY_ID: i32 = 13;
    pub(super) const MAP_BY_ID: i32 = 14;
    pub(super) const INFO: i32 = 15;
    pub(super) const PROG_QUERY: i32 = 16;
}

/// What a map is.
#[derive(Debug, Clone, Copy)]
pub enum MapKind {
    /// One value, mapped into the program that made it.
    Shared,
    /// Values by number, a copy for each processor.
    PerProcessor,
    /// AF_XDP sockets by the number of a receive queue.
    Sockets,
}

/// What a program is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramKind {
    /// Chooses what a packet socket sees.
    SocketFilter,
    /// Stands at an interface's ingress.
    Ingress,
    /// Stands at a driver's.
    Xdp,
}

/// A map.
#[derive(Debug)]
pub struct Map(OwnedFd);

/// A program, loaded.
#[derive(Debug)]
pub struct Program(OwnedFd);

/// A program that was found attached.
#[derive(Debug)]
pub struct Attached<P = Program> {
    /// Its name.
    pub name: String,
    /// It.
    pub program: P,
    /// The maps that it uses.
    pub maps: Vec<u32>,
}

/// Calls bpf(2) with an attribute that begins with `attribute`, the rest of it zero.
fn call<A: Copy>(command: i32, attribute: &mut A) -> io::Result<i32> {
    // SAFETY: every A of this module is a C structure of integers laid out as the beginning of union bpf_attr; addresses in
    // it are of memory that the caller holds until the call is over.
    let returned =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attribute), size_of::<A>()) };
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned as i32) }
}

/// The descriptor that a call returned.
fn owned(fd: i32) -> OwnedFd {
    // SAFETY: it has just been made for this call, and nothing else has it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// A name as the kernel takes it: letters, digits and underscores, 15 at most.
fn name_of(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(name.bytes().take(15)) {
        *to = from;
    }
    bytes
}

impl Map {
    /// Makes a map of `entries` values of `value_bytes`.
    pub fn new(kind: MapKind, name: &str, value_bytes: u32, entries: u32) -> io::Result<Map> {
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct Create {
            kind: u32,
            key_bytes: u32,
            value_bytes: u32,
            entries: u32,
            flags: u32,
            inner: u32,
            numa: u32,
            name: [u8; 16],
        }
        const MMAPABLE: u32 = 1 << 10;
        let (kind, flags) = match kind {
            MapKind::Shared => (2, MMAPABLE),
            MapKind::PerProcessor => (6, 0),
            MapKind::Sockets => (17, 0),
        };
        let name = name_of(name);
        let mut create = Create { kind, key_bytes: 4, value_bytes, entries, flags, inner: 0, numa: 0, name };
        call(command::MAP_CREATE, &mut create).map(|fd| Map(owned(fd)))
    }

    /// The map of that number.
    pub fn by_id(id: u32) -> io::Result<Map> {
        let mut attribute = [id, 0, 0];
        call(command::MAP_BY_ID, &mut attribute).map(|fd| Map(owned(fd)))
    }

    /// Its name and the size of its values.
    pub fn describe(&self) -> io::Result<(String, u32)> {
        let mut info = [0u8; 80];
        info_of(&self.0, &mut info)?;
        let word =
            |at: usize| info.get(at..at + 4).map_or(0, |b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]));
        Ok((text(info.get(24..40).unwrap_or_default()), word(12)))
    }

    /// Its one value, in this program's memory. The kernel maps whole pages.
    pub fn mapped(&self) -> io::Result<Mapping> {
        Mapping::shared(self.0.as_fd(), 4096, 0)
    }

    /// Puts a descriptor in its place.
    pub fn insert(&self, key: u32, fd: &OwnedFd) -> io::Result<()> {
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct Update {
            map: u32,
            pad: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        let value = fd.as_raw_fd() as u32;
        let mut update = Update {
            map: self.number(),
            pad: 0,
            key: (&raw const key) as u64,
            value: (&raw const value) as u64,
            flags: 0,
        };
        call(command::MAP_UPDATE, &mut update).map(|_| ())
    }

    /// Its descriptor, for an instruction.
    pub(crate) fn number(&self) -> u32 {
        self.0.as_raw_fd() as u32
    }
}

impl Program {
    /// Loads a program; why the kernel refuses it, if it does.
    pub fn load(kind: ProgramKind, name: &str, instructions: &[Instruction]) -> io::Result<Program> {
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct Load {
            kind: u32,
            count: u32,
            instructions: u64,
            license: u64,
            log_level: u32,
            log_bytes: u32,
            log: u64,
            kernel: u32,
            flags: u32,
            name: [u8; 16],
            interface: u32,
            attach: u32,
        }
        let license = c"Apache-2.0";
        let mut log = vec![0u8; 1 << 16];
        let mut load = Load {
            kind: match kind {
                ProgramKind::SocketFilter => 1,
                ProgramKind::Ingress => 3,
                ProgramKind::Xdp => 6,
            },
            count: instructions.len() as u32,
            instructions: instructions.as_ptr() as u64,
            license: license.as_ptr() as u64,
            log_level: 0,
            log_bytes: 0,
            log: 0,
            kernel: 0,
            flags: 0,
            name: name_of(name),
            interface: 0,
            attach: 0,
        };
        match call(command::PROG_LOAD, &mut load) {
            Ok(fd) => Ok(Program(owned(fd))),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EACCES)) => {
                // The verifier's words are the only way to know what it minds.
                (load.log_level, load.log_bytes, load.log) = (1, log.len() as u32, log.as_mut_ptr() as u64);
                match call(command::PROG_LOAD, &mut load) {
                    Ok(fd) => Ok(Program(owned(fd))),
                    Err(_) => {
                        let said = text(&log);
                        let last = said.lines().rev().find(|line| !line.starts_with("processed"));
                        Err(io::Error::new(error.kind(), format!("{error}: {}", last.unwrap_or_default())))
                    }
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Its descriptor, for a socket's filter or a netlink message.
    pub fn fd(&self) -> &OwnedFd {
        &self.0
    }

    /// Attaches it to an interface's ingress, before what is there. It stays when the program that did so has ended.
    pub fn attach_ingress(&self, interface: u32) -> io::Result<()> {
        const BEFORE: u32 = 1 << 3;
        let mut attach =
            Attach { interface, program: self.0.as_raw_fd() as u32, flags: BEFORE, ..Attach::TCX };
        call(command::PROG_ATTACH, &mut attach).map(|_| ())
    }

    /// Takes it away from there.
    pub fn detach_ingress(&self, interface: u32) -> io::Result<()> {
        let mut attach = Attach { interface, program: self.0.as_raw_fd() as u32, ..Attach::TCX };
        call(command::PROG_DETACH, &mut attach).map(|_| ())
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Attach {
    interface: u32,
    program: u32,
    place: u32,
    flags: u32,
    replaced: u32,
    relative: u32,
    revision: u64,
}

impl Attach {
    const TCX_INGRESS: u32 = 46;
    const TCX: Attach = Attach {
        interface: 0,
        program: 0,
        place: Attach::TCX_INGRESS,
        flags: 0,
        replaced: 0,
        relative: 0,
        revision: 0,
    };
}

/// Programs attached to an interface's ingress, first to last.
pub fn attached_to_ingress(interface: u32) -> io::Result<Vec<Attached>> {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Query {
        interface: u32,
        place: u32,
        flags: u32,
        attach_flags: u32,
        ids: u64,
        count: u32,
        pad: u32,
        more: [u64; 4],
    }
    let mut ids = [0u32; 64];
    let mut query = Query {
        interface,
        place: Attach::TCX_INGRESS,
        flags: 0,
        attach_flags: 0,
        ids: ids.as_mut_ptr() as u64,
        count: ids.len() as u32,
        pad: 0,
        more: [0; 4],
    };
    call(command::PROG_QUERY, &mut query)?;
    ids.iter().take(query.count as usize).map(|id| program_by_id(*id)).collect()
}

/// The program of that number, with its name and maps.
pub fn program_by_id(id: u32) -> io::Result<Attached> {
    let mut attribute = [id, 0, 0];
    let program = Program(owned(call(command::PROG_BY_ID, &mut attribute)?));
    let mut maps = [0u32; 8];
    let mut info = [0u8; 80];
    // nr_map_ids at 52, map_ids at 56, name at 64
    info[52..56].copy_from_slice(&(maps.len() as u32).to_ne_bytes());
    info[56..64].copy_from_slice(&(maps.as_mut_ptr() as u64).to_ne_bytes());
    info_of(&program.0, &mut info)?;
    let used = u32::from_ne_bytes([info[52], info[53], info[54], info[55]]) as usize;
    let maps = maps.get(..used.min(maps.len())).unwrap_or_default().to_vec();
    Ok(Attached { name: text(info.get(64..80).unwrap_or_default()), program, maps })
}

fn info_of(fd: &OwnedFd, info: &mut [u8; 80]) -> io::Result<()> {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Info {
        fd: u32,
        bytes: u32,
        info: u64,
    }
    let mut attribute =
        Info { fd: fd.as_raw_fd() as u32, bytes: info.len() as u32, info: info.as_mut_ptr() as u64 };
    call(command::INFO, &mut attribute).map(|_| ())
}

/// What stands before the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}
