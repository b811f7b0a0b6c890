//! The network in real time, between devices.

use super::lateness::{Lateness, Summary};
use super::network::{Delivery, Found, Network};
use super::plan::{Plan, Port};
use crate::{dialogue, system};
use paceline_core::Instant;
use serde::Serialize;
use std::time::Duration;

/// A frame is no longer than this, bytes.
const LONGEST_FRAME: usize = 65_536;
/// Packets under way that there is room for from the start, and the size of most, bytes.
const ROOM: (u32, usize) = (8_192, 2_048);
/// So many frames are read from one device before the others and the calendar have their turn.
const READS: usize = 16;
/// Above user processes and below what the kernel itself runs at.
const PRIORITY: i32 = 20;

/// What was found, and how well time was kept.
#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    found: Found,
    /// Of packets handed to the kernel.
    lateness: Summary,
    /// From one look at the devices to the next, waits apart: so much later than it was sent a packet may be stamped.
    unwatched: Summary,
    /// Packets that the kernel would not take.
    refused_frames: u64,
    /// A real-time priority was granted.
    real_time: bool,
    cpu_s: f64,
}

/// Carries out the plan on standard input.
///
/// # Errors
/// A line for people.
pub(crate) fn run() -> Result<(), String> {
    system::become_child(c"paceline-wires").map_err(|error| error.to_string())?;
    let plan: Plan = dialogue::plan()?;
    drop(Network::new(&plan, Instant::ZERO)?); // says what is wrong with the plan, before anything is ready
    let real_time = system::become_real_time(PRIORITY);
    let _awake = system::keep_processors_awake();
    let start = dialogue::start()?;
    let mut network = Network::new(&plan, Instant::from_nanos(start))?;
    network.make_room(ROOM.0, ROOM.1);
    let mut line = Line::new(&plan)?;
    line.keep(&mut network, start + plan.duration_ns);
    dialogue::report(&Report {
        found: network.found(),
        lateness: line.lateness.summary(),
        unwatched: line.unwatched.summary(),
        refused_frames: line.refused_frames,
        real_time,
        cpu_s: system::cpu_seconds(),
    })
}

/// Between clock, devices and network.
struct Line {
    devices: Vec<Port>,
    spin_ns: u64,
    watched: system::Watched,
    lateness: Lateness,
    unwatched: Lateness,
    refused_frames: u64,
}

impl Line {
    fn new(plan: &Plan) -> Result<Self, String> {
        let lateness = || Lateness::new().ok_or_else(|| "a histogram has no such bounds".to_owned());
        Ok(Line {
            watched: system::Watched::new(plan.ports.iter().map(|port| port.fd).chain([0])),
            devices: plan.ports.clone(),
            spin_ns: plan.spin_ns,
            lateness: lateness()?,
            unwatched: lateness()?,
            refused_frames: 0,
        })
    }

    fn keep(&mut self, network: &mut Network, end: u64) {
        let mut buffer = vec![0; LONGEST_FRAME];
        let mut looked = system::now();
        loop {
            self.let_happen(network, Instant::from_nanos(system::now()), &mut buffer);
            let now = system::now();
            if now >= end {
                return;
            }
            self.unwatched.record(now - looked);
            let due = network.next_due().map_or(end, Instant::as_nanos).min(end);
            let rest = due.saturating_sub(now + self.spin_ns);
            let something = self.watched.wait(Duration::from_nanos(rest));
            looked = system::now();
            if !something {
                continue;
            }
            if self.watched.is_ready(self.devices.len()) {
                return; // whoever started this has gone
            }
            for port in (0..self.devices.len()).filter(|&port| self.watched.is_ready(port)) {
                for _ in 0..READS {
                    let Some(frame) = self.read(port, &mut buffer) else { break };
                    // Its host sent it before it got what is due and has not been handed over yet.
                    let now = Instant::from_nanos(system::now());
                    network.enter(port, frame, network.next_due().map_or(now, |due| due.min(now)));
                }
            }
        }
    }

    /// Hands over what is due. What a host answers at once has been sent when the call returns that hands it the packet, and
    /// so at the time at which the packet was due, however late that was.
    fn let_happen(&mut self, network: &mut Network, now: Instant, buffer: &mut [u8]) {
        while let Some(delivery) = network.advance(now) {
            let Delivery { port, due, .. } = delivery;
            self.deliver(&delivery);
            if self.devices[port].ethernet {
                continue; // a pacer, which takes its time
            }
            while let Some(frame) = self.read(port, buffer) {
                network.enter(port, frame, due);
            }
        }
    }

    fn read<'a>(&self, port: usize, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        let length = system::read(self.devices[port].fd, buffer).ok()?;
        Some(&buffer[..length])
    }

    fn deliver(&mut self, delivery: &Delivery<'_>) {
        let now = system::now();
        if system::write(self.devices[delivery.port].fd, delivery.frame).is_err() {
            self.refused_frames += 1;
        }
        self.lateness.record(now.saturating_sub(delivery.due.as_nanos()));
    }
}
