//! The kernel that is simulated: its clock, the two interfaces, and which way each frame goes. It checks what leaves.

use std::collections::VecDeque;
use std::sync::Arc;

use super::ingress::Programs;
use super::packet::PacketSide;
use super::script::{Call, Chance, Fault, Script, Side, hash};
use super::traffic::number_of;
use super::xdp::XdpSide;
use crate::bypass::Shared;

/// What a pacer may be away for before all that comes passes: its patience, and what a round takes.
pub(super) const PATIENCE_NS: u64 = 40_000_000;
pub(super) const OUTAGE_NS: u64 = 50_000_000;
/// What is held, all of it at the lowest rate, leaves in that time.
const OLDEST_NS: u64 = 450_000_000;
/// Of so many frames it is known when they came: more than a pacer has.
const MOST_KEPT: usize = 10_000;
/// Waits that end at once and for nothing, in ten milliseconds.
const IDLE: u32 = 60;

/// The sockets of the pacer that is at work.
pub(super) enum Sockets {
    None,
    Packet(PacketSide),
    Xdp(XdpSide),
}

/// What the process is told, as its main thread would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    Gone,
    Mtu,
    Reload(u64),
}

/// An interface.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Link {
    pub(super) down_until: u64,
    pub(super) gone_until: u64,
    pub(super) generation: u64,
}

/// All of it.
pub(super) struct World {
    pub(super) now: u64,
    pub(super) wall_offset: i64,
    pub(super) chance: Chance,
    /// For what comes in alone: a script that has failed has the same traffic whatever else is drawn.
    pub(super) traffic: Chance,
    faults: VecDeque<(u64, Fault)>,
    /// The first is what frames meet first.
    pub(super) programs: Vec<Programs>,
    /// Whose program is at the driver, by where its state is.
    pub(super) driver: Option<Arc<Shared>>,
    pub(super) sockets: Sockets,
    pub(super) links: [Link; 2],
    pub(super) full_until: u64,
    no_carrier_until: u64,
    pub(super) drops: u64,
    /// When the socket that receives is given frames again after its interface was down: a moment after frames come.
    rebinds: Option<u64>,
    pub(super) mtu: usize,
    pub(super) failing: Vec<(Call, i32, u64)>,
    /// What happens in the next such call: see [`Fault`].
    interrupt: Option<(Call, Fault)>,
    pub(super) notices: Vec<Notice>,
    next_arrival: u64,
    mean_gap_ns: u64,
    pub(super) joins: bool,
    pub(super) number: u64,
    /// The pacer has been dead, or stopped, since.
    pub(super) away_since: Option<u64>,
    /// It has been stopped so long in all, nanoseconds.
    pub(super) stopped_ns: u64,
    /// It is told to end, and then has ended: nothing is forwarded until the next one is there.
    is_told_to_end: bool,
    pub(super) is_ended: bool,
    /// Its thread runs: it can panic, be killed or be stopped.
    pub(super) is_at_work: bool,
    /// It has panicked: it has let traffic pass.
    pub(super) has_panicked: bool,
    /// It was killed: nothing of it runs any more.
    pub(super) is_killed: bool,
    pub(super) last_out: Option<u64>,
    /// The last number of what came in together and may still leave, and when it came.
    arrived: VecDeque<(u64, u64)>,
    /// Until then frames may have had to wait: the pacer was stopped, or the way out full.
    pub(super) excused_until: u64,
    /// Frames that came in, went past, and left by the pacer.
    pub(super) came: u64,
    pub(super) passed: u64,
    pub(super) sent: u64,
    /// Frames that an interface lost, or that met no pacer's gate where there could be none.
    pub(super) outside: u64,
    idle: (u64, u32),
    /// Looks at the clock since anything else was done.
    pub(super) looks: u32,
    pub(super) violation: Option<String>,
}

