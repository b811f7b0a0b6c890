//! Delivery: what links have brought in an epoch reaches hosts.
//!
//! *Idea.* Packets that have left the last ordered link are gathered, and grouped by flow or host: the state of a flow comes into the
//! caches once, not once a packet. Whatever hosts answer belongs to a later epoch; and each flow's packets keep their order.

use crate::engine::hosts::Hosts;
use crate::engine::hosts::dealing::Dealing;
use crate::engine::hosts::fastpath::prefetch::FLOWS_AHEAD;
use crate::engine::mailbox::{Mailbox, Parcel, Post};
use crate::kernel::packet::{Event, Kind};

/// So many packets are handled before all of an epoch have come: half a megabyte. In tests a few.
const FULL: usize = if cfg!(debug_assertions) { 1 << 3 } else { 1 << 14 };

impl<'a> Post<'a> for Hosts<'a> {
    fn mail(&mut self) -> &mut Mailbox<'a> {
        &mut self.mail
    }

    fn deliver_full_parcel(&mut self) {
        if self.mail.parcel.packets.len() >= FULL.max(self.flows.list.len() / 4) {
            self.deliver();
        }
    }
}

impl Hosts<'_> {
    /// Hosts handle what links have delivered.
    pub(crate) fn deliver(&mut self) {
        let mut parcel = std::mem::take(&mut self.mail.parcel);
        self.receive_parcel(&mut parcel);
        self.mail.parcel = parcel;
    }

    /// The same of a parcel, which is empty then.
    pub(crate) fn receive_parcel(&mut self, parcel: &mut Parcel) {
        self.receive_losses(&mut parcel.losses);
        if !parcel.packets.is_empty() {
            let mut dealing = std::mem::take(&mut self.dealing);
            let (packets, flows) = (&parcel.packets, self.flows.list.len());
            if !crate::ablation::FastPath::Deal.is_on() {
                dealing.dealt.clone_from(packets);
            } else if let Some((hosts_of, hosts)) = self.shared.hosts_of() {
                let host_of =
                    |event: &Event| hosts_of[event.flow as usize][usize::from(event.is_ack())] as usize;
                dealing.deal(packets, (host_of, hosts));
            } else {
                let first = self.flows.first;
                let flow_of = |event: &Event| (event.flow as usize).wrapping_sub(first);
                dealing.deal(packets, (flow_of, flows));
            }
            self.take_all(&mut dealing.dealt);
            parcel.packets.clear();
            self.dealing = dealing;
        }
        self.receive_lists_of(parcel);
    }

    /// Hosts handle lists that have passed links in place, in the order of sending. Returns whether there are any.
    pub(crate) fn receive_lists(&mut self) -> bool {
        if self.mail.parcel.lists.is_empty() {
            return false;
        }
        let mut parcel = std::mem::take(&mut self.mail.parcel);
        self.receive_losses(&mut parcel.losses);
        self.receive_lists_of(&mut parcel);
        self.mail.parcel = parcel;
        true
    }

    fn receive_lists_of(&mut self, parcel: &mut Parcel) {
        for mut list in parcel.lists.drain(..) {
            self.take_all(&mut list);
            list.clear();
            parcel.empty.push(list);
        }
    }

    /// Notifies flows of what links have dropped by now.
    pub(crate) fn receive_losses_of_links(&mut self) {
        let mut losses = std::mem::take(&mut self.mail.parcel.losses);
        self.receive_losses(&mut losses);
        self.mail.parcel.losses = losses;
    }

    /// Groups packets in that buffer from now on; the one used before is returned in its place.
    pub(crate) fn deal_in(&mut self, room: &mut Dealing) {
        std::mem::swap(&mut self.dealing, room);
    }

    /// Notifies flows of the packets that links have dropped. None is delivered before it is retransmitted: so they may be notified before
    /// what came meanwhile is handled.
    pub(crate) fn receive_losses(&mut self, losses: &mut Vec<Event>) {
        let has_far_flows = self.has_far_flows();
        for (place, event) in losses.iter().enumerate() {
            if has_far_flows {
                self.prefetch(losses.get(place + FLOWS_AHEAD).map(|event| event.flow));
            }
            self.flows[event.flow as usize].on_drop(&event.packet());
        }
        losses.clear();
    }

    #[inline(never)]
    fn take_all(&mut self, dealt: &mut [Event]) {
        let now = self.now;
        if self.has_far_flows() {
            for place in 0..dealt.len() {
                self.prefetch(dealt.get(place + FLOWS_AHEAD).map(|event| event.flow));
                self.take(&mut dealt[place]);
            }
        } else {
            for event in dealt {
                self.take(event);
            }
        }
        self.now = now;
    }

    /// A packet has come so far that its flow's private links are next.
    #[inline(always)]
    fn take(&mut self, event: &mut Event) {
        if !self.handle_fast(event) {
            self.take_in(event);
        }
    }

    /// A packet passes the private link of its flow, and is at its host then.
    #[inline(always)]
    fn take_in(&mut self, event: &mut Event) {
        if let Some(host) = self.shared.at(event.flow, event.is_ack().into()) {
            return self.receive_at_shared(event, host);
        }
        let flow = &mut self.flows[event.flow as usize];
        let ends = if event.is_ack() { &mut flow.at_source } else { &mut flow.at_sink };
        event.at = ends.pass_into(&mut self.access, (event.bytes, event.is_ack()), event.at);
        self.reach(event, true);
    }

    /// A packet is at its host at the event's time: handles that now if it may run ahead and nothing can come between, else then.
    #[inline(always)]
    pub(crate) fn reach(&mut self, event: &mut Event, may_run_ahead: bool) {
        let flow = &self.flows[event.flow as usize];
        if event.is_ack() {
            event.at = self.hesitation.after(event.at, event.flow, flow.hesitates);
        }
        if !may_run_ahead || event.at >= self.until || !flow.runs_ahead(event) {
            return self.reach_by_event(*event);
        }
        self.now = event.at;
        if event.is_ack() {
            self.on_ack(event);
        } else {
            self.receive(event);
        }
    }

    #[inline(never)]
    pub(super) fn reach_by_event(&mut self, mut event: Event) {
        self.flows[event.flow as usize].gates[usize::from(event.is_ack())].wait();
        let flow = &self.network.flows[event.flow as usize];
        let host = if event.is_ack() { flow.source } else { flow.sink };
        event.place = self.network.links.len() as u32 + host;
        if event.is_ack() {
            event.set_kind(Kind::Acknowledgement);
        }
        self.mail.calendar.push(event);
    }
}
