//! One flow: what its application says next, and what is counted.

use super::connection::{Connection, configure};
use super::plan::{Application, FlowPlan};
use super::tcp_info::TcpInfo;
use crate::system::{self, Address, Poll, Socket};
use rand_core::SeedableRng;
use rand_pcg::Pcg32;
use serde::Serialize;
use std::io;

/// Which socket of a flow is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Listener,
    Caller,
    Server,
}

/// Of the statistics' window.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct FlowFound {
    /// Payload delivered to the listener, bytes.
    forward_bytes: u64,
    /// Payload delivered to the caller, bytes.
    back_bytes: u64,
    /// Of the caller's packets, and of the server's.
    retransmits: u64,
    back_retransmits: u64,
    /// Retransmission timeouts; `None` where the kernel does not count them.
    timeouts: u64,
    back_timeouts: u64,
    /// Data packets sent.
    sent_packets: u64,
    back_sent_packets: u64,
    /// Transfers that ended: size in bytes; time from the start, with the connection, and from the first byte sent, ns.
    transfers: Vec<(u64, u64, u64)>,
    /// Connections that failed, in the whole run.
    failures: Vec<String>,
}

/// What has been counted so far.
#[derive(Debug, Clone, Copy, Default)]
struct Counters {
    forward_bytes: u64,
    back_bytes: u64,
    caller: Sent,
    server: Sent,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    retransmits: u64,
    timeouts: u64,
    packets: u64,
}

impl Sent {
    fn of(connection: Option<&Connection>) -> Sent {
        let info = connection.and_then(|connection| TcpInfo::of(&connection.socket)).unwrap_or_default();
        Sent {
            retransmits: info.retransmits.into(),
            timeouts: info.timeouts.into(),
            packets: info.segments_sent.into(),
        }
    }

    fn add(&mut self, other: Sent) {
        self.retransmits += other.retransmits;
        self.timeouts += other.timeouts;
        self.packets += other.packets;
    }
}

#[derive(Debug)]
pub(crate) struct Flow {
    plan: FlowPlan,
    namespace: i32,
    to: Address,
    draws: Pcg32,
    listener: Socket,
    caller: Option<Connection>,
    server: Option<Connection>,
    /// Of connections that are closed, and of bytes.
    counted: Counters,
    /// At the window's start.
    at_start: Counters,
    /// When the transfer under way began, ns: where it opens a connection, before that.
    began: u64,
    /// Its size, and when its first byte was sent, ns.
    transfer: Option<(u64, u64)>,
    /// Of a call: bytes of the request that have not reached the server, bytes of the response that have not come back.
    request_left: u64,
    response: u64,
    response_left: u64,
    transfers: u64,
    window: (u64, u64),
    found: FlowFound,
}

impl Flow {
    /// Listens, from the namespace that the thread is in.
    pub(crate) fn new(plan: &FlowPlan, callers: i32, port: u16) -> io::Result<Self> {
        let listener = Socket::new()?;
        configure(&listener, plan)?;
        listener.bind((plan.to, port))?;
        listener.listen()?;
        Ok(Flow {
            plan: plan.clone(),
            namespace: callers,
            to: (plan.to, port),
            draws: Pcg32::seed_from_u64(plan.seed),
            listener,
            caller: None,
            server: None,
            counted: Counters::default(),
            at_start: Counters::default(),
            began: 0,
            transfer: None,
            request_left: 0,
            response: 0,
            response_left: 0,
            transfers: 0,
            window: (0, 0),
            found: FlowFound::default(),
        })
    }

    /// When the statistics start and end, ns.
    pub(crate) fn set_window(&mut self, window: (u64, u64)) {
        self.window = window;
    }

    pub(crate) fn listener(&self) -> i32 {
        self.listener.descriptor()
    }

    pub(crate) fn info(&self) -> Option<TcpInfo> {
        self.caller.as_ref().and_then(|caller| TcpInfo::of(&caller.socket))
    }

    /// Payload that has reached the listener, bytes.
    pub(crate) fn delivered(&self) -> u64 {
        self.counted.forward_bytes
    }

    /// It is time for the next transfer: connects first, if need be.
    pub(crate) fn begin(&mut self, poll: &Poll, token: u64, now: u64) -> io::Result<()> {
        self.began = now;
        if self.caller.is_none() {
            system::enter_namespace(self.namespace)?;
            let caller = Connection::open(&self.plan, self.to)?;
            poll.watch(caller.socket.descriptor(), token)?;
            self.caller = Some(caller);
            return Ok(());
        }
        self.send(now)
    }

    /// A socket is ready; says in how many ns the next transfer is to begin, if this one is over.
    pub(crate) fn on_ready(
        &mut self,
        end: End,
        poll: &Poll,
        token: u64,
        now: u64,
    ) -> io::Result<Option<u64>> {
        match end {
            End::Listener => {
                while let Ok(socket) = self.listener.accept() {
                    poll.watch(socket.descriptor(), token)?;
                    self.drop_server();
                    self.server = Some(Connection::accepted(socket));
                }
                self.serve()?;
                Ok(None)
            }
            End::Server => {
                self.serve()?;
                Ok(None)
            }
            End::Caller => self.on_caller(now),
        }
    }

