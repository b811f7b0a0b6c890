//! One run on several threads.
//!
//! *Idea.* Within an epoch, hosts of different flows share nothing, nor do links that do not feed each other. So flows are
//! shared out among [`HostPartition`]s, engines without links but those that only one flow uses; and links among [`LinkPartition`]s, engines without flows.
//! An epoch is then two rounds: all host partitions run side by side; then all link partitions, and what one has served its host partitions take at once, while others
//! are still at work: each end of a flow gets its packets from one group alone. Links put what they get in the total
//! order, whoever sent it first; what is noted of packets is said in the order of the links; sums do not depend on the order. So the
//! results are the bytes of one thread.
//!
//! *Where it breaks.* What looks at flows at certain times, applications that answer each other, and host ports tie flows
//! together; a packet that may go on to several links asks for its route. Such networks stay on one thread. An epoch
//! that holds less than about a millisecond's work is not worth the meeting of threads. Links that feed each other are on one thread.

use crate::control::Control;
use crate::engine::batched::delivery::Delivery;
use crate::engine::batched::epoch::Epochs;
use crate::engine::parallel::buffer_pool::BufferPool;
use crate::engine::parallel::host_partition::HostPartition;
use crate::engine::parallel::link_partition::LinkPartition;
use crate::engine::{Calendar, Engine};
use crate::model::flow::Flow;
use crate::observe::output::RunError;
use paceline_core::Instant;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Parts to a thread: one that is done early takes another.
const HOST_PARTITIONS_A_THREAD: usize = 4;
/// log2 of the most flows in a host partition: what a part works on stays in the caches.
const LARGEST_HOST_PARTITION: u32 = 13;

/// A network, shared out.
struct Coordinator<'a> {
    host_partitions: Vec<Mutex<HostPartition<'a>>>,
    link_partitions: Vec<LinkPartition<'a>>,
    /// By ordered link: its group, and its place there.
    places: Vec<(usize, usize)>,
    deliveries: BufferPool<Delivery>,
}

/// Why a coordinator stops.
enum Outcome {
    /// The time has come.
    Over,
    /// Epochs hold too few packets for one thread, or for several.
    TooFewForEpochs,
    TooFewForThreads,
}

impl<'a> Engine<'a> {
    /// The whole run, on several threads as far as that pays.
    pub(crate) fn run_on_threads(&mut self, control: &Control) -> Result<(), RunError> {
        let warmup = Instant::ZERO + self.network.warmup;
        let end = Instant::ZERO + self.network.duration;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        match pool {
            Ok(pool) => pool.install(|| self.run_shared_out(warmup, end, control))?,
            Err(_) => self.threads = 1,
        }
        if !self.counting {
            self.run_until(warmup, control)?;
            self.start_statistics();
        }
        self.run_until(end, control)
    }

    /// The same, as far as several threads pay.
    fn run_shared_out(&mut self, warmup: Instant, end: Instant, control: &Control) -> Result<(), RunError> {
        self.clear_backlogs();
        let Some(mut epochs) = self.epochs.take() else { return Ok(()) };
        let mut coordinator = self.share_out(&mut epochs);
        let mut outcome = self.run_epochs_on_threads(&mut coordinator, &mut epochs, warmup, control);
        if let Ok(Outcome::Over) = outcome {
            self.start_statistics_of(&mut coordinator);
            outcome = self.run_epochs_on_threads(&mut coordinator, &mut epochs, end, control);
        }
        self.take_back(coordinator, &mut epochs);
        self.epochs = Some(epochs);
        match outcome? {
            Outcome::Over => {}
            Outcome::TooFewForThreads => self.threads = 1,
            Outcome::TooFewForEpochs => {
                self.threads = 1;
                self.leave_epochs();
            }
        }
        Ok(())
    }

    fn start_statistics_of(&mut self, coordinator: &mut Coordinator<'a>) {
        self.counting = true;
        for part in coordinator.all_parts() {
            part.engine.start_statistics();
            self.at_warmup.append(&mut part.engine.at_warmup);
        }
    }

    /// Whether flows can be shared out.
    pub(crate) fn can_be_shared_out(&self) -> bool {
        self.shared.are_none()
            && self.flows_stand_alone()
            && self.flows.all().iter().all(Flow::owns_its_ways_out)
    }

