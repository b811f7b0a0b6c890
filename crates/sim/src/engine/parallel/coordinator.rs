//! One run on several threads.
//!
//! *Idea.* Within an epoch, hosts of different flows share nothing, nor do links that do not feed each other. So flows are
//! shared out among [`HostPartition`]s, and links among [`LinkPartition`]s: halves of the engine like those of one thread.
//! An epoch is then two rounds: all host partitions run side by side; then all link partitions. Host partitions handle what one has served
//! at once, while others are still at work: each end of a flow gets its packets from one link partition alone. Links sort what they get into
//! the total order, whatever was sent first; what is noted of packets is reported in the order of the links; sums do not depend on the order.
//! So the results are the bytes of one thread.
//!
//! *Where it breaks.* Instruments that read flows, applications that answer each other, and host ports tie flows
//! together; a packet that may go on to several links looks up its route. Such networks stay on one thread. An epoch
//! that holds less than about a millisecond's work does not pay for the barriers between threads. Links that feed each other are on one thread.

use super::buffer_pool::BufferPool;
use super::host_partition::HostPartition;
use super::link_partition::LinkPartition;
use crate::control::Control;
use crate::engine::Engine;
use crate::engine::batched::Epochs;
use crate::engine::hosts::Dealing;
use crate::engine::links::Epoch;
use crate::observe::output::RunError;
use paceline_core::Instant;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Host partitions a thread: one that is done early continues with another.
const HOST_PARTITIONS_A_THREAD: usize = 4;
/// log2 of the most flows in a host partition: what it works on stays in the caches.
const LARGEST_HOST_PARTITION: u32 = 13;

/// A network, shared out.
struct Coordinator<'a> {
    hosts: Vec<Mutex<HostPartition<'a>>>,
    links: Vec<LinkPartition<'a>>,
    /// By ordered link: its partition, and its place there.
    places: Vec<(usize, usize)>,
    rooms: BufferPool<Dealing>,
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
        if !self.hosts.has_started_statistics() {
            self.run_until(warmup, control)?;
            self.hosts.start_statistics();
        }
        self.run_until(end, control)
    }

    /// The same, as far as several threads pay.
    fn run_shared_out(&mut self, warmup: Instant, end: Instant, control: &Control) -> Result<(), RunError> {
        let Some(mut epochs) = self.epochs.take() else { return Ok(()) };
        let mut coordinator = self.share_out();
        let mut outcome = self.run_epochs_on_threads(&mut coordinator, &mut epochs, warmup, control);
        if let Ok(Outcome::Over) = outcome {
            for partition in coordinator.host_partitions() {
                partition.hosts.start_statistics();
                self.hosts.has_started_with(&mut partition.hosts);
            }
            outcome = self.run_epochs_on_threads(&mut coordinator, &mut epochs, end, control);
        }
        self.take_back(coordinator);
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

    fn share_out(&mut self) -> Coordinator<'a> {
        self.links.clear_backlogs(&mut self.hosts.mail);
        let flows = self.hosts.flows().len();
        let most = flows.div_ceil(self.threads.saturating_mul(HOST_PARTITIONS_A_THREAD)).max(1);
        let shift = most.ilog2().min(LARGEST_HOST_PARTITION);
        let hosts = HostPartition::split(&mut self.hosts, shift);
        let of_hosts = (hosts.len(), shift);
        let links = LinkPartition::split(&mut self.links, &mut self.hosts.mail, self.threads, of_hosts);
        let places = LinkPartition::places(&links);
        let hosts = hosts.into_iter().map(Mutex::new).collect();
        Coordinator { hosts, links, places, rooms: BufferPool::default() }
    }

    fn take_back(&mut self, coordinator: Coordinator<'a>) {
        LinkPartition::join(coordinator.links, &mut self.links, &mut self.hosts.mail);
        // What hosts have sent since comes after what waits there already.
        for partition in coordinator.hosts {
            self.hosts.join(partition.into_inner().unwrap_or_else(PoisonError::into_inner).hosts);
        }
        self.hosts.use_fast_paths(true, |_| [true; 2]);
    }

    /// Runs until this time, or until epochs turn out not to pay.
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
            let ordered = coordinator.links.iter().map(|partition| partition.links.ordered());
            let next = ordered.map(|ordered| epochs.next_hosts_until(ordered)).min();
            let hosts_until = next.unwrap_or(until).min(until).max(from);
            epochs.hosts_until = hosts_until;
            coordinator.run_hosts(hosts_until, until);
            coordinator.run_links(Epoch { hosts_until, until, length: self.plan.epoch });
            let served = coordinator.links.iter().map(|partition| partition.served).sum();
            for mail in coordinator.links.iter_mut().filter_map(LinkPartition::mail) {
                for (link, mut notes) in mail.notes.drain(..) {
                    self.links.report(link, &mut notes, &mut self.hosts.mail);
                }
            }
            self.hosts.mail.parcel.losses.clear(); // flows know
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
    fn host_partitions(&mut self) -> impl Iterator<Item = &mut HostPartition<'a>> {
        self.hosts.iter_mut().map(|partition| partition.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// All hosts run up to this time; what they send goes to the link partitions.
    fn run_hosts(&mut self, hosts_until: Instant, until: Instant) {
        self.hosts.par_iter_mut().for_each(|partition| {
            partition.get_mut().unwrap_or_else(PoisonError::into_inner).run(hosts_until, until);
        });
        let Coordinator { hosts, links, places, .. } = self;
        for (sender, partition) in hosts.iter_mut().enumerate() {
            let mail = &mut partition.get_mut().unwrap_or_else(PoisonError::into_inner).hosts.mail;
            let sent = mail.to_links.iter_mut().zip(&*places).filter(|(sent, _)| !sent.is_empty());
            for (sent, &(partition, place)) in sent {
                if let Some(mail) = links[partition].mail() {
                    mail.collect(place, sender, sent);
                }
            }
        }
    }

    /// All links serve their epochs, and hosts handle what they deliver.
    fn run_links(&mut self, epoch: Epoch) {
        let Coordinator { hosts, links, rooms, .. } = self;
        links.par_iter_mut().for_each(|partition| {
            partition.run(epoch);
            let Some(mail) = partition.mail() else { return };
            let parcels = mail.parcels.par_iter_mut().zip(&*hosts);
            parcels.for_each(|(parcel, partition)| {
                partition.lock().unwrap_or_else(PoisonError::into_inner).take(parcel, rooms);
            });
        });
    }

    /// No link has served anything: if nothing has happened at hosts either, on to the first epoch in which something will.
    fn skip_idle_time(&mut self, epochs: &mut Epochs, until: Instant) {
        // A link that holds packets may have let some go though none came: hosts have answered them.
        if self.host_partitions().any(|partition| !partition.is_idle || partition.has_sent()) {
            return;
        }
        let at_links: Vec<Instant> = self.links.iter().filter_map(|one| one.next_epoch(until)).collect();
        let at_hosts = self.host_partitions().filter_map(|partition| partition.hosts.next_at());
        let next = at_hosts.chain(at_links).fold(until, Instant::min);
        epochs.skip_to(next, until, self.links.iter_mut().map(|partition| &mut partition.links));
    }
}
