//! All flows, from start to end.

use super::flow::{End, Flow, FlowFound};
use super::plan::{Plan, SamplePlan};
use crate::dialogue;
use crate::system::{self, Poll};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Below the network's priority, above processes without one.
const PRIORITY: i32 = 10;

/// A look at a flow's socket.
#[derive(Debug, Serialize)]
struct Sample {
    flow: usize,
    /// When it was due, from the start.
    time_ns: u64,
    /// Packets.
    cwnd: u32,
    ssthresh: u32,
    in_flight: u32,
    srtt_us: u32,
    /// The kernel's: 0 open, 1 disorder, 2 reduced, 3 recovery, 4 loss.
    state: u8,
    /// Bytes/s.
    pacing_rate: u64,
    delivered_bytes: u64,
}

/// What was found.
#[derive(Debug, Serialize)]
struct Report {
    flows: Vec<FlowFound>,
    samples: Vec<Sample>,
    cpu_s: f64,
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    Window,
    Begin(usize),
    Sample(usize),
}

/// Carries out the plan on standard input.
///
/// # Errors
/// A line for people.
pub(crate) fn run() -> Result<(), String> {
    system::become_child(c"paceline-traffi").map_err(|error| error.to_string())?;
    system::raise_descriptor_limit();
    let plan: Plan = dialogue::plan()?;
    let mut applications = Applications::new(&plan)?;
    let _ = system::become_real_time(PRIORITY); // the network's process says whether that was granted
    let start = dialogue::start()?;
    applications.keep(&plan, start);
    dialogue::report(&Report {
        flows: applications.flows.iter().map(Flow::found).collect(),
        samples: applications.samples,
        cpu_s: system::cpu_seconds(),
    })
}

struct Applications {
    poll: Poll,
    flows: Vec<Flow>,
    tasks: BinaryHeap<Reverse<(u64, Task)>>,
    samples: Vec<Sample>,
}

fn token(flow: usize, end: End) -> u64 {
    let end = match end {
        End::Listener => 0,
        End::Caller => 1,
        End::Server => 2,
    };
    flow as u64 * 3 + end
}

impl Applications {
    fn new(plan: &Plan) -> Result<Self, String> {
        let poll = Poll::new().map_err(|error| format!("epoll: {error}"))?;
        let mut flows = Vec::new();
        for (number, flow) in plan.flows.iter().enumerate() {
            let failed = |error| format!("flows[{number}]: {error}");
            let stack = plan.stacks.get(flow.stack).ok_or(format!("flows[{number}].stack: no such pair"))?;
            let port = u16::try_from(number).ok().and_then(|number| plan.first_port.checked_add(number));
            let port = port.ok_or("flows: there are no ports for so many")?;
            system::enter_namespace(stack.listeners).map_err(failed)?;
            let flow = Flow::new(flow, stack.callers, port).map_err(failed)?;
            poll.watch(flow.listener(), token(number, End::Listener)).map_err(failed)?;
            flows.push(flow);
        }
        Ok(Applications { poll, flows, tasks: BinaryHeap::new(), samples: Vec::new() })
    }

    fn keep(&mut self, plan: &Plan, start: u64) {
        let (from, end) = (start + plan.warmup_ns, start + plan.duration_ns);
        self.tasks.push(Reverse((from, Task::Window)));
        for (number, flow) in plan.flows.iter().enumerate() {
            self.flows[number].set_window((from, end));
            self.tasks.push(Reverse((start + flow.start_ns, Task::Begin(number))));
        }
        for number in 0..plan.samples.len() {
            self.tasks.push(Reverse((start, Task::Sample(number))));
        }
        loop {
            let now = system::now();
            if now >= end || dialogue::is_over() {
                return;
            }
            while let Some(&Reverse((at, task))) = self.tasks.peek().filter(|task| task.0.0 <= now) {
                self.tasks.pop();
                self.carry_out(task, at, start, &plan.samples);
            }
            let next = self.tasks.peek().map_or(end, |task| task.0.0).min(end);
            for ready in self.poll.wait(Duration::from_nanos(next.saturating_sub(system::now()))) {
                let flow = (ready / 3) as usize;
                let end = [End::Listener, End::Caller, End::Server][(ready % 3) as usize];
                let watched = if end == End::Listener { End::Server } else { end };
                let now = system::now();
                match self.flows[flow].on_ready(end, &self.poll, token(flow, watched), now) {
                    Ok(Some(pause)) => self.tasks.push(Reverse((now + pause, Task::Begin(flow)))),
                    Ok(None) => {}
                    Err(error) => self.flows[flow].fail(&error),
                }
            }
        }
    }

    fn carry_out(&mut self, task: Task, at: u64, start: u64, samples: &[SamplePlan]) {
        match task {
            Task::Window => self.flows.iter_mut().for_each(Flow::begin_window),
            Task::Begin(number) => {
                let flow = &mut self.flows[number];
                if let Err(error) = flow.begin(&self.poll, token(number, End::Caller), system::now()) {
                    flow.fail(&error);
                }
            }
            Task::Sample(number) => {
                let SamplePlan { flow, every_ns } = samples[number];
                if let Some(found) = self.flows.get(flow) {
                    let (info, delivered) = (found.info().unwrap_or_default(), found.delivered());
                    self.samples.push(Sample {
                        flow,
                        time_ns: at - start,
                        cwnd: info.cwnd,
                        ssthresh: info.ssthresh,
                        in_flight: info.unacked,
                        srtt_us: info.rtt_us,
                        state: info.ca_state,
                        pacing_rate: info.pacing_rate,
                        delivered_bytes: delivered,
                    });
                }
                self.tasks.push(Reverse((at + every_ns.max(100_000), Task::Sample(number))));
            }
        }
    }
}
