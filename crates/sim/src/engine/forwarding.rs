//! Packets on their way: from link to link.

use crate::engine::Engine;
use crate::engine::plan::ordered_links::OrderedLink;
use crate::engine::plan::routes::{AT_ONCE, IS_LINK, PLACE, PLAIN, STAGED, routes_after};
use crate::kernel::packet::{Event, Kind};
use crate::model::link::{Carry, Fate, Passage};
use crate::observe::trace::TraceEvent;
use paceline_core::Instant;

impl Engine<'_> {
    /// A packet sets out: it reaches the first link of its way, now.
    #[inline(always)]
    pub(crate) fn send_out(&mut self, mut event: Event) {
        let (flow, end) = (&mut self.flows[event.flow as usize], usize::from(event.is_ack()));
        let (stage, tail) = (flow.stages[end], flow.suffixes[end]);
        let own = if event.is_ack() { &mut flow.at_sink } else { &mut flow.at_source };
        if let Some(link) = own.out.first_link(&mut self.links) {
            event.move_on(link.carry(event.bytes, event.is_ack(), event.at));
            return self.staged[usize::from(stage)].push(event.at_place(tail.shared));
        }
        let way = self.way_of(&event);
        let entry = self.routes[way];
        event.place = entry & PLACE;
        if entry & PLAIN == 0 {
            return self.send_out_in_order(event, entry);
        }
        let link = &mut self.links[event.place as usize];
        event.move_on(link.carry(event.bytes, event.is_ack(), event.at));
        let next = self.routes[way + 1];
        if next & STAGED == 0 {
            return self.go_on(event);
        }
        event.place = next & PLACE;
        self.push_staged(event);
    }

    /// The same where the first link needs to see packets in the order of time, or may drop them.
    #[inline(never)]
    fn send_out_in_order(&mut self, mut event: Event, entry: u32) {
        if entry & STAGED != 0 {
            event.kind = Kind::Application; // downstream what links send
            self.push_staged(event);
        } else {
            self.travel(event);
        }
    }

    /// A packet reaches a link, at the event's time.
    pub(crate) fn travel(&mut self, mut event: Event) {
        let link = &mut self.links[event.place as usize];
        if link.refuses_nothing() {
            let passage = link.pass(event.bytes, event.is_ack(), event.at);
            self.leave(&mut event, passage);
            return self.go_on(event);
        }
        match link.offer(&event) {
            Fate::Leaves(passage) => self.depart(event, passage),
            Fate::Refused => self.refuse(&event),
            Fate::Held => self.hold(&event),
            Fate::Displaced(older) => {
                self.drop(&older.at_place(event.place));
                self.hold(&event);
            }
        }
    }

    /// A packet has been given to the wire of a link that may drop or hold packets.
    #[inline]
    fn depart(&mut self, mut event: Event, passage: Passage) {
        self.leave(&mut event, passage);
        self.go_on_inlined(event);
    }

    /// A packet is on the wire of the event's place, or will be: the event moves on to where the packet comes next.
    #[inline(always)]
    fn leave(&mut self, event: &mut Event, passage: Passage) {
        if passage.recorded {
            let copy = *event;
            let arrives = !self.links[event.place as usize].holds(); // a link that holds packets has said so when this one came
            self.record(copy, passage, arrives);
        }
        event.move_on(passage.arrival);
    }

    /// A packet comes to the next place of its way at the event's time: past the links that it passes at once.
    #[inline(never)]
    pub(crate) fn go_on(&mut self, event: Event) {
        self.go_on_inlined(event);
    }

    /// The same, for loops over many packets.
    #[inline(always)]
    fn go_on_inlined(&mut self, mut event: Event) {
        let mut way = self.way_of(&event);
        loop {
            let entry = self.routes[way];
            event.place = entry & PLACE;
            if entry & AT_ONCE == 0 {
                return self.arrive(event, entry);
            }
            let link = &mut self.links[event.place as usize];
            if entry & PLAIN != 0 {
                event.move_on(link.carry(event.bytes, event.is_ack(), event.at));
            } else {
                let passage = link.pass(event.bytes, event.is_ack(), event.at);
                self.leave(&mut event, passage);
            }
            way += 1;
        }
    }

    /// A packet will be at the event's place at the event's time.
    #[inline(always)]
    fn arrive(&mut self, event: Event, entry: u32) {
        if entry & STAGED != 0 {
            self.push_staged(event);
        } else if entry & IS_LINK != 0 {
            self.calendar.push(event);
        } else {
            self.reach_host(event);
        }
    }

    /// A packet will reach a link that runs in epochs: the event's place is its ordered link.
    #[inline]
    fn push_staged(&mut self, event: Event) {
        let tail = self.flows[event.flow as usize].suffixes[usize::from(event.is_ack())];
        self.staged[event.place as usize].push(event.at_place(tail.shared));
    }

    /// A packet will be at its host at the event's time: handles that now if nothing can come between, else then.
    #[inline(always)]
    fn reach_host(&mut self, mut event: Event) {
        if event.is_ack() {
            let longest = self.flows[event.flow as usize].hesitates;
            event.at = self.hesitation.after(event.at, event.flow, longest);
        }
        let may_run_ahead = !self.ahead && event.at < self.until;
        if !may_run_ahead || !self.flows[event.flow as usize].runs_ahead(&event) {
            let copy = event;
            return self.reach_host_by_event(copy);
        }
        self.ahead = true; // one step at a time: what this sets off waits for its event
        let now = std::mem::replace(&mut self.now, event.at);
        if event.is_ack() {
            self.on_ack(&event);
        } else {
            self.receive(&event);
        }
        self.now = now;
        self.ahead = false;
    }

    #[inline(never)]
    pub(crate) fn reach_host_by_event(&mut self, mut event: Event) {
        self.flows[event.flow as usize].gates[usize::from(event.is_ack())].wait();
        let flow = &self.network.flows[event.flow as usize];
        let host = if event.is_ack() { flow.source } else { flow.sink };
        event.place = self.network.links.len() as u32 + host;
        if event.is_ack() {
            event.kind = Kind::Acknowledgement;
        }
        self.calendar.push(event);
    }

    /// A link drops a packet that reaches it.
    #[cold]
    pub(crate) fn refuse(&mut self, event: &Event) {
        self.see_arrival(event);
        self.drop(event);
    }

    /// A link drops a packet, at the event's place and time.
    fn drop(&mut self, event: &Event) {
        self.see_drop(event);
        self.flows[event.flow as usize].on_drop(&event.packet());
    }

    /// What the trace and probes have to say of that.
    pub(crate) fn see_drop(&mut self, event: &Event) {
        self.trace_at_link(TraceEvent::Drop, event, event.at);
        self.instruments.drops(event.place, event.flow, event.at);
    }

    #[inline]
    fn trace_at_link(&mut self, what: TraceEvent, event: &Event, at: Instant) {
        if let Some(tracer) = &mut self.tracer {
            tracer.add(what, at, event.place, &event.packet());
        }
    }

    /// Somebody looks at what reaches links.
    pub(crate) fn see_arrival(&mut self, event: &Event) {
        if self.instruments.see_arrivals {
            self.instruments.arrives(event.place, u32::from(event.bytes), event.at);
        }
    }

    fn hold(&mut self, event: &Event) {
        self.enter(event);
        self.pump(event.place);
    }

    /// A link that may hold packets takes one in.
    pub(crate) fn enter(&mut self, event: &Event) {
        self.trace_at_link(TraceEvent::Enqueue, event, event.at);
        self.see_arrival(event);
    }

    /// What the trace and probes have to say of a departure, and of the packet's arrival.
    #[cold]
    pub(crate) fn record(&mut self, event: Event, passage: Passage, arrives: bool) {
        let link = event.place;
        if arrives {
            self.trace_at_link(TraceEvent::Enqueue, &event, event.at);
        }
        self.trace_at_link(TraceEvent::Dequeue, &event, passage.start);
        let finish = passage.arrival - self.network.links[link as usize].delay;
        self.instruments.departs(link, &event.packet(), (passage.start, finish), &mut self.series);
        if arrives {
            self.see_arrival(&event);
        }
    }

    /// Lets go what a link may let go now, and asks it when to come again.
    fn pump(&mut self, place: u32) {
        while let Some((event, passage)) = self.links[place as usize].pump(self.now) {
            match passage {
                Some(passage) => self.depart(event.at_place(place), passage),
                None => self.drop(&event.at_place(place)),
            }
        }
        let Some(link) = self.links[place as usize].fitted_mut() else { return };
        if let Some(at) = link.set_wakeup(self.now) {
            self.calendar.push(Event::of_flow(at, place, Kind::LinkWakeup, 0));
        }
    }

    pub(crate) fn on_wakeup(&mut self, place: u32, at: Instant) {
        let Some(link) = self.links[place as usize].fitted_mut() else { return };
        if link.wakeup_at == Some(at) {
            link.wakeup_at = None;
            self.pump(place);
        }
    }

    /// These links do not run in epochs any more.
    pub(crate) fn unmark_ordered_links(&mut self, stages: &[OrderedLink]) {
        self.leave_fast_paths();
        if self.routes.is_empty() {
            return self.routes = routes_after(stages, self.network, &self.links);
        }
        for entry in self.routes.iter_mut().filter(|entry| **entry != u32::MAX && **entry & STAGED != 0) {
            *entry = *entry & !(STAGED | PLACE) | stages[(*entry & PLACE) as usize].link;
        }
    }

    /// Where in [`Engine::routes`] a packet stands on its round trip.
    #[inline]
    fn way_of(&self, event: &Event) -> usize {
        event.flow as usize * self.stride + event.hop()
    }
}
