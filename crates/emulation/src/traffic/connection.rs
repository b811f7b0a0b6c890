//! One end of a connection: what it has yet to send, and what came.

use super::plan::FlowPlan;
use crate::system::{Address, Socket};
use std::io;

/// What is given to the kernel at once, bytes.
const CHUNK: usize = 1 << 18;
static ZEROS: [u8; CHUNK] = [0; CHUNK];
/// The kernel is kept supplied with this much that it has not sent yet, bytes: more than any window grows by at once.
const UNSENT: i32 = 1 << 20;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) socket: Socket,
    pub(crate) connected: bool,
    /// Bytes still to give to the kernel; `u64::MAX` is no end.
    to_send: u64,
    /// Bytes given.
    given: u64,
    /// The acknowledgement of the last byte is waited for.
    stamped: bool,
}

impl Connection {
    /// Connects, from the namespace that the thread is in.
    pub(crate) fn open(plan: &FlowPlan, to: Address) -> io::Result<Self> {
        let socket = Socket::new()?;
        configure(&socket, plan)?;
        socket.bind((plan.from, 0))?;
        socket.connect(to)?;
        Ok(Connection { socket, connected: false, to_send: 0, given: 0, stamped: false })
    }

    /// Takes a connection that came.
    pub(crate) fn accepted(socket: Socket) -> Self {
        Connection { socket, connected: true, to_send: 0, given: 0, stamped: false }
    }

    /// Something more to send; with `stamped`, [`Connection::acknowledged`] will say when all of it has arrived.
    pub(crate) fn give(&mut self, bytes: u64, stamped: bool) {
        self.to_send = self.to_send.saturating_add(bytes);
        self.stamped = stamped;
    }

    /// Hands to the kernel what it takes.
    pub(crate) fn pump(&mut self) -> io::Result<()> {
        while self.to_send > 0 {
            let chunk = CHUNK.min(usize::try_from(self.to_send).unwrap_or(CHUNK));
            let last = chunk as u64 == self.to_send;
            match self.socket.send(&ZEROS[..chunk], last && self.stamped) {
                Ok(taken) => {
                    self.given += taken as u64;
                    if self.to_send != u64::MAX {
                        self.to_send -= taken as u64;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// When the last byte given was acknowledged, by the wall clock, ns; `None` where it has not been yet.
    pub(crate) fn acknowledged(&mut self) -> Option<u64> {
        let mut at = None;
        while let Some((byte, time)) = self.socket.stamp() {
            if self.to_send == 0 && byte.wrapping_add(1) == self.given as u32 {
                at = Some(time);
            }
        }
        at
    }

    /// Bytes that came since last asked, and whether the other end has closed.
    pub(crate) fn take(&mut self) -> (u64, bool) {
        let mut taken = 0;
        loop {
            match self.socket.discard(1 << 20) {
                Ok(0) => return (taken, true),
                Ok(bytes) => taken += bytes as u64,
                Err(error) => return (taken, error.kind() != io::ErrorKind::WouldBlock),
            }
        }
    }

    /// Closes in order: what the kernel still has is sent.
    pub(crate) fn close(self) {
        // A socket that cannot be told so closes by a reset, which the other end takes for a close as well.
        let _ = self.socket.set(libc::SOL_SOCKET, libc::SO_LINGER, libc::linger { l_onoff: 0, l_linger: 0 });
    }
}

/// What both ends of a flow have in common; on a listener, those that connect to it inherit it.
pub(crate) fn configure(socket: &Socket, plan: &FlowPlan) -> io::Result<()> {
    // Closed by a reset unless said otherwise, so that an end by force leaves no connection to the kernel.
    socket.set(libc::SOL_SOCKET, libc::SO_LINGER, libc::linger { l_onoff: 1, l_linger: 0 })?;
    socket.set_congestion_control(&plan.congestion_control)?;
    if plan.paced {
        // Any rate but "unlimited" turns TCP's own pacing on, before the first packet, and for good.
        socket.set(libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, u64::MAX - 1)?;
    }
    if let Some(bytes) = plan.window_bytes {
        socket.set(libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, i32::try_from(bytes).unwrap_or(i32::MAX))?;
    }
    socket.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1_i32)?;
    socket.set(libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, UNSENT)
}
