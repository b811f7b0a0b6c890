//! Whether interfaces are still there, and what they are like: the kernel says when something changes.
//!
//! *Idea.* A message is a reason to look: what an interface is like is asked of the kernel itself, so that messages that were
//! lost, or that told of several changes, do not matter. Only that an interface has gone is taken from the message, since
//! another may have its number by now.
//!
//! *References.* rtnetlink(7): `RTM_DELLINK`, also sent where an interface has moved to another namespace.

#![allow(unsafe_code, reason = "system calls")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::{bind, socket};

const GROUP_LINK: u32 = 1;
const NEW_LINK: u16 = 16;
const GONE: u16 = 17;
/// struct nlmsghdr; struct ifinfomsg
const HEADER: usize = 16;
const BODY: usize = 16;

/// What messages said since the last look.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Something has changed: look.
    pub changed: bool,
    /// Numbers of interfaces that have gone.
    pub gone: Vec<u32>,
}

/// A socket that hears of changes.
#[derive(Debug)]
pub struct Links(OwnedFd);

impl Links {
    /// Hears of all interfaces of this network namespace from now on.
    pub fn watch() -> io::Result<Links> {
        let socket = socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_NONBLOCK, libc::NETLINK_ROUTE)?;
        // SAFETY: a sockaddr_nl is integers, for which zero is a value.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as u16;
        address.nl_groups = GROUP_LINK;
        bind(&socket, &address)?;
        Ok(Links(socket))
    }

    /// What has been said meanwhile.
    pub fn news(&self) -> News {
        let mut news = News::default();
        let mut buffer = [0u8; 1 << 15];
        loop {
            // SAFETY: the kernel writes at most as many bytes as the buffer has.
            let got = unsafe { libc::recv(self.0.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
            match usize::try_from(got) {
                Ok(length) => note(buffer.get(..length).unwrap_or_default(), &mut news),
                Err(_) => match io::Error::last_os_error().raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::ENOBUFS) => news.changed = true, // some were lost
                    _ => return news,
                },
            }
        }
    }
}

impl AsFd for Links {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Reads what came in one piece.
fn note(mut messages: &[u8], news: &mut News) {
    while let Some((head, _)) = messages.split_first_chunk::<HEADER>() {
        let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let kind = u16::from_ne_bytes([head[4], head[5]]);
        let body = messages.get(HEADER..length).and_then(|body| body.first_chunk::<BODY>());
        match (kind, body) {
            // a bridge says so of a port, in its own family, that has left it
            (GONE, Some([family, _, _, _, a, b, c, d, ..])) if i32::from(*family) == libc::AF_UNSPEC => {
                news.gone.push(u32::from_ne_bytes([*a, *b, *c, *d]));
            }
            (NEW_LINK, _) => news.changed = true,
            _ => {}
        }
        let Some(rest) = messages.get(length.next_multiple_of(4).max(HEADER)..) else { return };
        messages = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, family: u8, index: u32) -> Vec<u8> {
        let mut bytes = 32u32.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend([family, 0, 0, 0]);
        bytes.extend(index.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes
    }

    #[test]
    fn those_that_have_gone_are_told_from_those_that_have_left_a_bridge() {
        let all = [message(GONE, 7, 3), message(NEW_LINK, 0, 4), message(GONE, 0, 5), message(20, 0, 6)];
        let mut news = News::default();
        note(&all.concat(), &mut news);
        assert_eq!(news, News { changed: true, gone: vec![5] });
    }

    proptest::proptest! {
        #[test]
        fn nothing_makes_it_panic(bytes in proptest::collection::vec(proptest::arbitrary::any::<u8>(), 0..200)) {
            note(&bytes, &mut News::default());
        }
    }
}
