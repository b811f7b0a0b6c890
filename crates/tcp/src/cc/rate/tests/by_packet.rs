//! The sampler beside one that keeps a record of each packet, as draft-ietf-ccwg-bbr section 4.1.2 and Linux's
//! tcp_rate.c have it.

use super::super::sampler::{Sampler, micros};
use super::*;
use rand_core::RngCore;
use rand_pcg::Pcg32;
use std::collections::BTreeMap;

/// P of the draft.
#[derive(Debug, Clone, Copy)]
struct Packet {
    seq: u32,
    sent: Instant,
    delivered: u64,
    delivered_time: Instant,
    first_sent_time: Instant,
    is_app_limited: bool,
    tx_in_flight: u32,
    lost: u64,
    is_resent: bool,
}

/// C of the draft, and all packets that are outstanding or were.
#[derive(Debug, Default)]
struct Connection {
    packets: BTreeMap<u32, Packet>,
    delivered: u64,
    delivered_time: Instant,
    first_sent_time: Instant,
    app_limited: u64,
    lost: u64,
    in_flight: u32,
    una: u32,
    end: u32,
    min_rtt: Option<u64>,
    arrived: Vec<(Packet, bool)>,
}

impl Connection {
    fn send(&mut self, seq: u32, now: Instant) -> u32 {
        if self.una == self.end {
            (self.first_sent_time, self.delivered_time) = (now, now);
        }
        self.in_flight += 1;
        let packet = Packet {
            seq,
            sent: now,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent_time: self.first_sent_time,
            is_app_limited: self.app_limited > 0,
            tx_in_flight: self.in_flight,
            lost: self.lost,
            is_resent: seq < self.end,
        };
        self.end = self.end.max(seq + 1);
        self.packets.insert(seq, packet);
        self.in_flight
    }

    fn arrive(&mut self, start: u32, end: u32, beyond: bool) {
        self.delivered += u64::from(end - start);
        self.arrived.extend((start..end).map(|seq| (self.packets[&seq], beyond)));
    }

    fn lose(&mut self, seq: u32) -> Packet {
        self.lost += 1;
        self.in_flight = self.in_flight.saturating_sub(1);
        self.packets[&seq]
    }

    /// The round trip, us (`tcp_clean_rtx_queue`, `tcp_ack_update_rtt`): of the last packet held, else of the last one
    /// acknowledged where none was sent twice, else by the echo, whose clock counts milliseconds.
    fn rtt(&self, ack: &RateAck) -> Option<u64> {
        let once = |beyond| move |&&(packet, held): &&(Packet, bool)| held == beyond && !packet.is_resent;
        let of = |(packet, _): &(Packet, bool)| micros(ack.now) - micros(packet.sent);
        let retransmitted_data_acked = self.arrived.iter().any(|(packet, held)| packet.is_resent && !held);
        if let Some(last) = self.arrived.iter().rfind(once(true)) {
            return Some(of(last));
        }
        if !retransmitted_data_acked && let Some(last) = self.arrived.iter().rfind(once(false)) {
            return Some(of(last));
        }
        let echo = ack.echo.filter(|_| self.arrived.iter().any(|(_, held)| !held))?;
        Some((ack.now.as_nanos() / MS - echo.as_nanos() / MS).max(1) * 1000)
    }

    fn sample(&mut self, ack: &RateAck) -> RateSample {
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if ack.delivered > 0 {
            self.delivered_time = ack.now;
        }
        (self.una, self.in_flight) = (ack.next, ack.in_flight);
        let rtt_us = self.rtt(ack);
        self.min_rtt = self.min_rtt.into_iter().chain(rtt_us).min();
        let newest =
            self.arrived.iter().map(|(packet, _)| *packet).max_by_key(|packet| (packet.sent, packet.seq));
        self.arrived.clear();
        let Some(newest) = newest else { return RateSample { rtt_us, ..RateSample::default() } };
        self.first_sent_time = newest.sent;
        let send_elapsed = micros(newest.sent) - micros(newest.first_sent_time);
        let ack_elapsed = micros(ack.now) - micros(newest.delivered_time);
        let interval = send_elapsed.max(ack_elapsed);
        let is_reliable = interval > 0 && self.min_rtt.is_some_and(|least| interval >= least);
        RateSample {
            prior_delivered: newest.delivered,
            delivered: Some(self.delivered - newest.delivered),
            interval_us: is_reliable.then_some(interval),
            is_app_limited: newest.is_app_limited,
            rtt_us,
            sent_in_flight: newest.tx_in_flight,
            lost_since: self.lost - newest.lost,
        }
    }
}

