//! What meets a frame where it comes in: a driver's program or a packet socket's filter, and then the gate.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::bpf::{self, Machine};
use super::script::Side;
use super::traffic::Arrival;
use super::world::{OUTAGE_NS, Sockets, World};
use crate::bpf::assembler::Instruction;
use crate::bypass::{Shared, programs};

/// A pacer's programs, as they are attached.
pub(super) struct Programs {
    pub(super) shared: Arc<Shared>,
    noted: u64,
    tap: Vec<Instruction>,
    gate: Vec<Instruction>,
    driver: Vec<Instruction>,
    /// Which of the outgoing interfaces the gate sends to: one that has gone does not come back.
    to: u64,
}

impl World {
    /// A pacer's programs are attached, before those of others; what an earlier one has left is taken away by
    /// [`World::forget`].
    pub(super) fn attach(&mut self, shared: &Arc<Shared>, xdp: bool) {
        let to = self.links[1].generation;
        let programs = Programs {
            shared: Arc::clone(shared),
            noted: 0,
            tap: programs::tap(bpf::STATE, bpf::NOTED),
            gate: programs::gate(bpf::STATE, bpf::NOTED, to as u32),
            driver: programs::driver(bpf::STATE, bpf::SOCKETS),
            to,
        };
        self.programs.insert(0, programs);
        self.is_ended = false;
        self.driver = xdp.then(|| Arc::clone(shared)).or(self.driver.take());
    }

    pub(super) fn forget(&mut self, shared: &Arc<Shared>) {
        self.programs.retain(|programs| !Arc::ptr_eq(&programs.shared, shared));
        if self.driver.as_ref().is_some_and(|driver| Arc::ptr_eq(driver, shared)) {
            self.driver = None;
        }
    }

    /// A frame comes in.
    pub(super) fn arrive(&mut self) {
        let joins = self.joins;
        let arrival = Arrival::random(self.number, self.mtu, joins, &mut self.traffic);
        self.number += arrival.frames();
        self.came += arrival.frames();
        self.note_arrival(self.number - 1);
        if !self.is_up(Side::In) {
            self.outside += arrival.frames();
            return;
        }
        let (now, wall) = (self.now, (self.now as i64 + self.wall_offset) as u64);
        let mut is_taken = false;
        let mut context = [arrival.length as u32, 0, 0, 0, 0];
        match &mut self.sockets {
            Sockets::Packet(packet) if packet.bound => {
                if let Some(tap) =
                    self.programs.iter_mut().find(|programs| Arc::ptr_eq(&programs.shared, &packet.shared))
                {
                    let state = tap.shared.state();
                    let mut machine =
                        Machine { context, state, noted: &mut tap.noted, now, has_socket: false };
                    let kept = machine.run(&tap.tap).returned as u32;
                    assert!(kept == 0 || kept == u32::MAX, "{kept} bytes of a frame are kept");
                    is_taken = kept != 0;
                    if is_taken {
                        packet.put(&arrival, wall);
                    }
                }
            }
            sockets => {
                let driver = self.driver.clone();
                let found = self
                    .programs
                    .iter_mut()
                    .find(|programs| driver.as_ref().is_some_and(|d| Arc::ptr_eq(d, &programs.shared)));
                if let Some(programs) = found {
                    let has_socket = match sockets {
                        Sockets::Xdp(xdp) => Arc::ptr_eq(&xdp.shared, &programs.shared),
                        _ => false,
                    };
                    context[4] = 0; // the one receive queue
                    let state = programs.shared.state();
                    let mut machine = Machine { context, state, noted: &mut 0, now, has_socket };
                    if machine.run(&programs.driver).returned == 4 {
                        is_taken = true;
                        if let Sockets::Xdp(xdp) = sockets {
                            xdp.put(&arrival);
                        }
                    }
                }
                if is_taken {
                    return self.is_taken(&arrival);
                }
            }
        }
        if is_taken {
            self.is_taken(&arrival);
        }
        self.meet_gate(&arrival, context, is_taken);
    }

    fn is_taken(&mut self, arrival: &Arrival) {
        if self.has_panicked {
            self.violate(format!("frame {} is taken by a pacer that has panicked", arrival.number));
        }
        if let Some(since) = self.away_since.filter(|since| self.now - since > OUTAGE_NS) {
            let us = (self.now - since) / 1000;
            self.violate(format!(
                "frame {} is taken by a pacer that has been away for {us} us",
                arrival.number
            ));
        }
    }

    /// The frame comes to the ingress.
    fn meet_gate(&mut self, arrival: &Arrival, context: [u32; 5], is_taken: bool) {
        let now = self.now;
        let Some(first) = self.programs.first_mut() else {
            // the interface is new, and no pacer has come to it yet
            self.outside += arrival.frames();
            if self.links[0].generation == 0 && !self.is_ended {
                self.violate(format!("frame {} meets no gate", arrival.number));
            }
            return;
        };
        let state = first.shared.state();
        let mut machine = Machine { context, state, noted: &mut first.noted, now, has_socket: false };
        let said = machine.run(&first.gate);
        let is_closed = state.closed.load(Ordering::Relaxed) != 0;
        let is_meant = said.redirected == Some(first.to) && first.to == self.links[1].generation;
        match (said.redirected, is_taken) {
            (Some(_), true) => self.violate(format!("frame {} is taken and passes", arrival.number)),
            (None, false) if !is_closed => {
                self.violate(format!("frame {} is neither taken nor passes", arrival.number));
            }
            (None, false) if self.has_panicked => {
                self.violate(format!("frame {} does not pass a pacer that has panicked", arrival.number));
            }
            (None, false) if self.away_since.is_some_and(|since| now - since > OUTAGE_NS) => {
                self.violate(format!("frame {} does not pass a pacer that is away", arrival.number));
            }
            (Some(_), false)
                if is_meant && self.is_up(Side::Out) && self.now >= self.full_until && self.has_carrier() =>
            {
                self.passed += arrival.frames();
                self.leave(arrival.number);
                self.last_out = Some(arrival.number + arrival.frames() - 1);
            }
            (Some(_) | None, false) => self.outside += arrival.frames(),
            (None, true) => {}
        }
    }
}
