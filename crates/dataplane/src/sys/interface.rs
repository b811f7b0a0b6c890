//! A network interface: what it is, and the settings that a pacer needs other than they are.

#![allow(unsafe_code, reason = "system calls")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use paceline_core::Rate;

use super::kernel::Linux;
use super::system::System;
use super::{check, socket};

const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// Offloads that put several frames into one, by the numbers that ethtool has for asking and setting each.
const JOINING: [(&str, u32, u32); 1] = [("gro", 0x2b, 0x2c)];
/// `ETHTOOL_GFLAGS`, `ETHTOOL_SFLAGS`, and the flag of large receive offload.
const FLAGS: (u32, u32) = (0x25, 0x26);
const FLAG_LRO: u32 = 1 << 15;
/// `ETHTOOL_GLINK`
const LINK: u32 = 0x0a;

/// An interface.
#[derive(Debug)]
pub struct Interface<S: System = Linux> {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Whose it is.
    pub(crate) system: S,
    control: S::Control,
}

/// Settings that were changed, to be put back. They fit in a word, so that they can outlive the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changed(pub u64);

impl Changed {
    const PROMISCUOUS: u64 = 1;
    const GRO: u64 = 2;
    const LRO: u64 = 4;
}

/// `struct ifreq`: the name, and a union of which this is the part for flags, an index, an MTU or a pointer.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    value: RequestValue,
}

#[repr(C)]
union RequestValue {
    flags: libc::c_short,
    number: libc::c_int,
    family: libc::sa_family_t,
    data: *mut libc::c_void,
    room: [u8; 24],
}

#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

impl Interface {
    /// Finds an interface. What is wrong is said in one line.
    pub fn named(name: &str) -> Result<Interface, String> {
        Interface::of(&Linux, name)
    }

    fn names() -> Vec<String> {
        let Ok(entries) = std::fs::read_dir("/sys/class/net") else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether it is still there, and in this network namespace.
    pub fn is_there(&self) -> bool {
        present_name(self.index).is_some()
    }

    /// What it says of its rate; `None` where it does not know.
    pub fn speed(&self) -> Option<Rate> {
        let text = std::fs::read_to_string(format!("/sys/class/net/{}/speed", self.name)).ok()?;
        let megabits: i64 = text.trim().parse().ok()?;
        u64::try_from(megabits)
            .ok()
            .filter(|rate| *rate > 0)
            .map(|rate| Rate::from_bits_per_second(rate * 1_000_000))
    }

    /// Whether there is no device behind it.
    pub fn is_virtual(&self) -> bool {
        !std::path::Path::new(&format!("/sys/class/net/{}/device", self.name)).exists()
    }

    /// Receive queues in use.
    pub fn receive_queues(&self) -> usize {
        let queues = std::fs::read_dir(format!("/sys/class/net/{}/queues", self.name));
        let Ok(queues) = queues else { return 1 };
        queues.flatten().filter(|queue| queue.file_name().to_string_lossy().starts_with("rx-")).count().max(1)
    }
}

impl<S: System> Interface<S> {
    /// Finds an interface of that system. What is wrong is said in one line.
    pub fn of(system: &S, name: &str) -> Result<Interface<S>, String> {
        let (index, control) = system.interface(name)?;
        Ok(Interface { name: name.to_owned(), index, system: system.clone(), control })
    }

    /// The largest packet behind the link header, bytes.
    pub fn mtu(&self) -> io::Result<u32> {
        self.system.mtu(&self.control, self.index)
    }

    /// `ARPHRD_*`: what its frames begin with.
    pub fn hardware(&self) -> io::Result<u16> {
        self.system.hardware(&self.control, self.index)
    }

    /// What its frames begin with before a packet, bytes.
    pub fn link_header(&self) -> io::Result<u32> {
        let hardware = self.hardware()?;
        Ok(if hardware == libc::ARPHRD_ETHER || hardware == libc::ARPHRD_LOOPBACK { 14 } else { 0 })
    }

    /// Whether it is up.
    pub fn is_up(&self) -> io::Result<bool> {
        Ok(i32::from(self.flags()?) & libc::IFF_UP != 0)
    }

    /// What [`Interface::prepare`] has to change.
    pub fn unprepared(&self) -> io::Result<Changed> {
        let mut wanted = 0;
        if i32::from(self.flags()?) & libc::IFF_PROMISC == 0 {
            wanted |= Changed::PROMISCUOUS;
        }
        // Where an interface does not know a setting, there is nothing to change.
        if JOINING.iter().any(|(_, get, _)| self.ethtool(*get, 0).is_ok_and(|value| value != 0)) {
            wanted |= Changed::GRO;
        }
        if self.ethtool(FLAGS.0, 0).is_ok_and(|flags| flags & FLAG_LRO != 0) {
            wanted |= Changed::LRO;
        }
        Ok(Changed(wanted))
    }

    /// Sees all frames and does not join them; what was changed for that, none of it if it fails.
    pub fn prepare(&self, wanted: Changed) -> io::Result<Changed> {
        let mut changed = 0;
        if wanted.0 & Changed::PROMISCUOUS != 0 {
            self.set_flags(self.flags()? | libc::IFF_PROMISC as libc::c_short)?;
            changed |= Changed::PROMISCUOUS;
        }
        if wanted.0 & Changed::GRO != 0 {
            for (_, _, set) in JOINING {
                if self.ethtool(set, 0).is_ok() {
                    changed |= Changed::GRO;
                }
            }
        }
        if wanted.0 & Changed::LRO != 0
            && let Ok(flags) = self.ethtool(FLAGS.0, 0)
            && self.ethtool(FLAGS.1, flags & !FLAG_LRO).is_ok()
        {
            changed |= Changed::LRO;
        }
        Ok(Changed(changed))
    }

