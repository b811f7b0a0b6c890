//! The kernel that is simulated: its clock, the two interfaces, and which way each frame goes. It checks what leaves.

use std::collections::VecDeque;
use std::sync::Arc;

use super::ingress::Programs;
use super::packet::PacketSide;
use super::script::{Call, Chance, Fault, Script, Side};
use super::traffic::number_of;
use super::xdp::XdpSide;
use crate::bypass::Shared;

/// What a pacer may be away for before all that comes passes: its patience, and what a round takes.
pub(super) const PATIENCE_NS: u64 = 40_000_000;
pub(super) const OUTAGE_NS: u64 = 50_000_000;
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
    faults: VecDeque<(u64, Fault)>,
    /// The first is what frames meet first.
    pub(super) programs: Vec<Programs>,
    /// Whose program is at the driver, by where its state is.
    pub(super) driver: Option<Arc<Shared>>,
    pub(super) sockets: Sockets,
    pub(super) links: [Link; 2],
    pub(super) full_until: u64,
    pub(super) drops: u64,
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
    /// It is told to end, and then has ended: nothing is forwarded until the next one is there.
    is_told_to_end: bool,
    pub(super) is_ended: bool,
    /// Its thread runs: it can panic, be killed or be stopped.
    pub(super) is_at_work: bool,
    /// It was killed: nothing of it runs any more.
    pub(super) is_killed: bool,
    pub(super) last_out: Option<u64>,
    /// Frames that came in, went past, and left by the pacer.
    pub(super) came: u64,
    pub(super) passed: u64,
    pub(super) sent: u64,
    /// Frames that an interface lost, or that met no pacer's gate where there could be none.
    pub(super) outside: u64,
    idle: (u64, u32),
    pub(super) violation: Option<String>,
}

impl World {
    pub(super) fn new(script: &Script) -> World {
        let mut chance = Chance(script.seed);
        let mean_gap_ns = [300_000, 2_000_000, 5_000_000, 20_000_000, 20_000_000][chance.below(5) as usize];
        World {
            now: 1_000_000_000,
            wall_offset: 1_700_000_000_000_000_000,
            chance,
            faults: script.faults.iter().map(|(at, fault)| (1_000_000_000 + at * 1000, *fault)).collect(),
            programs: Vec::new(),
            driver: None,
            sockets: Sockets::None,
            links: [Link::default(); 2],
            full_until: 0,
            drops: 0,
            mtu: 1500,
            failing: Vec::new(),
            interrupt: None,
            notices: Vec::new(),
            next_arrival: 1_000_100_000,
            mean_gap_ns,
            joins: !script.xdp,
            number: 1,
            away_since: None,
            is_told_to_end: false,
            is_ended: false,
            is_at_work: false,
            is_killed: false,
            last_out: None,
            came: 0,
            passed: 0,
            sent: 0,
            outside: 0,
            idle: (0, 0),
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
        self.full_until = 0;
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
            let next = fault.min(self.next_arrival);
            if next > to {
                break;
            }
            self.now = self.now.max(next);
            if fault <= self.next_arrival {
                if let Some((_, fault)) = self.faults.pop_front() {
                    self.fault(fault);
                }
            } else {
                let gap = self.chance.below(2 * self.mean_gap_ns);
                self.next_arrival += if self.chance.one_in(3) { gap / 10 } else { gap };
                self.arrive();
            }
        }
        self.now = self.now.max(to);
    }

    /// When something happens next.
    pub(super) fn next_event(&self) -> u64 {
        self.next_arrival.min(self.faults.front().map_or(u64::MAX, |(at, _)| *at))
    }

    fn fault(&mut self, fault: Fault) {
        match fault {
            Fault::Fail(call, error, times) => self.failing.push((call, error, times)),
            Fault::Panic(call) | Fault::Kill(call) | Fault::Stop(call, _) => {
                self.interrupt = Some((call, fault));
            }
            Fault::Down(side, us) => {
                let link = &mut self.links[side as usize];
                link.down_until = link.down_until.max(self.now + 1000 * us);
                self.hear_down(side);
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
                    if let Sockets::Packet(packet) = &mut self.sockets {
                        packet.bound = false;
                    }
                }
            }
            Fault::Full(us) => self.full_until = self.now + 1000 * us,
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
