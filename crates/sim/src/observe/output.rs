//! What a run yields: statistics over the window from warm-up to end, and what probes recorded.

mod causes;
mod delays;
mod record;

pub use self::causes::CauseStatistics;
pub(crate) use self::delays::Delays;
pub(crate) use self::record::RunRecord;
pub use super::error::RunError;
use crate::control::Method;
use crate::instrument::Curve;
pub use crate::instrument::{FlowRow, SeriesKind, SeriesRow};
use crate::model::flow::Source;
use crate::model::link::{BoundedLink, ByClass, Link};
use crate::network::Network;
use crate::varying::Transmit;
use crate::workload::Transfer;
use paceline_core::{Instant, Span};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// One run.
#[derive(Debug, Serialize)]
pub struct RunOutput {
    /// The seed it ran with.
    pub seed: u64,
    /// Start and end of the statistics, seconds.
    pub window_s: [f64; 2],
    /// Statistics of the reported links, by name.
    #[serde(serialize_with = "as_map")]
    pub links: Vec<(String, LinkStatistics)>,
    /// Statistics over all flows.
    pub flows: FlowStatistics,
    /// The same over flows that a pacing method acts on, and over those that it does not; where there are both.
    #[serde(serialize_with = "as_map")]
    pub groups: Vec<(String, FlowStatistics)>,
    /// Data packets that left the core link in the whole run.
    #[serde(skip)]
    pub core_packets: u64,
    /// The engine that it ended under.
    #[serde(skip)]
    pub method: Method,
    /// Threads that the run used in the end.
    #[serde(skip)]
    pub threads: usize,
    /// One row a flow.
    #[serde(skip)]
    pub flow_rows: Vec<FlowRow>,
    /// What probes recorded, in the order of time within each.
    #[serde(skip)]
    pub series: Vec<SeriesRow>,
    /// What instruments found.
    #[serde(skip)]
    pub curves: Vec<Curve>,
}

/// A link over the window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkStatistics {
    /// Bits that left the wire a second.
    pub throughput_bps: f64,
    /// The same as a fraction of the link's rate.
    pub utilisation: f64,
    /// Packets that reached the link.
    pub arrived_packets: u64,
    /// Packets that it dropped: at arrival, displaced, or by a forced loss.
    pub dropped_packets: u64,
    /// Dropped over arrived; `None` where nothing arrived.
    pub loss_ratio: Option<f64>,
    /// Packets that came with a departure, so that who went first decided their fate, and those of them that were dropped.
    pub tied_packets: u64,
    /// See `tied_packets`.
    pub tied_drops: u64,
    /// Mean of what waits (pacer and buffer; not what is on the wire), bytes.
    pub queue_mean_bytes: Option<f64>,
    /// 99th percentile over time of the same, bytes.
    pub queue_p99_bytes: Option<f64>,
    /// Marks, and drops by cause; of a link with more than one.
    #[serde(flatten)]
    pub causes: Option<CauseStatistics>,
    /// Of each class up to the highest of its packets; of a link whose discipline tells classes apart.
    #[serde(flatten, serialize_with = "by_class")]
    pub classes: Vec<ClassStatistics>,
}

/// Packets of a class at a link's queue over the window; what a pacer before it holds, or a forced loss takes, does not count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassStatistics {
    /// Packets that reached the queue.
    pub arrived_packets: u64,
    /// Of these, packets that it dropped.
    pub dropped_packets: u64,
    /// Mean of what waits, bytes.
    pub queue_mean_bytes: f64,
}

/// Flows over the window. `None` is a quantity that does not exist in this run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowStatistics {
    /// How many flows.
    pub count: u64,
    /// Payload delivered in order a second, mean over the flows, bit/s.
    pub goodput_mean_bps: Option<f64>,
    /// 5th percentile over the flows, bit/s.
    pub goodput_p05_bps: Option<f64>,
    /// Payload over the time from a transfer's first byte sent to the acknowledgement of its last, mean over the transfers, bit/s.
    pub goodput_active_bps: Option<f64>,
    /// Jain's index of the flows' goodputs: 1 is fair, 1/n is one flow has all.
    pub jain: Option<f64>,
    /// Packets sent again; `None` without TCP.
    pub retransmits: Option<u64>,
    /// Retransmission timeouts.
    pub timeouts: Option<u64>,
    /// Reductions of a congestion window, timeouts included.
    pub window_cuts: Option<u64>,
    /// Transfers completed in the window.
    pub transfers: u64,
    /// Mean time from a transfer's start, its connection included, to the acknowledgement of its last byte, seconds.
    pub fct_mean_s: Option<f64>,
    /// 99th percentile of the same, seconds.
    pub fct_p99_s: Option<f64>,
    /// Mean time from a transfer's first byte sent to the acknowledgement of its last, seconds.
    pub fct_data_mean_s: Option<f64>,
    /// 99th percentile of the same, seconds.
    pub fct_data_p99_s: Option<f64>,
    /// Mean time from a packet's first transmission to its in-order delivery, seconds.
    pub delay_mean_s: Option<f64>,
    /// 99th percentile of the same, seconds; 19 hours where it is more.
    pub delay_p99_s: Option<f64>,
    /// Mean time from a packet's last transmission to its arrival, seconds.
    pub network_delay_mean_s: Option<f64>,
}

