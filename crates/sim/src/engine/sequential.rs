//! The reference engine: one event a packet and hop, in the total order. It defines the result.

use super::Engine;
use crate::control::Control;
use crate::kernel::packet::{Event, Kind};
use crate::observe::output::RunError;
use paceline_core::Instant;

/// Events between two checks of the [`Control`].
const EVENTS_A_CHECK: u32 = 1 << 14;

impl Engine<'_> {
    /// Handles every event before `until`, one by one.
    pub(crate) fn run_events(&mut self, until: Instant, control: &Control) -> Result<(), RunError> {
        self.until = until;
        self.hosts.run_until(until);
        loop {
            self.report(self.now, control)?;
            for _ in 0..EVENTS_A_CHECK {
                let Some(event) = self.hosts.mail.calendar.pop_before(until) else {
                    return self.come_to(until);
                };
                if event.at > self.next_sample {
                    self.sample_before(event.at);
                }
                self.now = event.at;
                self.handle(event);
            }
        }
    }

    /// An event happens at a host or a link, and with it all that follows at its instant.
    #[inline(always)]
    pub(crate) fn handle(&mut self, event: Event) {
        let may_be_at_link = matches!(event.kind(), Kind::Arrival | Kind::LinkWakeup);
        if may_be_at_link && (event.place as usize) < self.network.links.len() {
            self.links.handle(event, &mut self.hosts.mail);
        } else {
            self.hosts.handle(&event);
        }
        self.settle(true);
    }

    /// Carries between the halves what hosts have sent, and what links have sent on the slow path, until nothing is left that happens
    /// now. What reaches a host may be handled ahead of its time, if nothing can come between (`Flow::runs_ahead`): one step, if even
    /// that; what it sets off waits for its event.
    #[inline(always)]
    pub(crate) fn settle(&mut self, may_run_ahead: bool) {
        if self.hosts.mail.has_some() {
            self.exchange_mail(may_run_ahead);
        }
    }

    #[inline(never)]
    fn exchange_mail(&mut self, mut may_run_ahead: bool) {
        while self.hosts.mail.has_some() {
            if !self.hosts.mail.parcel.losses.is_empty() {
                self.hosts.receive_losses_of_links();
            }
            // Links send nothing, and nothing reaches hosts from hosts: neither list grows meanwhile.
            for number in 0..self.hosts.mail.departures.len() {
                let event = self.hosts.mail.departures[number];
                self.links.forward(event, &mut self.hosts.mail);
            }
            self.hosts.mail.departures.clear();
            for number in 0..self.hosts.mail.arrivals.len() {
                let mut event = self.hosts.mail.arrivals[number];
                self.hosts.reach(&mut event, may_run_ahead);
            }
            may_run_ahead &= self.hosts.mail.arrivals.is_empty();
            self.hosts.mail.arrivals.clear();
        }
    }
}
