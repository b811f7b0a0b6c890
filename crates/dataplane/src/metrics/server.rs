//! A few lines of HTTP for a scraper: one thread, a bounded number of clients, none of which is waited for.
//!
//! *Idea.* All clients are looked at together. Each has a second for its whole request and answer; where there are as many as
//! there may be, the one that has been there longest goes. So clients that say nothing, or a byte now and then, take nothing
//! from one that asks.
//!
//! *References.* RFC 9112.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use paceline_core::{Instant, Span};

use crate::sys::capability;
use crate::sys::clock::{self, Poll};

/// Clients at once.
const MOST: usize = 32;
/// What a client has for all of it.
const DEADLINE: Span = Span::from_millis(1_000);
/// The longest request, bytes.
const LONGEST: usize = 8192;

/// Where clients come in.
#[derive(Debug)]
pub struct Listener(TcpListener, SocketAddr);

/// Listens, so that what is wrong with the address is known early.
pub fn listen(address: SocketAddr) -> Result<Listener, String> {
    let explain = |error: std::io::Error| format!("--metrics: {address}: {error}");
    let listener = TcpListener::bind(address).map_err(explain)?;
    listener.set_nonblocking(true).map_err(explain)?;
    let address = listener.local_addr().map_err(explain)?;
    Ok(Listener(listener, address))
}

/// Answers `GET /metrics` with a page from a thread of its own until the program ends; where.
pub(super) fn serve(
    Listener(listener, address): Listener,
    page: impl Fn() -> String + Send + 'static,
) -> Result<SocketAddr, String> {
    let work = move || {
        let _ = capability::keep_only(None);
        let mut clients = Vec::new();
        loop {
            round(&listener, &mut clients, &page);
        }
    };
    std::thread::Builder::new()
        .name("pace-metrics".to_owned())
        .spawn(work)
        .map_err(|error| format!("--metrics: {address}: {error}"))?;
    Ok(address)
}

struct Client {
    stream: TcpStream,
    until: Instant,
    request: Vec<u8>,
    /// What of it has not been sent; `None` until the request is whole.
    answer: Option<Vec<u8>>,
}

/// Waits for something to do, and does it.
fn round(listener: &TcpListener, clients: &mut Vec<Client>, page: &dyn Fn() -> String) {
    let now = clock::now();
    let most =
        clients.iter().map(|client| client.until.since(now)).min().unwrap_or(Span::from_millis(60_000));
    let mut waits: Vec<(BorrowedFd<'_>, Poll)> = vec![(listener.as_fd(), Poll::Readable)];
    waits.extend(clients.iter().map(|client| {
        let what = if client.answer.is_some() { Poll::Writable } else { Poll::Readable };
        (client.stream.as_fd(), what)
    }));
    let ready = clock::poll(&waits, most + Span::from_millis(1));
    let now = clock::now();
    let mut index = 0;
    clients.retain_mut(|client| {
        index += 1;
        let is_ready = ready.get(index).copied().unwrap_or_default();
        client.until > now && (!is_ready || client.go_on(page))
    });
    if ready.first() != Some(&true) {
        return;
    }
    for _ in 0..MOST {
        match listener.accept() {
            Ok((stream, _)) => {
                if stream.set_nonblocking(true).is_err() {
                    continue;
                }
                if clients.len() >= MOST {
                    clients.remove(0);
                }
                let mut client = Client { stream, until: now + DEADLINE, request: Vec::new(), answer: None };
                // one that has asked already does not wait for those that come after it
                if client.go_on(page) {
                    clients.push(client);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            // it has hung up already, or the process has no descriptor left for it
            Err(_) => return clock::sleep_until(now + Span::from_millis(10)),
        }
    }
}

impl Client {
    /// Reads or writes what it can; whether there is more to do.
    fn go_on(&mut self, page: &dyn Fn() -> String) -> bool {
        if self.answer.is_none() {
            let mut part = [0; LONGEST];
            match self.stream.read(&mut part) {
                Ok(0) => return false,
                Ok(read) => self.request.extend_from_slice(part.get(..read).unwrap_or_default()),
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
            if self.request.len() > LONGEST {
                return false;
            }
            if !self.request.windows(4).any(|end| end == b"\r\n\r\n")
                && !self.request.windows(2).any(|end| end == b"\n\n")
            {
                return true;
            }
            self.answer = Some(answer(&self.request, page));
        }
        let Some(answer) = &mut self.answer else { return true };
        match self.stream.write(answer) {
            Ok(written) => drop(answer.drain(..written)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
        !answer.is_empty()
    }
}

fn answer(request: &[u8], page: &dyn Fn() -> String) -> Vec<u8> {
    let line = request.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let (status, kind, body) = match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["GET", "/metrics", ..] => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", page()),
        ["GET", ..] => ("404 Not Found", "text/plain", "ask for /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "text/plain", "only GET\n".to_owned()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    (head + &body).into_bytes()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says what went wrong")]
mod tests {
    use super::*;

    fn ask(address: SocketAddr, request: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(address).unwrap();
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    #[test]
    fn silent_clients_take_nothing_from_one_that_asks() {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = serve(listener, || "page ".repeat(100_000)).unwrap();
        let silent: Vec<_> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
        for mut client in silent.iter().step_by(3) {
            let _ = client.write_all(b"GET /met");
        }
        let from = clock::now();
        for _ in 0..5 {
            let answer = ask(address, b"GET /metrics HTTP/1.1\r\n\r\n");
            assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
            assert!(answer.ends_with(b"page "));
        }
        assert!(clock::now().since(from) < DEADLINE);
    }

    #[test]
    fn what_is_no_request_ends_or_is_refused() {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = serve(listener, String::new).unwrap();
        assert!(ask(address, b"GET / HTTP/1.1\r\n\r\n").starts_with(b"HTTP/1.1 404 "));
        assert!(ask(address, b"PUT /metrics HTTP/1.1\n\n").starts_with(b"HTTP/1.1 405 "));
        assert!(ask(address, b"\xff\xfe\r\n\r\n").starts_with(b"HTTP/1.1 405 "));
        let from = clock::now();
        assert!(ask(address, b"GET /metrics").is_empty());
        assert!(clock::now().since(from) >= DEADLINE);
        assert!(ask(address, &[b'x'; 3 * LONGEST]).is_empty());
    }
}
