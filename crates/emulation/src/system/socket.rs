//! TCP sockets that do not block, with what the kernel knows of their connections.

use super::{checked, transferred};
use std::io;
use std::mem;

/// A TCP socket that does not block; closed when dropped.
#[derive(Debug)]
pub(crate) struct Socket(i32);

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this one's own, and not used after.
        unsafe { libc::close(self.0) };
    }
}

/// An address and a port.
pub(crate) type Address = ([u8; 4], u16);

fn as_sockaddr((address, port): Address) -> libc::sockaddr_in {
    // SAFETY: zeros are a valid sockaddr_in.
    let mut sockaddr: libc::sockaddr_in = unsafe { mem::zeroed() };
    sockaddr.sin_family = libc::AF_INET as libc::sa_family_t;
    sockaddr.sin_port = port.to_be();
    sockaddr.sin_addr.s_addr = u32::from_ne_bytes(address);
    sockaddr
}

impl Socket {
    /// A new one, in the namespace that the thread is in.
    ///
    /// # Errors
    /// No descriptors left.
    pub(crate) fn new() -> io::Result<Self> {
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: takes numbers only.
        checked(unsafe { libc::socket(libc::AF_INET, kind, 0) }).map(Socket)
    }

    /// Its descriptor.
    #[must_use]
    pub(crate) fn descriptor(&self) -> i32 {
        self.0
    }

    /// Sets an option to a value of its type.
    ///
    /// # Errors
    /// The kernel does not have it, or not that value.
    pub(crate) fn set<T: Copy>(&self, level: i32, option: i32, value: T) -> io::Result<()> {
        let length = mem::size_of::<T>() as libc::socklen_t;
        // SAFETY: `value` outlives the call, and `length` is its size.
        checked(unsafe { libc::setsockopt(self.0, level, option, (&raw const value).cast(), length) })?;
        Ok(())
    }

    /// Sets TCP's congestion control by its name.
    ///
    /// # Errors
    /// The kernel does not have it.
    pub(crate) fn set_congestion_control(&self, name: &str) -> io::Result<()> {
        let length = name.len() as libc::socklen_t;
        // SAFETY: `name` outlives the call, and `length` is its size.
        checked(unsafe {
            libc::setsockopt(self.0, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_ptr().cast(), length)
        })?;
        Ok(())
    }