/// Sends trains, acknowledges in order and beyond holes, loses, sends again; compares after each event.
fn follow(seed: u64) {
    let mut draws = Pcg32::new(seed, 97);
    let mut below = |n: u64| (u64::from(draws.next_u32()) * n) >> 32;
    let (mut rates, mut by_packet) = (Sampler::default(), Connection::default());
    let mut now = 1_000_000;
    // What beyond `una` has arrived, and what is lost and not sent again.
    let (mut held, mut lost) = (Vec::new(), Vec::new());
    for step in 0..300 {
        now += [0, 0, 1, 999, 1000, MS, 7 * MS][below(7) as usize];
        let at = Instant::from_nanos(now);
        let what = format!("seed {seed}, event {step}");
        let (una, end) = (by_packet.una, by_packet.end);
        match below(6) {
            0 | 1 if end - una < 40 => {
                for seq in end..end + 1 + below(5) as u32 {
                    assert_eq!(rates.send(seq, at), by_packet.send(seq, at), "{what}");
                }
            }
            2 if end > una => {
                let seq = una + below((end - una).into()) as u32;
                if !held.contains(&seq) && !lost.contains(&seq) {
                    rates.lose();
                    let (lose, expected) = (rates.last(seq).expect("it was sent"), by_packet.lose(seq));
                    let found = (lose.seq(), lose.in_flight, lose.lost, lose.is_app_limited());
                    let wanted = (seq, expected.tx_in_flight, expected.lost, expected.is_app_limited);
                    assert_eq!(found, wanted, "{what}");
                    lost.push(seq);
                }
            }
            3 if !lost.is_empty() => {
                let seq = lost.remove(below(lost.len() as u64) as usize);
                assert_eq!(rates.resend(seq, at), by_packet.send(seq, at), "{what}");
            }
            4 if below(4) == 0 => {
                let in_flight = below(3) as u32;
                rates.limit(in_flight);
                by_packet.app_limited = (by_packet.delivered + u64::from(in_flight)).max(1);
            }
            _ if end > una => {
                let mut delivered = 0;
                let next = una + below(u64::from((end - una).min(4)) + 1) as u32;
                for seq in una..next {
                    if !held.contains(&seq) {
                        // In one piece where nothing between was held.
                        rates.arrive(seq, seq + 1, false);
                        by_packet.arrive(seq, seq + 1, false);
                        delivered += 1;
                    }
                }
                held.retain(|seq| *seq >= next);
                if next < end && below(2) == 0 {
                    let start = next + below((end - next).into()) as u32;
                    let stop = (start + 1 + below(3) as u32).min(end);
                    if (start..stop).all(|seq| seq > next && !held.contains(&seq)) {
                        rates.arrive(start, stop, true);
                        by_packet.arrive(start, stop, true);
                        held.extend(start..stop);
                        delivered += stop - start;
                    }
                }
                lost.retain(|seq| *seq >= next && !held.contains(seq));
                let in_flight = end - next - held.len() as u32 - lost.len() as u32;
                let echo = (below(2) == 0).then(|| Instant::from_nanos(now - below(now.min(9 * MS))));
                let ack = RateAck { now: at, echo, ..ack(0, (next, delivered), in_flight) };
                let (found, expected) = (rates.sample(&ack), by_packet.sample(&ack));
                assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{what}");
                assert_eq!((rates.least_us(), rates.delivered, rates.lost), {
                    (by_packet.min_rtt, by_packet.delivered, by_packet.lost)
                });
            }
            _ => {}
        }
        assert_eq!(rates.is_limited(), by_packet.app_limited > 0, "{what}");
    }
}

#[test]
fn groups_of_packets_remember_what_each_packet_would() {
    (0..100).for_each(follow);
}