/// The statistics of a run that has reached its end.
pub(crate) fn collect(mut record: RunRecord<'_>) -> RunOutput {
    let RunRecord { network, method, threads, .. } = record;
    let from = Instant::ZERO + network.warmup;
    let end = Instant::ZERO + network.duration;
    let seconds = end.since(from).as_seconds();
    let core = record.links.get(network.core as usize).and_then(Link::bounded);
    let core_packets = core.map_or(0, |link| link.counters.data_ever);
    let links = (0..network.links.len()).filter(|&id| network.links[id].fitting.reported);
    let links = links
        .map(|id| (network.links[id].name.to_string(), link_statistics(&mut record, id, seconds)))
        .collect();
    let rows: Vec<FlowRow> =
        (0..network.flows.len()).map(|id| flow_row(&record, id, from, seconds)).collect();
    let every: Vec<&FlowRow> = rows.iter().collect();
    let (paced, unpaced): (Vec<&FlowRow>, Vec<&FlowRow>) = rows.iter().partition(|row| row.paced);
    let [delays_unpaced, delays_paced] = &record.delays;
    let flows = flow_statistics(&every, &[delays_unpaced, delays_paced]);
    let mut groups = Vec::new();
    if !paced.is_empty() && !unpaced.is_empty() {
        groups.push(("paced".to_owned(), flow_statistics(&paced, &[delays_paced])));
        groups.push(("unpaced".to_owned(), flow_statistics(&unpaced, &[delays_unpaced])));
    }
    let mut series = std::mem::take(&mut record.series);
    series.sort_by_key(|row| (row.kind as u8, row.link, row.time_ns)); // packets may pass links ahead of time
    RunOutput {
        seed: network.seed,
        window_s: [from.as_seconds(), end.as_seconds()],
        links,
        flows,
        groups,
        core_packets,
        method,
        threads,
        series,
        curves: std::mem::take(&mut record.instruments).curves(network, &record.flows, &rows),
        flow_rows: rows,
    }
}

fn link_statistics(record: &mut RunRecord<'_>, id: usize, seconds: f64) -> LinkStatistics {
    let counters = record.links[id].bounded().map(|link| link.counters).unwrap_or_default();
    let (arrived, dropped) = (counters.arrived, counters.dropped());
    let throughput_bps = counters.left_bytes() * 8.0 / seconds;
    let end = Instant::ZERO + record.network.duration;
    let meter = record.links[id].bounded_mut().and_then(|link| link.meter_at(end));
    let queue = meter.map(|meter| meter.finish());
    let by_class = record.links[id].bounded_mut().and_then(BoundedLink::by_class);
    let classes = by_class.map(class_statistics).unwrap_or_default();
    LinkStatistics {
        throughput_bps,
        utilisation: throughput_bps / capacity_bps(record.network, id),
        arrived_packets: arrived,
        dropped_packets: dropped,
        loss_ratio: (arrived > 0).then(|| dropped as f64 / arrived as f64),
        tied_packets: counters.tied[0],
        tied_drops: counters.tied[1],
        queue_mean_bytes: queue.map(|(mean, _)| mean),
        queue_p99_bytes: queue.map(|(_, p99)| p99),
        causes: CauseStatistics::of(record.network, id, &counters),
        classes,
    }
}

fn class_statistics(by_class: &mut ByClass) -> Vec<ClassStatistics> {
    let mut classes: Vec<ClassStatistics> = by_class
        .finish()
        .map(|(counts, mean)| ClassStatistics {
            arrived_packets: counts.arrived,
            dropped_packets: counts.dropped,
            queue_mean_bytes: mean,
        })
        .collect();
    let highest = classes.iter().rposition(|class| class.arrived_packets > 0);
    classes.truncate(highest.map_or(0, |highest| highest + 1));
    classes
}

/// What a link could have sent in the window, bit/s.
fn capacity_bps(network: &Network, id: usize) -> f64 {
    let spec = &network.links[id];
    let Some(varying) = &spec.fitting.varying else { return spec.rate.bits_per_second() as f64 };
    let (from, to) = (Instant::ZERO + network.warmup, Instant::ZERO + network.duration);
    let bits = varying.transmitter(network.seed, &spec.name).bits_between(from, to);
    bits / to.since(from).as_seconds()
}

