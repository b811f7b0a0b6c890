//! The system calls that set a pacer up, keep others away, and put things back, behind a trait: the kernel's own, or those of a
//! simulated one (`simulation/setup/`). What is called while frames pass is in [`super::kernel`].

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use paceline_core::Instant;

use super::kernel::Linux;
use super::{clock, interface, lock, netlink};
use crate::bpf::assembler::Instruction;
use crate::bpf::{self, Attached, Map, MapKind, Program, ProgramKind};
use crate::bypass::Shared;

/// What a pacer asks of the kernel before and after frames pass.
pub trait System: Clone + std::fmt::Debug {
    /// What an interface is asked by.
    type Control: std::fmt::Debug;
    /// Keeps other pacers away until it is dropped, or the process ends.
    type Lock: std::fmt::Debug;
    /// A BPF map.
    type Map: std::fmt::Debug;
    /// A BPF program, loaded.
    type Program: std::fmt::Debug;

    /// The monotonic clock.
    fn now(&self) -> Instant;
    /// Sleeps until then.
    fn sleep_until(&self, at: Instant);
    /// The number of this process.
    fn process(&self) -> u32;

    /// An interface's number, and what it is asked by. What is wrong is said in one line.
    fn interface(&self, name: &str) -> Result<(u32, Self::Control), String>;
    /// The largest packet behind the link header, bytes.
    fn mtu(&self, by: &Self::Control, interface: u32) -> io::Result<u32>;
    /// `ARPHRD_*`: what its frames begin with.
    fn hardware(&self, by: &Self::Control, interface: u32) -> io::Result<u16>;
    /// `IFF_*`
    fn flags(&self, by: &Self::Control, interface: u32) -> io::Result<libc::c_short>;
    /// Sets them.
    fn set_flags(&self, by: &Self::Control, interface: u32, flags: libc::c_short) -> io::Result<()>;
    /// `ETHTOOL_*` with a word, and the word that comes back.
    fn ethtool(&self, by: &Self::Control, interface: u32, command: u32, data: u32) -> io::Result<u32>;

    /// Takes an interface's lock: `None` where another has it.
    fn lock(&self, interface: u32) -> io::Result<Option<Self::Lock>>;

    /// See [`Map::new`].
    fn map(&self, kind: MapKind, name: &str, value_bytes: u32, entries: u32) -> io::Result<Self::Map>;
    /// See [`Map::by_id`].
    fn map_by_id(&self, id: u32) -> io::Result<Self::Map>;
    /// See [`Map::describe`].
    fn describe(&self, map: &Self::Map) -> io::Result<(String, u32)>;
    /// Its descriptor, for an instruction.
    fn number(&self, map: &Self::Map) -> u32;
    /// What is in it, in this program's memory.
    fn share(&self, map: &Self::Map) -> io::Result<Arc<Shared>>;
    /// See [`Program::load`].
    fn load(&self, kind: ProgramKind, name: &str, program: &[Instruction]) -> io::Result<Self::Program>;
    /// See [`Program::attach_ingress`].
    fn attach_ingress(&self, program: &Self::Program, interface: u32) -> io::Result<()>;
    /// See [`Program::detach_ingress`].
    fn detach_ingress(&self, program: &Self::Program, interface: u32) -> io::Result<()>;
    /// Programs attached to an interface's ingress, first to last.
    fn attached_to_ingress(&self, interface: u32) -> io::Result<Vec<Attached<Self::Program>>>;
    /// See [`netlink::attach_xdp`].
    fn attach_xdp(
        &self,
        interface: u32,
        program: &Self::Program,
        replaces: Option<&Self::Program>,
    ) -> io::Result<()>;
    /// See [`netlink::detach_xdp`].
    fn detach_xdp(&self, interface: u32, program: &Self::Program) -> io::Result<()>;
    /// The program attached to an interface's driver.
    fn attached_xdp(&self, interface: u32) -> io::Result<Option<Attached<Self::Program>>>;
}

impl System for Linux {
    type Control = OwnedFd;
    type Lock = OwnedFd;
    type Map = Map;
    type Program = Program;

    fn now(&self) -> Instant {
        clock::now()
    }

    fn sleep_until(&self, at: Instant) {
        clock::sleep_until(at);
    }

    fn process(&self) -> u32 {
        std::process::id()
    }

    fn interface(&self, name: &str) -> Result<(u32, OwnedFd), String> {
        interface::find(name)
    }

    fn mtu(&self, by: &OwnedFd, interface: u32) -> io::Result<u32> {
        interface::mtu(by, interface)
    }

    fn hardware(&self, by: &OwnedFd, interface: u32) -> io::Result<u16> {
        interface::hardware(by, interface)
    }

    fn flags(&self, by: &OwnedFd, interface: u32) -> io::Result<libc::c_short> {
        interface::flags(by, interface)
    }

    fn set_flags(&self, by: &OwnedFd, interface: u32, flags: libc::c_short) -> io::Result<()> {
        interface::set_flags(by, interface, flags)
    }

    fn ethtool(&self, by: &OwnedFd, interface: u32, command: u32, data: u32) -> io::Result<u32> {
        interface::ethtool(by, interface, command, data)
    }

    fn lock(&self, interface: u32) -> io::Result<Option<OwnedFd>> {
        lock::join(interface)
    }

    fn map(&self, kind: MapKind, name: &str, value_bytes: u32, entries: u32) -> io::Result<Map> {
        Map::new(kind, name, value_bytes, entries)
    }

    fn map_by_id(&self, id: u32) -> io::Result<Map> {
        Map::by_id(id)
    }

    fn describe(&self, map: &Map) -> io::Result<(String, u32)> {
        map.describe()
    }

    fn number(&self, map: &Map) -> u32 {
        map.number()
    }

    fn share(&self, map: &Map) -> io::Result<Arc<Shared>> {
        Shared::of(map).map(Arc::new)
    }

    fn load(&self, kind: ProgramKind, name: &str, program: &[Instruction]) -> io::Result<Program> {
        Program::load(kind, name, program)
    }

    fn attach_ingress(&self, program: &Program, interface: u32) -> io::Result<()> {
        program.attach_ingress(interface)
    }

    fn detach_ingress(&self, program: &Program, interface: u32) -> io::Result<()> {
        program.detach_ingress(interface)
    }

    fn attached_to_ingress(&self, interface: u32) -> io::Result<Vec<Attached>> {
        bpf::attached_to_ingress(interface)
    }

    fn attach_xdp(&self, interface: u32, program: &Program, replaces: Option<&Program>) -> io::Result<()> {
        netlink::attach_xdp(interface, program.fd(), replaces.map(Program::fd))
    }

    fn detach_xdp(&self, interface: u32, program: &Program) -> io::Result<()> {
        netlink::detach_xdp(interface, program.fd())
    }

    fn attached_xdp(&self, interface: u32) -> io::Result<Option<Attached>> {
        netlink::attached_xdp(interface)?.map(bpf::program_by_id).transpose()
    }
}
