//! One pacer an interface: a lock that the kernel keeps, for as long as the process lives.
//!
//! *Idea.* A packet socket's fan-out group is known to the whole network namespace by a number, and can be made for one member
//! alone. A pacer makes such a group for each of its interfaces, numbered by the interface: a second one cannot join. The
//! lock is where the interfaces are, whatever namespaces of processes, users and files the two run in, needs no more than
//! pacing does (CAP_NET_RAW), and ends with the process, however that ends. It is bound to the protocol left for local experiments, so that
//! no frame is shown to it.
//!
//! *References.* packet(7), `PACKET_FANOUT`; Linux `fanout_add` (net/packet/af_packet.c), whose `max_num_members` is of 5.13.

use std::io;
use std::os::fd::OwnedFd;

use super::interface::Interface;
use super::system::System;
use super::{bind, set_option, socket};
use crate::packet::address;

/// IEEE 802's local experimental EtherType 2.
const EXPERIMENTAL: u16 = 0x88b6;
/// linux/if_packet.h: by processor, which a group of one does not mind.
const BY_PROCESSOR: u16 = 2;

/// struct fanout_args
#[repr(C)]
#[derive(Clone, Copy)]
struct Group {
    #[cfg(target_endian = "little")]
    number: u16,
    kind: u16,
    #[cfg(target_endian = "big")]
    number: u16,
    most: u32,
}

/// Takes an interface's lock, held until it is dropped: `None` where another has it. What is wrong is said in one line.
pub fn take<S: System>(interface: &Interface<S>) -> Result<Option<S::Lock>, String> {
    interface.system.lock(interface.index).map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => format!(
            "{}: the lock that keeps others away: {error}; it needs Linux 5.13 or later, and no other program's fan-out \
             group of number {}",
            interface.name,
            number(interface.index)
        ),
        _ => format!("{}: the lock that keeps others away: {error}", interface.name),
    })
}

/// Makes an interface's group, or does not where another has.
pub(super) fn join(interface: u32) -> io::Result<Option<OwnedFd>> {
    let socket = socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
    bind(&socket, &address(interface, EXPERIMENTAL))?;
    let group = Group { number: number(interface), kind: BY_PROCESSOR, most: 1 };
    match set_option(&socket, libc::SOL_PACKET, libc::PACKET_FANOUT, &group) {
        Ok(()) => Ok(Some(socket)),
        Err(error) if error.raw_os_error() == Some(libc::ENOSPC) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A number for each of 65,536 interfaces, none of them small: small ones are what people choose for their own groups.
fn number(index: u32) -> u16 {
    (index as u16).wrapping_mul(0x9e37).wrapping_add(0x5ace)
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn interfaces_have_numbers_of_their_own() {
        let mut numbers: Vec<u16> = (0..=0xffff).map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 1 << 16);
    }
}
