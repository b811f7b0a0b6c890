//! The slow path: packets from link to link, one by one.

use super::Links;
use crate::engine::mailbox::Mailbox;
use crate::engine::plan::routes::{AT_ONCE, IS_LINK, ORDERED, PLACE, PLAIN, SUFFIX};
use crate::kernel::cause::Cause;
use crate::kernel::packet::{Event, Kind};
use crate::model::link::{Carry, Fate, Passage, Release};
use crate::observe::trace::TraceEvent;
use paceline_core::Instant;

impl<'a> Links<'a> {
    /// A host has sent a packet: it reaches the first link of its path, now.
    pub(crate) fn forward(&mut self, mut event: Event, mail: &mut Mailbox<'a>) {
        let entry = self.forwarding.routes[self.forwarding.way_of(&event)];
        event.place = entry & PLACE;
        if entry & PLAIN != 0 && entry & ORDERED == 0 {
            let link = &mut self.table[event.place as usize];
            event.move_on(link.carry(event.bytes, event.is_ack(), event.at));
            self.go_on(event, mail);
        } else if entry & ORDERED != 0 {
            event.set_kind(Kind::Application); // after what links send
            self.wait_in_order(event, mail);
        } else {
            self.travel(event, mail);
        }
    }

    /// A packet reaches a link, at the event's time.
    pub(super) fn travel(&mut self, mut event: Event, mail: &mut Mailbox<'a>) {
        let link = &mut self.table[event.place as usize];
        if link.is_lossless() {
            let passage = link.pass(event.bytes, event.is_ack(), event.at);
            self.leave(&mut event, passage);
            return self.go_on(event, mail);
        }
        let fate = if self.memories.are_none() { link.offer(&event) } else { self.offer_shared(&event) };
        match fate {
            Fate::Leaves(passage) => self.depart(event, passage, mail),
            Fate::Dropped(cause) => self.drop_packet(&event, cause, mail),
            Fate::Held => self.hold(&event, mail),
            Fate::Marked(cause) => {
                self.enter(&event);
                self.see_mark(&event, cause, event.at);
                self.pump(event.place, event.at, mail);
            }
            Fate::Displaced(older) => {
                self.drop(&older.at_place(event.place), Cause::Overflow, mail);
                self.hold(&event, mail);
            }
        }
    }

    /// The same where links share memories: those run by events under both engines, and their queues are sampled as they go.
    #[inline(never)]
    fn offer_shared(&mut self, event: &Event) -> Fate {
        self.look_at(event.place, event.at);
        self.memories.offer(&mut self.table[event.place as usize], event)
    }

    /// A packet is on the wire of a link that may drop or hold packets.
    #[inline]
    fn depart(&mut self, mut event: Event, passage: Passage, mail: &mut Mailbox<'a>) {
        let link = event.place;
        self.leave(&mut event, passage);
        if let Some(jitter) = self.table[link as usize].jitter_mut() {
            event.at = jitter.delay(event.at);
        }
        self.go_on(event, mail);
    }

    /// A packet is on the wire of the event's place, or will be: the event moves on to where the packet comes next.
    #[inline(always)]
    fn leave(&mut self, event: &mut Event, passage: Passage) {
        if passage.recorded {
            let copy = *event;
            let arrives = !self.table[event.place as usize].holds(); // a link that holds packets has recorded the arrival already
            self.record(copy, passage, arrives);
        }
        event.move_on(passage.arrival);
    }

    /// A packet comes to the next place of its path at the event's time: past the links that it passes at once.
    #[inline]
    pub(super) fn go_on(&mut self, mut event: Event, mail: &mut Mailbox<'a>) {
        let mut way = self.forwarding.way_of(&event);
        loop {
            let entry = self.forwarding.routes[way];
            event.place = entry & PLACE;
            if entry & AT_ONCE == 0 {
                return self.arrive(event, entry, mail);
            }
            let link = &mut self.table[event.place as usize];
            if entry & PLAIN != 0 {
                event.move_on(link.carry(event.bytes, event.is_ack(), event.at));
            } else {
                let passage = link.pass(event.bytes, event.is_ack(), event.at);
                self.leave(&mut event, passage);
            }
            way += 1;
        }
    }

    /// A packet has left an ordered link from which others go elsewhere: to its host by the suffix of its path, to the next ordered
    /// link, or hop by hop.
    #[inline]
    pub(super) fn go_anywhere(&mut self, event: Event, mail: &mut Mailbox<'a>) {
        let entry = self.forwarding.routes[self.forwarding.way_of(&event)];
        if entry & SUFFIX != 0 {
            mail.parcel.packets.push(event);
        } else if entry & ORDERED != 0 {
            mail.to_links[(entry & PLACE) as usize].push(event);
        } else {
            self.go_on(event, mail);
        }
    }