    /// Puts back what [`Interface::prepare`] changed.
    pub fn restore(&self, changed: Changed) -> io::Result<()> {
        if changed.0 & Changed::GRO != 0 {
            for (_, _, set) in JOINING {
                self.ethtool(set, 1)?;
            }
        }
        if changed.0 & Changed::LRO != 0 {
            let flags = self.ethtool(FLAGS.0, 0)?;
            self.ethtool(FLAGS.1, flags | FLAG_LRO)?;
        }
        if changed.0 & Changed::PROMISCUOUS != 0 {
            let flags = self.flags()?;
            self.set_flags(flags & !(libc::IFF_PROMISC as libc::c_short))?;
        }
        Ok(())
    }

    fn flags(&self) -> io::Result<libc::c_short> {
        self.system.flags(&self.control, self.index)
    }

    fn set_flags(&self, flags: libc::c_short) -> io::Result<()> {
        self.system.set_flags(&self.control, self.index, flags)
    }

    fn ethtool(&self, command: u32, data: u32) -> io::Result<u32> {
        self.system.ethtool(&self.control, self.index, command, data)
    }
}

/// An interface's number, and a socket to ask it by. What is wrong is said in one line.
pub(super) fn find(name: &str) -> Result<(u32, OwnedFd), String> {
    let control = socket(libc::AF_INET, libc::SOCK_DGRAM, 0).map_err(|error| format!("{name}: {error}"))?;
    let c_name = CString::new(name).map_err(|_| format!("{name:?} is no name of an interface"))?;
    // SAFETY: a string that ends in a zero.
    let index = unsafe { libc::if_nametoindex(c_name.as_ptr()) };
    if index == 0 || name.len() >= libc::IFNAMSIZ {
        return Err(match Interface::names().as_slice() {
            [] => format!("there is no interface {name:?}"),
            names => format!("there is no interface {name:?}; there are {}", names.join(", ")),
        });
    }
    Ok((index, control))
}

pub(super) fn mtu(socket: &OwnedFd, index: u32) -> io::Result<u32> {
    let mut request = Request::empty();
    ask(socket, index, libc::SIOCGIFMTU, &mut request)?;
    // SAFETY: the kernel has filled in the number.
    Ok(unsafe { request.value.number } as u32)
}

pub(super) fn hardware(socket: &OwnedFd, index: u32) -> io::Result<u16> {
    let mut request = Request::empty();
    ask(socket, index, libc::SIOCGIFHWADDR, &mut request)?;
    // SAFETY: the kernel has filled in a sockaddr, which begins with its family.
    Ok(unsafe { request.value.family })
}

pub(super) fn flags(socket: &OwnedFd, index: u32) -> io::Result<libc::c_short> {
    let mut request = Request::empty();
    ask(socket, index, libc::SIOCGIFFLAGS, &mut request)?;
    // SAFETY: the kernel has filled in the flags.
    Ok(unsafe { request.value.flags })
}

pub(super) fn set_flags(socket: &OwnedFd, index: u32, flags: libc::c_short) -> io::Result<()> {
    let mut request = Request::empty();
    request.value = RequestValue { flags };
    ask(socket, index, libc::SIOCSIFFLAGS, &mut request)
}

/// Whether the interface of a number has a carrier; where it does not say, it has. By any socket.
pub(super) fn has_carrier(socket: &OwnedFd, index: u32) -> bool {
    ethtool(socket, index, LINK, 0).map_or(true, |link| link != 0)
}

/// What it is called now: settings are put back at this interface, whatever has taken its name.
fn present_name(index: u32) -> Option<[u8; libc::IFNAMSIZ]> {
    let mut name = [0u8; libc::IFNAMSIZ];
    // SAFETY: the kernel's library writes a name that ends in a zero, IFNAMSIZ bytes at most.
    let found = unsafe { libc::if_indextoname(index, name.as_mut_ptr().cast()) };
    (!found.is_null()).then_some(name)
}

pub(super) fn ethtool(socket: &OwnedFd, index: u32, command: u32, data: u32) -> io::Result<u32> {
    let mut value = EthtoolValue { command, data };
    let mut request = Request::empty();
    request.value = RequestValue { data: (&raw mut value).cast() };
    ask(socket, index, SIOCETHTOOL, &mut request)?;
    Ok(value.data)
}

fn ask(socket: &OwnedFd, index: u32, what: libc::c_ulong, request: &mut Request) -> io::Result<()> {
    request.name = present_name(index).ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))?;
    // SAFETY: each of these requests reads and writes an ifreq, which `request` is, and for ethtool the structure of two words
    // that it points to, which outlives the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), what as _, std::ptr::from_mut(request)) }).map(|_| ())
}

impl Request {
    /// Its name is filled in when it is asked.
    fn empty() -> Request {
        Request { name: [0; libc::IFNAMSIZ], value: RequestValue { room: [0; 24] } }
    }
}
