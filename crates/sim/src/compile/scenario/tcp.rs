//! `tcp = { … }`: the settings of a TCP connection, a profile's and what is changed of them.

use paceline_tcp::config::{Config, Halving, IdleRestart, Profile, Recovery, Variant};
use paceline_tcp::{Constants, MOST_BLOCKS, options};

use crate::compile::input::{Field, Result, ScenarioError};

/// The largest packet of the Internet Protocol, bytes.
pub(crate) const MOST_PACKET: u32 = 65_535;
/// More packets than any window or transfer holds.
const MOST_WINDOW: u64 = 1_000_000_000;

/// A profile's settings, and what the table changes of them.
pub(crate) fn read(field: &Field<'_>) -> Result<(Config, Profile)> {
    let table = field.open()?;
    // More than a line holds.
    table.only_listed(&options::keys(), || {
        "write one of those that `paceline explain tcp` lists".to_owned()
    })?;
    let profile = table.optional("profile", |field| field.choice(&Profile::ALL))?.unwrap_or(Profile::DEFAULT);
    let variants = [&Variant::ALL[..], &[("sack", profile.sack())]].concat();
    let variant = table.optional("variant", |field| field.choice(&variants))?;
    let mut tcp =
        variant.map_or_else(|| Config::new(profile), |variant| Config::of_variant(profile, variant));
    set(&mut tcp.payload, table.optional("payload", |field| field.packet_bytes(1, MOST_PACKET))?);
    set(&mut tcp.header, table.optional("header", |field| field.packet_bytes(0, MOST_PACKET))?);
    set(&mut tcp.ack, table.optional("ack", |field| field.packet_bytes(1, MOST_PACKET))?);
    let payload = tcp.payload;
    let window = |field: &Field<'_>| field.packets(payload, false, MOST_WINDOW).map(|packets| packets as u32);
    set(&mut tcp.max_window, table.optional("max_window", window)?);
    if profile == Profile::Rfc {
        tcp.initial_window = Config::window_of_rfc_6928(payload);
    }
    set(&mut tcp.grow_unused, table.optional("grow_unused", Field::flag)?);
    set(&mut tcp.data_with_syn, table.optional("data_with_syn", Field::flag)?);
    set(&mut tcp.initial_window, table.optional("initial_window", window)?);
    set(&mut tcp.initial_ssthresh, table.optional("initial_ssthresh", window)?.map(Some));
    set(
        &mut tcp.delayed_ack,
        table.optional("delayed_ack", |field| {
            or_false(field, "has no length; write for example \"100 ms\"", Field::positive_span)
        })?,
    );
    let count = |field: &Field<'_>| field.whole(0, 1000).map(|count| count as u32);
    set(&mut tcp.quick_acks, table.optional("quick_acks", count)?);
    set(&mut tcp.adaptive_delay, table.optional("adaptive_delay", Field::flag)?);
    set(
        &mut tcp.sack_compression,
        table.optional("sack_compression", |field| {
            or_false(field, "has no length; write for example \"1 ms\"", Field::positive_span)
        })?,
    );
    set(&mut tcp.push, table.optional("push", count)?);
    set(&mut tcp.read_delay, table.optional("read_delay", Field::span)?);
    set(&mut tcp.delayed_syn_ack, table.optional("delayed_syn_ack", Field::flag)?);
    let blocks = |field: &Field<'_>| field.whole(1, MOST_BLOCKS as u64).map(|blocks| blocks as u32);
    set(&mut tcp.sack_blocks, table.optional("sack_blocks", blocks)?);
    set(&mut tcp.sack_header, table.optional("sack_header", |field| field.packet_bytes(0, 32))?);
    set(&mut tcp.timestamps, table.optional("timestamps", Field::flag)?);
    let flag = table.optional("timestamps_end_back_off", Field::flag)?;
    set(&mut tcp.timestamps_end_back_off, flag);
    let threshold = |field: &Field<'_>| field.whole(1, 1000).map(|count| count as u32);
    set(&mut tcp.duplicate_threshold, table.optional("duplicate_threshold", threshold)?);
    let burst = table.optional("max_burst", |field| {
        or_false(field, "has no size; write for example \"4 packets\"", window)
    })?;
    set(&mut tcp.max_burst, burst.map(|burst| burst.unwrap_or(u32::MAX)));
    set(&mut tcp.overhead, table.optional("overhead", Field::span)?);
    set(&mut tcp.limited_transmit, table.optional("limited_transmit", Field::flag)?);
    set(&mut tcp.recovery, table.optional("recovery", |field| field.choice(&Recovery::ALL))?);
    set(&mut tcp.rack, table.optional("rack", Field::flag)?);
    set(&mut tcp.timer_tick, table.optional("timer_tick", Field::span)?);
    set(&mut tcp.count_packets, table.optional("count_packets", Field::flag)?);
    set(&mut tcp.tick, table.optional("tick", Field::span)?);
    set(&mut tcp.tick_phase, table.optional("tick_phase", Field::span)?.map(Some));
    set(&mut tcp.min_rto, table.optional("min_rto", Field::positive_span)?);
    set(&mut tcp.min_rto_beyond_srtt, table.optional("min_rto_beyond_srtt", Field::flag)?);
    set(&mut tcp.min_rto_backs_off, table.optional("min_rto_backs_off", Field::flag)?);
    set(&mut tcp.back_off_to_maximum, table.optional("back_off_to_maximum", Field::flag)?);
    set(&mut tcp.max_rto, table.optional("max_rto", Field::positive_span)?);
    set(&mut tcp.initial_rto, table.optional("initial_rto", Field::positive_span)?);
    set(
        &mut tcp.rto_after_lost_syn,
        table.optional("rto_after_lost_syn", |field| {
            or_false(field, "has no length; write for example \"3 s\"", Field::positive_span)
        })?,
    );
    set(&mut tcp.linear_syn_timeouts, table.optional("linear_syn_timeouts", count)?);
    set(&mut tcp.halving, table.optional("halving", |field| field.choice(&Halving::ALL))?);
    set(&mut tcp.fractional_halving, table.optional("fractional_halving", Field::flag)?);
    set(&mut tcp.careful, table.optional("careful", Field::flag)?);
    set(&mut tcp.less_careful, table.optional("less_careful", Field::flag)?);
    set(&mut tcp.first_packet_fix, table.optional("first_packet_fix", Field::flag)?);
    set(&mut tcp.forgives_syn, table.optional("forgives_syn", Field::flag)?);
    set(&mut tcp.impatient, table.optional("impatient", Field::flag)?);
    set(&mut tcp.partial_deflation, table.optional("partial_deflation", Field::flag)?);
    set(&mut tcp.full_ack_deflation, table.optional("full_ack_deflation", Field::flag)?);
    set(&mut tcp.partial_ack, table.optional("partial_ack", Field::flag)?);
    set(&mut tcp.constants, table.optional("constants", |field| field.choice(&Constants::ALL))?);
    set(&mut tcp.hystart, table.optional("hystart", Field::flag)?);
    set(&mut tcp.idle_restart, table.optional("idle_restart", |field| field.choice(&IdleRestart::ALL))?);
    let syn = |field: &Field<'_>| field.packet_bytes(1, MOST_PACKET);
    set(
        &mut tcp.syn,
        table.optional("syn", |field| or_false(field, "has no size; write for example \"40 B\"", syn))?,
    );
    if tcp.tick > Config::LONGEST_TICK {
        let longest = Config::LONGEST_TICK;
        let problem = format!("{} is above {longest}; write \"{longest}\" at most", tcp.tick);
        return Err(ScenarioError::at(&table.path_of("tick"), problem));
    }
    if tcp.timer_tick > Config::LONGEST_TICK {
        let longest = Config::LONGEST_TICK;
        let problem = format!("{} is above {longest}; write \"{longest}\" at most", tcp.timer_tick);
        return Err(ScenarioError::at(&table.path_of("timer_tick"), problem));
    }
    if tcp.max_rto < tcp.min_rto {
        let problem =
            format!("min_rto {} is above max_rto {}; write the lesser first", tcp.min_rto, tcp.max_rto);
        return Err(ScenarioError::at(table.path(), problem));
    }
    if tcp.ack_bytes(MOST_BLOCKS) > MOST_PACKET {
        let problem = format!("{} B leave no room for SACK blocks; write less", tcp.ack);
        return Err(ScenarioError::at(&table.path_of("ack"), problem));
    }
    if tcp.payload + tcp.header > MOST_PACKET {
        let problem =
            format!("payload and header make {} B; write {MOST_PACKET} B at most", tcp.data_bytes());
        return Err(ScenarioError::at(table.path(), problem));
    }
    Ok((tcp, profile))
}

/// What `read` makes of the value, or nothing where it is `false`.
fn or_false<'a, T>(
    field: &Field<'a>,
    instead: &str,
    read: impl Fn(&Field<'a>) -> Result<T>,
) -> Result<Option<T>> {
    match field.value().as_bool() {
        Some(false) => Ok(None),
        Some(true) => Err(field.refused(format!("{instead}, or false"))),
        None => read(field).map(Some),
    }
}

fn set<T>(setting: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *setting = value;
    }
}