impl World {
    pub(super) fn new(script: &Script) -> World {
        let mut traffic = Chance(script.seed);
        let mean_gap_ns = [300_000, 2_000_000, 5_000_000, 20_000_000, 20_000_000][traffic.below(5) as usize];
        World {
            now: 1_000_000_000,
            wall_offset: 1_700_000_000_000_000_000,
            chance: Chance(hash(script.seed)),
            traffic,
            faults: script.faults.iter().map(|(at, fault)| (1_000_000_000 + at * 1000, *fault)).collect(),
            programs: Vec::new(),
            driver: None,
            sockets: Sockets::None,
            links: [Link::default(); 2],
            full_until: 0,
            no_carrier_until: 0,
            drops: 0,
            rebinds: None,
            arrived: VecDeque::new(),
            excused_until: 0,
            mtu: 1500,
            failing: Vec::new(),
            interrupt: None,
            notices: Vec::new(),
            next_arrival: 1_000_100_000,
            mean_gap_ns,
            joins: !script.xdp,
            number: 1,
            away_since: None,
            stopped_ns: 0,
            is_told_to_end: false,
            is_ended: false,
            is_at_work: false,
            has_panicked: false,
            is_killed: false,
            last_out: None,
            came: 0,
            passed: 0,
            sent: 0,
            outside: 0,
            idle: (0, 0),
            looks: 0,
            violation: None,
        }
    }

    pub(super) fn violate(&mut self, what: String) {
        let at = (self.now - 1_000_000_000) / 1000;
        self.violation.get_or_insert(format!("{at}: {what}"));
    }

    /// Nothing more goes wrong.
    pub(super) fn quieten(&mut self) {
        self.faults.clear();
        self.links.iter_mut().for_each(|link| link.down_until = 0);
        (self.full_until, self.no_carrier_until) = (0, 0);
        self.rebinds = self.rebinds.map(|_| self.now);
    }

    /// What happens to the process in this call, if anything does.
    pub(super) fn take_interrupt(&mut self, call: Call, wanted: fn(&Fault) -> bool) -> Option<Fault> {
        let (_, fault) =
            self.interrupt.filter(|(at, fault)| self.is_at_work && *at == call && wanted(fault))?;
        self.interrupt = None;
        Some(fault)
    }

    /// Whether the process is told to end.
    pub(super) fn take_stop(&mut self) -> bool {
        std::mem::take(&mut self.is_told_to_end)
    }

    pub(super) fn is_there(&self, side: Side) -> bool {
        self.now >= self.links[side as usize].gone_until
    }

    pub(super) fn is_up(&self, side: Side) -> bool {
        self.is_there(side) && self.now >= self.links[side as usize].down_until
    }

    /// Time goes on: what happens meanwhile happens.
    pub(super) fn advance(&mut self, to: u64) {
        loop {
            let fault = self.faults.front().map_or(u64::MAX, |(at, _)| *at);
            let rebinds = self.rebinds.unwrap_or(u64::MAX);
            let next = fault.min(self.next_arrival).min(rebinds);
            if next > to {
                break;
            }
            self.now = self.now.max(next);
            if rebinds == next {
                self.rebind();
            } else if fault <= self.next_arrival {
                if let Some((_, fault)) = self.faults.pop_front() {
                    self.fault(fault);
                }
            } else {
                let gap = self.traffic.below(2 * self.mean_gap_ns);
                self.next_arrival += if self.traffic.one_in(3) { gap / 10 } else { gap };
                self.arrive();
            }
        }
        self.now = self.now.max(to);
    }

    /// When something happens next.
    pub(super) fn next_event(&self) -> u64 {
        let fault = self.faults.front().map_or(u64::MAX, |(at, _)| *at);
        self.next_arrival.min(fault).min(self.rebinds.unwrap_or(u64::MAX))
    }

    /// The interface that frames come in by is up: what comes before its socket is told is not shown to it (`dev_open`).
    fn rebind(&mut self) {
        self.rebinds = None;
        if self.chance.one_in(2) {
            self.arrive();
        }
        if let Sockets::Packet(packet) = &mut self.sockets {
            packet.bound = true;
        }
    }

    pub(super) fn has_carrier(&self) -> bool {
        self.now >= self.no_carrier_until
    }