    fn on_caller(&mut self, now: u64) -> io::Result<Option<u64>> {
        let Some(caller) = &mut self.caller else { return Ok(None) };
        if !caller.connected {
            caller.socket.take_error()?;
            match caller.socket.number_bytes() {
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return Ok(None), // not connected yet
                other => other?,
            }
            caller.connected = true;
            self.send(now)?;
            return Ok(None);
        }
        let acknowledged = caller.acknowledged();
        let (bytes, closed) = caller.take();
        self.counted.back_bytes += bytes;
        if closed {
            caller.socket.take_error()?;
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        caller.pump()?;
        match self.plan.application {
            Application::Calls { .. } => {
                let waited = self.response_left > 0;
                self.response_left = self.response_left.saturating_sub(bytes);
                if waited && self.response_left == 0 { Ok(self.finish(now)) } else { Ok(None) }
            }
            _ => match acknowledged {
                // The kernel's stamp is of the wall clock: how long ago that was.
                Some(time) => Ok(self.finish(now - system::wall_clock().saturating_sub(time).min(now))),
                None => Ok(None),
            },
        }
    }

    /// The first byte of the next transfer goes out.
    fn send(&mut self, now: u64) -> io::Result<()> {
        let (bytes, size, stamped) = match self.plan.application {
            Application::Bulk { bytes: None } => (u64::MAX, u64::MAX, false),
            Application::Bulk { bytes: Some(bytes) } => (bytes, bytes, true),
            Application::Files { size, .. } => {
                let bytes = size.next(&mut self.draws).max(1);
                (bytes, bytes, true)
            }
            Application::Calls { request, response, .. } => {
                let request = request.next(&mut self.draws).max(1);
                self.request_left = request;
                self.response = response.next(&mut self.draws).max(1);
                self.response_left = self.response;
                (request, request + self.response, false)
            }
        };
        self.transfer = Some((size, now));
        let Some(caller) = &mut self.caller else { return Ok(()) };
        caller.give(bytes, stamped);
        caller.pump()
    }

    fn serve(&mut self) -> io::Result<()> {
        let Some(server) = &mut self.server else { return Ok(()) };
        let (bytes, closed) = server.take();
        self.counted.forward_bytes += bytes;
        if matches!(self.plan.application, Application::Calls { .. }) && self.request_left > 0 {
            self.request_left = self.request_left.saturating_sub(bytes);
            if self.request_left == 0 {
                server.give(self.response, false);
            }
        }
        if closed {
            self.drop_server();
            return Ok(());
        }
        server.pump()
    }

    /// A transfer is over: counts it, and says how long the pause is before the next.
    fn finish(&mut self, now: u64) -> Option<u64> {
        let (bytes, sent) = self.transfer.take()?;
        if (self.window.0..self.window.1).contains(&now) {
            self.found.transfers.push((bytes, now.saturating_sub(self.began), now.saturating_sub(sent)));
        }
        self.transfers += 1;
        match self.plan.application {
            Application::Bulk { .. } => None,
            Application::Files { think, new_connections, files, .. } => {
                if new_connections && let Some(caller) = self.caller.take() {
                    self.counted.caller.add(Sent::of(Some(&caller)));
                    caller.close();
                }
                files.is_none_or(|most| self.transfers < most).then(|| think.next(&mut self.draws))
            }
            Application::Calls { think, calls, .. } => {
                calls.is_none_or(|most| self.transfers < most).then(|| think.next(&mut self.draws))
            }
        }
    }

    /// A connection has failed: it is left as it is.
    pub(crate) fn fail(&mut self, error: &io::Error) {
        self.counted.caller.add(Sent::of(self.caller.as_ref()));
        self.caller = None;
        self.drop_server();
        self.found.failures.push(error.to_string());
    }

    fn drop_server(&mut self) {
        self.counted.server.add(Sent::of(self.server.as_ref()));
        if let Some(server) = self.server.take() {
            server.close();
        }
    }

    fn counters(&self) -> Counters {
        let mut counters = self.counted;
        counters.caller.add(Sent::of(self.caller.as_ref()));
        counters.server.add(Sent::of(self.server.as_ref()));
        counters
    }

    /// The statistics' window begins.
    pub(crate) fn begin_window(&mut self) {
        self.at_start = self.counters();
    }

    /// What was found, at the window's end.
    pub(crate) fn found(&self) -> FlowFound {
        let (now, then) = (self.counters(), self.at_start);
        FlowFound {
            forward_bytes: now.forward_bytes - then.forward_bytes,
            back_bytes: now.back_bytes - then.back_bytes,
            retransmits: now.caller.retransmits - then.caller.retransmits,
            back_retransmits: now.server.retransmits - then.server.retransmits,
            timeouts: now.caller.timeouts - then.caller.timeouts,
            back_timeouts: now.server.timeouts - then.server.timeouts,
            sent_packets: now.caller.packets - then.caller.packets,
            back_sent_packets: now.server.packets - then.server.packets,
            ..self.found.clone()
        }
    }
}