fn flow_row(record: &RunRecord<'_>, id: usize, from: Instant, seconds: f64) -> FlowRow {
    let flow = &record.flows[id];
    let (before, now) = (record.at_warmup.get(id).copied().unwrap_or_default(), flow.snapshot());
    let bytes = now.delivered_bytes - before.delivered_bytes;
    let transfers = match &flow.source {
        Source::Tcp(tcp) => tcp
            .rest
            .messages
            .transfers
            .iter()
            .filter(|transfer| transfer.finished() >= from)
            .copied()
            .collect(),
        Source::OpenLoop(_) => Vec::new(),
    };
    FlowRow {
        goodput_bps: bytes as f64 * 8.0 / seconds,
        paced: record.network.flows[id].paced,
        is_tcp: matches!(flow.source, Source::Tcp(_)),
        sent_packets: now.counters.sent - before.counters.sent,
        retransmits: now.counters.retransmits - before.counters.retransmits,
        timeouts: now.counters.timeouts - before.counters.timeouts,
        window_cuts: now.counters.window_cuts - before.counters.window_cuts,
        delivered_packets: now.delivered_packets - before.delivered_packets,
        delay_sum_ns: flow.delays.delay_ns,
        received_packets: flow.delays.received,
        network_delay_sum_ns: flow.delays.network_ns,
        transfers,
    }
}

fn flow_statistics(rows: &[&FlowRow], delays: &[&Delays]) -> FlowStatistics {
    let mut goodputs: Vec<f64> = rows.iter().map(|row| row.goodput_bps).collect();
    goodputs.sort_by(f64::total_cmp);
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|goodput| goodput * goodput).sum();
    let n = goodputs.len() as f64;
    let of_tcp = |count: fn(&FlowRow) -> u64| {
        let tcp = rows.iter().filter(|row| row.is_tcp);
        tcp.clone().next().map(|_| tcp.map(|row| count(row)).sum())
    };
    let transfers = || rows.iter().flat_map(|row| &row.transfers);
    let sorted = |time: fn(&Transfer) -> Span| {
        let mut times: Vec<f64> = transfers().map(|transfer| time(transfer).as_seconds()).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let (times, data_times) = (sorted(|transfer| transfer.took), sorted(Transfer::data_took));
    let rates: Vec<f64> = transfers()
        .filter(|transfer| transfer.data_took() > Span::ZERO)
        .map(|transfer| transfer.bytes as f64 * 8.0 / transfer.data_took().as_seconds())
        .collect();
    let delivered: u64 = rows.iter().map(|row| row.delivered_packets).sum();
    let received: u64 = rows.iter().map(|row| row.received_packets).sum();
    FlowStatistics {
        count: rows.len() as u64,
        goodput_mean_bps: mean(&goodputs),
        goodput_p05_bps: quantile(&goodputs, 0.05),
        goodput_active_bps: mean(&rates),
        jain: (squares > 0.0).then(|| sum * sum / (n * squares)),
        retransmits: of_tcp(|row| row.retransmits),
        timeouts: of_tcp(|row| row.timeouts),
        window_cuts: of_tcp(|row| row.window_cuts),
        transfers: times.len() as u64,
        fct_mean_s: mean(&times),
        fct_p99_s: quantile(&times, 0.99),
        fct_data_mean_s: mean(&data_times),
        fct_data_p99_s: quantile(&data_times, 0.99),
        delay_mean_s: mean_delay_s(rows.iter().map(|row| row.delay_sum_ns), delivered),
        delay_p99_s: Delays::p99_s(delays),
        network_delay_mean_s: mean_delay_s(rows.iter().map(|row| row.network_delay_sum_ns), received),
    }
}

/// The mean delay of so many packets, s, from the sums of their flows, ns: all together they may be more than 64 bits hold.
fn mean_delay_s(sums_ns: impl Iterator<Item = u64>, packets: u64) -> Option<f64> {
    let sum: u128 = sums_ns.map(u128::from).sum();
    (packets > 0).then(|| sum as f64 / packets as f64 * 1e-9)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Of sorted values, linear between neighbours.
fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = q * last as f64;
    let below = position as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64))
}

/// `class_1_dropped_packets`, and so on.
fn by_class<S: Serializer>(classes: &[ClassStatistics], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(3 * classes.len()))?;
    for (class, counts) in classes.iter().enumerate() {
        map.serialize_entry(&format!("class_{class}_arrived_packets"), &counts.arrived_packets)?;
        map.serialize_entry(&format!("class_{class}_dropped_packets"), &counts.dropped_packets)?;
        map.serialize_entry(&format!("class_{class}_queue_mean_bytes"), &counts.queue_mean_bytes)?;
    }
    map.end()
}

fn as_map<S: Serializer, T: Serialize>(pairs: &[(String, T)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_of_many_flows_make_more_than_a_flow_can_sum() {
        let most = u64::MAX - 1;
        assert_eq!(mean_delay_s([most, most].into_iter(), 2), Some(most as f64 * 1e-9));
        assert_eq!(mean_delay_s([].into_iter(), 0), None);
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0], 0.25), Some(1.25));
        assert_eq!(quantile(&[4.0], 0.99), Some(4.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