    fn fault(&mut self, fault: Fault) {
        match fault {
            Fault::Fail(call, error, times) => {
                // what it had to drop a kernel says in the end: a script's limit holds for those that come together, too
                if call == Call::Overflow {
                    self.failing.retain(|(failing, ..)| *failing != call);
                }
                self.failing.push((call, error, times));
            }
            Fault::Panic(call) | Fault::Kill(call) | Fault::Stop(call, _) => {
                self.interrupt = Some((call, fault));
            }
            Fault::Down(side, us) => {
                self.hear_down(side);
                if side == Side::In && self.is_up(side) && self.chance.one_in(2) {
                    self.arrive(); // it had this one when it went down
                }
                let link = &mut self.links[side as usize];
                link.down_until = link.down_until.max(self.now + 1000 * us);
                let up = link.down_until;
                if let (Side::In, Sockets::Packet(_)) = (side, &self.sockets) {
                    self.rebinds = Some(up);
                }
            }
            Fault::Gone(side, us) => {
                let until = self.now + 1000 * us;
                let link = &mut self.links[side as usize];
                link.gone_until = link.gone_until.max(until);
                link.generation += 1;
                self.hear_down(side);
                self.notices.push(Notice::Gone);
                if side == Side::In {
                    // with all that was attached to it
                    self.programs.clear();
                    self.driver = None;
                    self.rebinds = None;
                    if let Sockets::Packet(packet) = &mut self.sockets {
                        packet.bound = false;
                    }
                }
            }
            Fault::Full(us) => {
                self.full_until = self.now + 1000 * us;
                self.excused_until = self.excused_until.max(self.full_until);
            }
            Fault::Carrier(us) => {
                self.no_carrier_until = self.no_carrier_until.max(self.now + 1000 * us);
            }
            Fault::Drops(count) => self.drops += count,
            Fault::Mtu(mtu) => {
                self.mtu = mtu as usize;
                self.notices.push(Notice::Mtu);
            }
            Fault::Step(us) => self.wall_offset += 1000 * us,
            Fault::End => self.is_told_to_end = true,
            Fault::Reload(to) => self.notices.push(Notice::Reload(to)),
            Fault::Burst(count) => {
                for _ in 0..count {
                    self.arrive();
                }
            }
        }
    }

    /// A socket is told that its interface is down.
    fn hear_down(&mut self, side: Side) {
        if let (Sockets::Packet(packet), Side::In) = (&mut self.sockets, side)
            && packet.bound
        {
            packet.error = libc::ENETDOWN;
            packet.bound = false;
        }
    }

    /// A frame leaves by the pacer.
    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.sent += 1;
        match number_of(bytes) {
            Ok(number) => self.leave(number),
            Err(problem) => self.violate(problem),
        }
    }

    pub(super) fn leave(&mut self, number: u64) {
        if let Some(last) = self.last_out.filter(|last| number <= *last) {
            self.violate(format!("frame {number} leaves after {last}"));
        }
        self.last_out = Some(number);
        while self.arrived.front().is_some_and(|(last, _)| *last < number) {
            self.arrived.pop_front();
        }
        let since = self.arrived.front().map_or(self.now, |(_, at)| *at).max(self.excused_until);
        if self.now > since + OLDEST_NS {
            let ms = (self.now - since) / 1_000_000;
            self.violate(format!("frame {number} leaves {ms} ms after it came"));
        }
    }

    /// Frames up to that number have come.
    pub(super) fn note_arrival(&mut self, last: u64) {
        if self.arrived.len() > MOST_KEPT {
            self.arrived.pop_front();
        }
        self.arrived.push_back((last, self.now));
    }

    /// Whether the socket that receives has something to read, and its pending error.
    pub(super) fn ready(&self) -> (bool, i32) {
        match &self.sockets {
            Sockets::Packet(packet) => (packet.is_readable(), packet.error),
            Sockets::Xdp(xdp) => (xdp.is_readable(), 0),
            Sockets::None => (false, 0),
        }
    }

    /// A wait has ended without anything: a thread that does so all the time burns its processor.
    pub(super) fn note_idle(&mut self) {
        let (since, count) = self.idle;
        self.idle = if self.now - since > 10_000_000 { (self.now, 1) } else { (since, count + 1) };
        if self.idle.1 > IDLE {
            self.violate("waits end at once, and for nothing".to_owned());
        }
    }
}