    /// A packet will be at the event's place at the event's time.
    #[inline(always)]
    fn arrive(&mut self, event: Event, entry: u32, mail: &mut Mailbox<'a>) {
        if entry & ORDERED != 0 {
            self.wait_in_order(event, mail);
        } else if entry & IS_LINK != 0 {
            mail.calendar.push(event);
        } else {
            mail.arrivals.push(event);
        }
    }

    /// A packet will reach an ordered link: the event's place is its position.
    #[inline]
    fn wait_in_order(&mut self, event: Event, mail: &mut Mailbox<'a>) {
        let suffix = self.forwarding.suffixes[event.flow as usize][usize::from(event.is_ack())];
        mail.to_links[event.place as usize].push(event.at_place(suffix.shared));
    }

    /// A link drops a packet as it arrives.
    #[cold]
    pub(super) fn drop_packet(&mut self, event: &Event, cause: Cause, mail: &mut Mailbox<'a>) {
        self.see_arrival(event);
        self.drop(event, cause, mail);
    }

    /// A link drops a packet, at the event's place and time: its flow is notified before it handles what comes.
    pub(super) fn drop(&mut self, event: &Event, cause: Cause, mail: &mut Mailbox<'a>) {
        self.see_drop(event, cause);
        mail.parcel.losses.push(*event);
    }

    /// The trace and instruments record that.
    fn see_drop(&mut self, event: &Event, cause: Cause) {
        if let Some(trace) = &mut self.trace {
            trace.add_with_cause(TraceEvent::Drop, event.at, event.place, &event.packet(), cause);
        }
        self.instruments.drops(event.place, event.flow, cause, event.at);
    }

    #[inline]
    fn trace_at_link(&mut self, what: TraceEvent, event: &Event, at: Instant) {
        if let Some(trace) = &mut self.trace {
            trace.add(what, at, event.place, &event.packet());
        }
    }

    /// The trace records that a packet has been marked.
    #[cold]
    pub(super) fn see_mark(&mut self, event: &Event, cause: Cause, at: Instant) {
        if let Some(trace) = &mut self.trace {
            trace.add_with_cause(TraceEvent::Mark, at, event.place, &event.packet(), cause);
        }
    }

    fn see_arrival(&mut self, event: &Event) {
        if self.instruments.see_arrivals {
            self.instruments.arrives(event.place, u32::from(event.bytes), event.at);
        }
    }

    fn hold(&mut self, event: &Event, mail: &mut Mailbox<'a>) {
        self.enter(event);
        self.pump(event.place, event.at, mail);
    }

    /// A link that may hold packets takes one in.
    pub(super) fn enter(&mut self, event: &Event) {
        self.trace_at_link(TraceEvent::Enqueue, event, event.at);
        self.see_arrival(event);
    }

    /// The trace and instruments record a departure, and with it the packet's arrival. The event's time is that of the arrival.
    #[cold]
    pub(super) fn record(&mut self, event: Event, passage: Passage, arrives: bool) {
        let link = event.place;
        if arrives {
            self.trace_at_link(TraceEvent::Enqueue, &event, event.at);
        }
        if passage.marked {
            self.see_mark(&event, Cause::Early, passage.start);
        }
        self.trace_at_link(TraceEvent::Dequeue, &event, passage.start);
        let finish = passage.arrival - self.network.links[link as usize].delay;
        let times = (event.at, passage.start, finish);
        self.instruments.departs(link, &event.packet(), times, &mut self.series);
        if arrives {
            self.see_arrival(&event);
        }
    }

    /// Sends what a link may release now, and schedules its next wake-up.
    fn pump(&mut self, place: u32, now: Instant, mail: &mut Mailbox<'a>) {
        while let Some((event, release)) = self.table[place as usize].pump(now) {
            let event = event.at_place(place);
            match release {
                Release::Leaves(passage) => self.depart(event, passage, mail),
                Release::Dropped(cause) => self.drop(&event, cause, mail),
                Release::Marked => self.see_mark(&event, Cause::Early, now),
            }
        }
        let Some(link) = self.table[place as usize].bounded_mut() else { return };
        if !self.memories.are_none() {
            self.memories.settle(place, link);
        }
        if let Some(at) = link.set_wakeup(now) {
            mail.calendar.push(Event::of_flow(at, place, Kind::LinkWakeup, 0));
        }
    }

    pub(super) fn on_wakeup(&mut self, place: u32, at: Instant, mail: &mut Mailbox<'a>) {
        if !self.memories.are_none() {
            self.look_at(place, at);
        }
        let Some(link) = self.table[place as usize].bounded_mut() else { return };
        if link.wakeup_at == Some(at) {
            link.wakeup_at = None;
            self.pump(place, at, mail);
        }
    }
}
