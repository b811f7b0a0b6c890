//! Host partition: the hosts of some flows, at work on any thread.

use super::buffer_pool::BufferPool;
use crate::engine::hosts::{Dealing, Hosts};
use crate::engine::mailbox::Parcel;
use paceline_core::Instant;

/// Hosts of some flows, with the links that lie with these.
pub(super) struct HostPartition<'a> {
    pub(super) hosts: Hosts<'a>,
    /// Nothing has happened in the last epoch.
    pub(super) is_idle: bool,
}

impl<'a> HostPartition<'a> {
    /// The flows of a network, 2^`shift` to a partition, with their events.
    pub(super) fn split(whole: &mut Hosts<'a>, shift: u32) -> Vec<Self> {
        let mut partitions = Vec::new();
        while let Some(last) = whole.flows().len().checked_sub(1) {
            let hosts = whole.split_off(last >> shift << shift);
            partitions.push(HostPartition { hosts, is_idle: false });
        }
        partitions.reverse();
        while let Some(event) = whole.mail.calendar.pop_before(Instant::MAX) {
            partitions[(event.flow >> shift) as usize].hosts.mail.calendar.push(event);
        }
        partitions
    }

    /// The hosts run up to this time.
    pub(super) fn run(&mut self, hosts_until: Instant, until: Instant) {
        self.hosts.run_until(until);
        self.is_idle = self.hosts.run_without_links(hosts_until);
    }

    /// Hosts handle what an epoch has delivered.
    pub(super) fn take(&mut self, parcel: &mut Parcel, free: &BufferPool<Dealing>) {
        let mut room = free.take();
        self.hosts.deal_in(&mut room);
        self.hosts.receive_parcel(parcel);
        self.hosts.deal_in(&mut room);
        free.put_back(room);
    }

    /// They have sent something that no link has yet.
    pub(super) fn has_sent(&self) -> bool {
        self.hosts.mail.to_links.iter().any(|sent| !sent.is_empty())
    }
}