    /// Binds it to an address; port 0 is any, chosen when it connects.
    ///
    /// # Errors
    /// No such address here, or the port is taken.
    pub(crate) fn bind(&self, address: Address) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_REUSEADDR, 1_i32)?;
        if address.1 == 0 {
            self.set(libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1_i32)?;
        }
        let (sockaddr, length) = (as_sockaddr(address), mem::size_of::<libc::sockaddr_in>());
        // SAFETY: `sockaddr` outlives the call, and `length` is its size.
        checked(unsafe { libc::bind(self.0, (&raw const sockaddr).cast(), length as libc::socklen_t) })?;
        Ok(())
    }

    /// Takes connections from now on.
    ///
    /// # Errors
    /// It is not bound.
    pub(crate) fn listen(&self) -> io::Result<()> {
        // SAFETY: takes numbers only.
        checked(unsafe { libc::listen(self.0, 128) })?;
        Ok(())
    }

    /// Begins to connect; it is writable once it is connected.
    ///
    /// # Errors
    /// No route.
    pub(crate) fn connect(&self, address: Address) -> io::Result<()> {
        let (sockaddr, length) = (as_sockaddr(address), mem::size_of::<libc::sockaddr_in>());
        // SAFETY: `sockaddr` outlives the call, and `length` is its size.
        let result =
            unsafe { libc::connect(self.0, (&raw const sockaddr).cast(), length as libc::socklen_t) };
        match checked(result) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(()),
        }
    }

    /// The next connection that waits.
    ///
    /// # Errors
    /// `WouldBlock` where none waits.
    pub(crate) fn accept(&self) -> io::Result<Self> {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no address is asked for.
        checked(unsafe { libc::accept4(self.0, std::ptr::null_mut(), std::ptr::null_mut(), flags) })
            .map(Socket)
    }

    /// What has become of it: connected and well, or the error.
    ///
    /// # Errors
    /// The pending one.
    pub(crate) fn take_error(&self) -> io::Result<()> {
        let (mut code, mut length) = (0_i32, mem::size_of::<i32>() as libc::socklen_t);
        // SAFETY: `code` and `length` outlive the call, and `length` is the size of `code`.
        checked(unsafe {
            let value = (&raw mut code).cast();
            libc::getsockopt(self.0, libc::SOL_SOCKET, libc::SO_ERROR, value, &raw mut length)
        })?;
        if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
    }

    /// `struct tcp_info` as the kernel has it; short on an old one.
    ///
    /// # Errors
    /// No TCP socket.
    pub(crate) fn tcp_info(&self) -> io::Result<Vec<u8>> {
        let mut info = vec![0_u8; 512];
        let mut length = info.len() as libc::socklen_t;
        // SAFETY: `info` has `length` bytes, and both outlive the call.
        checked(unsafe {
            let value = info.as_mut_ptr().cast();
            libc::getsockopt(self.0, libc::IPPROTO_TCP, libc::TCP_INFO, value, &raw mut length)
        })?;
        info.truncate(length as usize);
        Ok(info)
    }

    /// Takes what has been received off the kernel's hands, at most so much, without copying it: how much that was.
    ///
    /// # Errors
    /// `WouldBlock` where there is nothing; a reset.
    pub(crate) fn discard(&self, most: usize) -> io::Result<usize> {
        // SAFETY: with MSG_TRUNC, TCP discards and writes nothing to the address.
        transferred(unsafe { libc::recv(self.0, std::ptr::null_mut(), most, libc::MSG_TRUNC) })
    }

    /// Sends, and has the kernel say when the last byte of it has been acknowledged, if `stamp`: how much it took.
    ///
    /// # Errors
    /// `WouldBlock` where there is no room; a reset.
    pub(crate) fn send(&self, bytes: &[u8], stamp: bool) -> io::Result<usize> {
        let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut control = [0_u64; 4];
        // SAFETY: zeros are a valid msghdr. `part` and `control` outlive the call; sendmsg only reads `bytes`. A control
        // message of four bytes fits into `control`, which is aligned for its header.
        transferred(unsafe {
            let mut message: libc::msghdr = mem::zeroed();
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            if stamp {
                message.msg_control = control.as_mut_ptr().cast();
                message.msg_controllen = libc::CMSG_SPACE(4) as _;
                let header = libc::CMSG_FIRSTHDR(&raw const message);
                (*header).cmsg_level = libc::SOL_SOCKET;
                (*header).cmsg_type = libc::SO_TIMESTAMPING;
                (*header).cmsg_len = libc::CMSG_LEN(4) as _;
                libc::CMSG_DATA(header).cast::<u32>().write_unaligned(libc::SOF_TIMESTAMPING_TX_ACK);
            }
            libc::sendmsg(self.0, &raw const message, libc::MSG_NOSIGNAL)
        })
    }

    /// The next time stamp that waits: which byte was acknowledged (its number, modulo 2^32, from 0 at the time stamps
    /// were asked for) and when, by the wall clock, ns.
    #[must_use]
    pub(crate) fn stamp(&self) -> Option<(u32, u64)> {
        let mut control = [0_u64; 64];
        // SAFETY: zeros are a valid msghdr; `control` outlives the call and its size is what is said. The kernel's
        // control messages are walked by the macros made for it; each is at least as long as what is read of it.
        unsafe {
            let mut message: libc::msghdr = mem::zeroed();
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = mem::size_of_val(&control) as _;
            if libc::recvmsg(self.0, &raw mut message, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) < 0 {
                return None;
            }
            let (mut byte, mut time) = (None, None);
            let mut header = libc::CMSG_FIRSTHDR(&raw const message);
            while !header.is_null() {
                let data = libc::CMSG_DATA(header);
                match ((*header).cmsg_level, (*header).cmsg_type) {
                    (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                        let stamp = data.cast::<libc::timespec>().read_unaligned();
                        time = Some(stamp.tv_sec as u64 * 1_000_000_000 + stamp.tv_nsec as u64);
                    }
                    (libc::SOL_IP, libc::IP_RECVERR) => {
                        byte = Some(data.cast::<libc::sock_extended_err>().read_unaligned().ee_data);
                    }
                    _ => {}
                }
                header = libc::CMSG_NXTHDR(&raw const message, header);
            }
            byte.zip(time)
        }
    }

    /// Has the kernel number the bytes sent from here on, for [`Socket::stamp`]. The socket must be connected.
    ///
    /// # Errors
    /// It is not, or the kernel is older than 6.2.
    pub(crate) fn number_bytes(&self) -> io::Result<()> {
        const OPT_ID_TCP: u32 = 1 << 16;
        let flags = libc::SOF_TIMESTAMPING_SOFTWARE
            | libc::SOF_TIMESTAMPING_OPT_ID
            | libc::SOF_TIMESTAMPING_OPT_TSONLY
            | OPT_ID_TCP;
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags)
    }
}
