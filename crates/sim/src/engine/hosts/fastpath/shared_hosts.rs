//! Shared hosts: hosts of several flows, handled ahead of time packet by packet.
//!
//! *Idea.* Packets reach such a host over one link, in order, and leave it over links that it alone feeds. So only timers of its own flows,
//! and their starts, can come between two packets. They are handled in their order; packets of an epoch are grouped by host, not by flow.
//! *Where it breaks.* Applications, open-loop sources, host ports and whatever observes flows need the order of time. Which hosts are
//! eligible is decided in `plan/eligible_hosts.rs`.
//! *What it buys.* Without it ten flows a host take 23 % more instructions (`benches/ablation.py --path shared-hosts`).

pub(crate) mod state;

use self::state::SharedHosts;
use crate::engine::hosts::Hosts;
use crate::kernel::packet::Event;
use crate::model::flow::Source;
use crate::model::link::Carry;
use paceline_core::{Instant, Span};

impl Hosts<'_> {
    /// A packet has come so far that the last link before a shared host is next, or the host.
    #[inline(never)]
    pub(crate) fn receive_at_shared(&mut self, event: &mut Event, host: usize) {
        let Some(shared) = &mut self.shared.hosts[host] else { return };
        let flow = &mut self.flows[event.flow as usize];
        let own = if event.is_ack() { &mut flow.at_source } else { &mut flow.at_sink };
        if let Some(link) = own.into.link(&mut self.access) {
            event.at = link.carry(event.bytes, event.is_ack(), event.at);
        }
        if event.is_ack() {
            event.at = self.hesitation.after(event.at, event.flow, flow.hesitates);
        }
        if shared.waiting.is_empty() && event.at < self.shared.until && event.at <= shared.next_start() {
            return self.happen_at_shared(event, host);
        }
        shared.waiting.push_back(*event);
        if !std::mem::replace(&mut shared.is_late, true) {
            self.shared.late.push(host);
        }
        self.flows[event.flow as usize].gates[usize::from(event.is_ack())].wait();
    }

    /// A packet is at a shared host now.
    #[inline(always)]
    fn happen_at_shared(&mut self, event: &Event, host: usize) {
        self.run_shared_timers(host, event.at);
        self.now = event.at;
        if event.is_ack() {
            self.on_ack(event);
            self.note_at_shared(event.flow, host);
        } else {
            self.receive(event);
            self.note_held_back(event.flow, host);
        }
    }

    /// What waits at a shared host is there now, as far as it may be: whether there was any.
    fn receive_backlog(&mut self, host: usize) -> bool {
        let mut has_any = false;
        while let Some(shared) = &mut self.shared.hosts[host]
            && let Some(&event) = shared.waiting.front()
            && event.at < self.shared.until
            && event.at <= shared.next_start()
        {
            shared.waiting.pop_front();
            self.flows[event.flow as usize].gates[usize::from(event.is_ack())].pass();
            self.happen_at_shared(&event, host);
            has_any = true;
        }
        has_any
    }

    /// A flow starts. If its host is a shared one: that host, where all has happened by now that comes before.
    #[inline(never)]
    pub(crate) fn come_to_start(&mut self, start: &Event) -> Option<usize> {
        let host = self.shared.at(start.flow, 1)?;
        self.receive_backlog(host);
        // Of what happens at an instant starts come last.
        self.run_shared_timers(host, start.at + Span::from_nanos(1));
        self.shared.hosts[host].as_mut()?.starts.pop();
        self.now = start.at;
        Some(host)
    }

    /// A sender at a shared host has done something.
    pub(crate) fn note_at_shared(&mut self, flow: u32, host: usize) {
        if let Source::Tcp(tcp) = &self.flows[flow as usize].source {
            let timer = &mut self.shared.timers[host];
            *timer = tcp.next_timer().min(*timer);
        }
    }

    /// A receiver at a shared host has done something.
    #[inline(always)]
    fn note_held_back(&mut self, flow: u32, host: usize) {
        if self.shared.held_back.is_empty() {
            return;
        }
        if let Source::Tcp(tcp) = &self.flows[flow as usize].source {
            let due = tcp.receiver.due().unwrap_or(Instant::MAX);
            self.shared.held_back.put(flow as usize, due);
            let timer = &mut self.shared.timers[host];
            *timer = due.min(*timer);
        }
    }

    /// Shared hosts take what waits for them, and their timers before `end` run out: whether nothing happened.
    pub(crate) fn keep_shared_hosts(&mut self, end: Instant) -> bool {
        let (now, mut is_idle) = (self.now, true);
        let mut late = std::mem::take(&mut self.shared.late);
        late.retain(|host| {
            is_idle &= !self.receive_backlog(*host);
            self.shared.hosts[*host].as_mut().is_some_and(|shared| {
                shared.is_late = !shared.waiting.is_empty();
                shared.is_late
            })
        });
        self.shared.late = late;
        for host in 0..self.shared.timers.len() {
            is_idle &= !self.run_shared_timers(host, end);
        }
        self.now = now;
        is_idle
    }

    /// Timers of the senders and receivers at a shared host run out before `end`, in their order: whether any did.
    #[inline(always)]
    fn run_shared_timers(&mut self, host: usize, end: Instant) -> bool {
        self.shared.timers[host] < end && self.run_shared_timers_out(host, end)
    }

    #[inline(never)]
    fn run_shared_timers_out(&mut self, host: usize, end: Instant) -> bool {
        let (now, mut has_run) = (self.now, false);
        while self.shared.timers[host] < end {
            let (flows, SharedHosts { hosts_of, hosts, timers, held_back, .. }) =
                (&self.flows, &mut self.shared);
            let Some(shared) = &hosts[host] else { break };
            let hosts_of = &*hosts_of;
            let ends_here = |end: usize| move |flow: u32| hosts_of[flow as usize][end] as usize == host;
            // Of one instant come retransmission timers, then pacing timers, then those of receivers.
            let is_last = |flow: u32, due: Instant| match &flows[flow as usize].source {
                Source::Tcp(tcp) => tcp.sender.retransmission_due() != due,
                Source::OpenLoop(_) => false,
            };
            let (sends_at, sender) = self.deadlines.first_of(&shared.senders, end, ends_here(1), is_last);
            let (answers_at, receiver) =
                held_back.first_of(&shared.receivers, end, ends_here(0), |_, _| false);
            self.now = sends_at.min(answers_at);
            timers[host] = self.now;
            match (sender, receiver) {
                (Some(flow), _) if sends_at == self.now => {
                    self.run_timer_out(flow);
                    self.note_deadline(flow);
                }
                (_, Some(flow)) if answers_at == self.now => {
                    self.let_acknowledgement_go(flow);
                    self.note_held_back(flow, host);
                }
                _ => break,
            }
            has_run = true;
        }
        self.now = now;
        has_run
    }

    /// What reaches them waits for its event from now on.
    pub(crate) fn leave_shared_hosts(&mut self) {
        let shared = std::mem::take(&mut self.shared);
        for (id, flow) in (0..).zip(&mut self.flows.list) {
            (0..2).filter(|end| shared.at(id, *end).is_some()).for_each(|end| flow.keep_in_step(end));
        }
        for flow in (0..self.flows.list.len() as u32).filter(|flow| shared.at(*flow, 0).is_some()) {
            self.schedule_delayed_ack(flow);
        }
        for event in shared.hosts.into_iter().flatten().flat_map(|shared| shared.waiting) {
            self.flows[event.flow as usize].gates[usize::from(event.is_ack())].pass();
            self.reach_by_event(event);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use super::*;
    use crate::{Control, Engine, Method, Network, Scenario};

    /// Three flows from each of two hosts to two others, and what else is asked for.
    fn network(tcp: &str, more: &str) -> Network {
        let text = format!(
            "duration = \"4 s\"\nwarmup = \"1500 ms\"\n[network]\ntemplate = \"dumbbell\"\n\
            core = {{ rate = \"2 Mbit/s\", delay = \"15 ms\", buffer = \"6 KB\" }}\n\
            access = {{ hosts = 2, rate = \"10 Mbit/s\", delay = \"2 ms .. 9 ms\" }}\n\
            [[traffic]]\nkind = \"bulk\"\nfrom = \"left.*\"\ncount = 3\nstart = \"0 s .. 2 s\"\n\
            tcp = {{ profile = \"ns2\" {tcp} }}\n{more}"
        );
        Scenario::from_toml(&text).unwrap().network(1).unwrap()
    }

    fn shared(network: &Network) -> Vec<bool> {
        let engine = Engine::with_method(network, Method::Windowed, None);
        engine.hosts.shared.hosts.iter().map(Option::is_some).collect()
    }

    const NO_PROBES: &str = "[probes]\n";

    #[test]
    fn hosts_of_several_flows_are_shared_unless_observed_or_more_than_tcp_acts() {
        let back = "[[traffic]]\nname = \"back\"\nkind = \"bulk\"\nfrom = \"right.*\"\ntcp = { profile = \"rfc\" }\n[probes]\n";
        assert_eq!(shared(&network("", NO_PROBES)), [true; 4]);
        assert_eq!(shared(&network("", back)), [true; 4]);
        assert_eq!(shared(&network(", delayed_ack = \"40 ms\"", back)), [true; 4]);
        let looked_at = "[probes]\nwindow = [{ flows = [0], every = \"10 ms\" }]";
        assert!(shared(&network("", looked_at)).is_empty());
        assert_eq!(
            shared(&network("", "[probes]\ndepartures = [{ links = \"access.l.0\" }]")),
            [false, true, true, true]
        );
        assert_eq!(
            shared(&network("", "[[pacing]]\nmethod = \"port\"\n[probes]")),
            [false, false, true, true]
        );
        let calls = "[[traffic]]\nname = \"calls\"\nkind = \"rpc\"\nfrom = \"left.0\"\n\
            request = \"1 KB\"\nresponse = \"1 KB\"\n[probes]";
        assert_eq!(shared(&network("", calls)), [false, true, false, true]);
    }

    #[test]
    fn two_hosts_alone_are_shared_where_their_acknowledgements_need_no_order_either() {
        let path = |rate: &str, far: &str| {
            let text = format!(
                "duration = \"1 s\"\n[network]\ntemplate = \"path\"\nlinks = [\n\
                {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }},\n\
                {{ rate = \"10 Mbit/s\", delay = \"9 ms\", buffer = \"9 KB\" }},\n\
                {{ rate = \"{rate}\", delay = \"{far}\" }}]\n\
                [[traffic]]\nkind = \"bulk\"\ncount = 4\ntcp = {{ profile = \"rfc\" }}\n[probes]"
            );
            shared(&Scenario::from_toml(&text).unwrap().network(1).unwrap())
        };
        assert_eq!(path("1 Gbit/s", "3 ms"), [true; 2]);
        assert_eq!(path("1 Gbit/s", "0 ms"), [true; 2]);
        assert_eq!(path("400 Gbit/s", "3 ms"), [true, false]); // two packets of 40 B may come in one nanosecond
    }

    /// However often the run pauses, while flows start and packets wait for that.
    #[test]
    fn whoever_pauses_finds_every_packet_where_the_reference_engine_has_it() {
        let network = network(
            "",
            "[[traffic]]\nname = \"back\"\nkind = \"bulk\"\nfrom = \"right.*\"\ncount = 2\ntcp = { profile = \"rfc\" }\n[probes]\n",
        );
        let engine = |method| Engine::with_method(&network, method, None);
        let (mut windowed, mut reference) = (engine(Method::Windowed), engine(Method::Reference));
        let mut has_waited = false;
        for millis in (0..4_000).step_by(13) {
            for engine in [&mut windowed, &mut reference] {
                engine.run_until(Instant::from_nanos(millis * 1_000_000), &Control::default()).unwrap();
                let census = engine.census();
                assert_eq!(census.sent, census.received + census.dropped + census.in_flight, "{millis} ms");
            }
            has_waited |= windowed.hosts.shared.waiting().next().is_some();
            let counts =
                [&windowed, &reference].map(|engine| (engine.census().sent, engine.census().received));
            assert_eq!(counts[0], counts[1], "{millis} ms");
        }
        assert!(has_waited && windowed.census().received > 1_000);
    }
}