    fn share_out(&mut self, epochs: &mut Epochs) -> Coordinator<'a> {
        let in_a_part =
            self.flows.list.len().div_ceil(self.threads.saturating_mul(HOST_PARTITIONS_A_THREAD)).max(1);
        let shift = in_a_part.ilog2().min(LARGEST_HOST_PARTITION);
        let mut host_partitions = HostPartition::share(self, shift);
        while let Some(event) = self.calendar.pop_before(Instant::MAX) {
            host_partitions[(event.flow >> shift) as usize].engine.calendar.push(event);
        }
        self.calendar = Calendar::new(self.precedence);
        let link_partitions = LinkPartition::share(self, epochs, host_partitions.len(), shift);
        let places = LinkPartition::places(&link_partitions);
        Coordinator {
            host_partitions: host_partitions.into_iter().map(Mutex::new).collect(),
            link_partitions,
            places,
            deliveries: BufferPool::default(),
        }
    }

    fn take_back(&mut self, coordinator: Coordinator<'a>, epochs: &mut Epochs) {
        LinkPartition::give_back(coordinator.link_partitions, self, epochs);
        // What hosts have sent since comes downstream what waits there already.
        for part in coordinator.host_partitions {
            part.into_inner().unwrap_or_else(PoisonError::into_inner).give_back(self);
        }
        self.set_free(true);
    }

    /// Runs until this time, or until that turns out not to pay.
    fn run_epochs_on_threads(
        &mut self,
        coordinator: &mut Coordinator<'a>,
        epochs: &mut Epochs,
        until: Instant,
        control: &Control,
    ) -> Result<Outcome, RunError> {
        epochs.are_round_trips = false; // data and acknowledgements side by side
        loop {
            let (from, whole) = (epochs.hosts_until, until);
            let until = epochs.fallback.limit(whole);
            if from >= until {
                return Ok(if until == whole { Outcome::Over } else { Outcome::TooFewForEpochs });
            }
            self.until = until;
            control.report(from.as_nanos(), self.network.duration.as_nanos());
            if control.is_cancelled() {
                return Err(RunError::Cancelled);
            }
            let next = coordinator.link_partitions.iter().map(LinkPartition::next_hosts_until).min();
            let hosts_until = next.unwrap_or(until).min(until).max(from);
            epochs.hosts_until = hosts_until;
            coordinator.run_hosts(hosts_until, until);
            coordinator.run_links(hosts_until, until);
            let served = coordinator.link_partitions.iter().map(|group| group.served).sum();
            for (link, mut notes) in coordinator
                .link_partitions
                .iter_mut()
                .filter_map(LinkPartition::exchange)
                .flat_map(|exchange| exchange.notes.drain(..))
            {
                self.say(link, &mut notes);
            }
            self.losses.clear(); // flows know
            if served == 0 {
                coordinator.skip_idle_time(epochs, until);
            }
            epochs.fallback.count(served);
            if !epochs.fallback.occupies_threads((from, hosts_until)) {
                return Ok(Outcome::TooFewForThreads);
            }
        }
    }
}

impl<'a> Coordinator<'a> {
    /// The host partitions, while no thread is at work on any.
    fn all_parts(&mut self) -> impl Iterator<Item = &mut HostPartition<'a>> {
        self.host_partitions.iter_mut().map(|part| part.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// All hosts run up to this time; what they send goes to the link partitions.
    fn run_hosts(&mut self, hosts_until: Instant, until: Instant) {
        self.host_partitions.par_iter_mut().for_each(|part| {
            let part = part.get_mut().unwrap_or_else(PoisonError::into_inner);
            part.engine.until = until;
            part.run(hosts_until);
        });
        let Coordinator { host_partitions, link_partitions, places, .. } = self;
        for (number, part) in host_partitions.iter_mut().enumerate() {
            let staged = &mut part.get_mut().unwrap_or_else(PoisonError::into_inner).engine.staged;
            for (sent, &(group, place)) in
                staged.iter_mut().zip(&*places).filter(|(sent, _)| !sent.is_empty())
            {
                if let Some(exchange) = link_partitions[group].exchange() {
                    exchange.take(place, number, sent);
                }
            }
        }
    }

    /// All links serve their epochs, and hosts take what that brings.
    fn run_links(&mut self, hosts_until: Instant, until: Instant) {
        let Coordinator { host_partitions, link_partitions, deliveries, .. } = self;
        link_partitions.par_iter_mut().for_each(|group| {
            group.run(hosts_until, until);
            let Some(exchange) = group.exchange() else { return };
            let parcels = exchange.parcels.par_iter_mut().zip(&*host_partitions);
            parcels.for_each(|(parcel, part)| {
                part.lock().unwrap_or_else(PoisonError::into_inner).take(parcel, deliveries);
            });
        });
    }

    /// No link has served anything: if nothing has happened at hosts either, on to the first epoch in which something will.
    fn skip_idle_time(&mut self, epochs: &mut Epochs, until: Instant) {
        // A link that holds packets may have let some go though none came: hosts have answered them.
        let has_sent = |part: &HostPartition| part.engine.staged.iter().any(|sent| !sent.is_empty());
        if self.all_parts().any(|part| !part.is_idle || has_sent(part)) {
            return;
        }
        let at_links: Vec<Instant> =
            self.link_partitions.iter().filter_map(LinkPartition::next_epoch).collect();
        let at_hosts = self.all_parts().filter_map(|part| part.engine.next_at());
        let next = at_hosts.chain(at_links).fold(until, Instant::min);
        epochs.skip_to(next, until);
        self.link_partitions.iter_mut().for_each(|group| group.skip_to(next));
    }
}
