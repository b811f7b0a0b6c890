//! `tcp = { … }`: the settings of a TCP connection, a profile's and what is changed of them.

use paceline_tcp::config::{Config, Halving, IdleRestart, Profile, Recovery, Variant};
use paceline_tcp::{Constants, EcnMode, EcnRule, HyStartMode, MOST_BLOCKS, options};

use crate::input::keys::{Key, Kind, key, words};
use crate::input::{Field, Result, ScenarioError};

/// The largest packet of the Internet Protocol, bytes.
pub(crate) const MOST_PACKET: u32 = 65_535;
/// Of a host's own queue, bytes: what a sysctl of Linux holds.
const MOST_QUEUE: u32 = i32::MAX as u32;
/// More packets than any window or transfer holds.
const MOST_WINDOW: u64 = 1_000_000_000;
/// More acknowledgements, or duplicates of one, than anything waits for.
const MOST_COUNT: u64 = 1000;
/// The variant that a profile's own Sack is.
const SACK: &str = "sack";

/// Keys of the table: `profile`, and the options of a connection.
pub(crate) fn keys() -> Vec<Key> {
    let profile =
        key("profile", Kind::Word(|| words(&Profile::ALL)), "whose defaults hold; linux unless given");
    let option = |option: &options::Setting| key(option.key, kind_of(option.key), option.meaning);
    [profile].into_iter().chain(options::OPTIONS.iter().map(option)).collect()
}

/// What `read` takes of an option.
fn kind_of(option: &str) -> Kind {
    const OR_TIME: Kind = Kind::Either(&[Kind::Time, Kind::False]);
    const OR_PACKETS: Kind = Kind::Either(&[Kind::BytesOrPackets, Kind::False]);
    match option {
        "variant" => Kind::Word(|| [words(&Variant::ALL), vec![SACK]].concat()),
        "recovery" => Kind::Word(|| words(&Recovery::ALL)),
        "halving" => Kind::Word(|| words(&Halving::ALL)),
        "constants" => Kind::Word(|| words(&Constants::ALL)),
        "idle_restart" => Kind::Word(|| words(&IdleRestart::ALL)),
        "ecn" => Kind::Word(|| words(&EcnMode::ALL)),
        "ecn_rule" => Kind::Word(|| words(&EcnRule::ALL)),
        "hystart" => Kind::Either(&[Kind::Word(|| words(&HyStartMode::ALL)), Kind::Flag]),
        "payload" | "header" | "ack" | "sack_header" => Kind::Bytes,
        "syn" | "tsq" => Kind::Either(&[Kind::Bytes, Kind::False]),
        "max_window" | "initial_window" | "initial_ssthresh" => Kind::BytesOrPackets,
        "max_burst" | "gso" => OR_PACKETS,
        "delayed_ack" | "gro" | "sack_compression" | "rto_after_lost_syn" => OR_TIME,
        "read_delay" | "overhead" | "timer_tick" | "tick" | "tick_phase" | "min_rto" | "max_rto"
        | "initial_rto" => Kind::Time,
        "quick_acks" | "push" | "linear_syn_timeouts" => Kind::Whole(0, MOST_COUNT),
        "duplicate_threshold" => Kind::Whole(1, MOST_COUNT),
        "ack_every" => Kind::Whole(2, MOST_COUNT),
        "sack_blocks" => Kind::Whole(1, MOST_BLOCKS as u64),
        _ => Kind::Flag,
    }
}

/// A profile's settings, and what the table changes of them.
pub(crate) fn read(field: &Field<'_>) -> Result<(Config, Profile)> {
    let table = field.open()?;
    // More than a line holds.
    table.only_listed(&options::keys(), || {
        "write one of those that `paceline explain tcp` lists".to_owned()
    })?;
    let profile = table.optional("profile", |field| field.choice(&Profile::ALL))?.unwrap_or(Profile::DEFAULT);
    let variants = [&Variant::ALL[..], &[(SACK, profile.sack())]].concat();
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
    let count = |field: &Field<'_>| field.whole(0, MOST_COUNT).map(|count| count as u32);
    let length = |example: &'static str| {
        let instead = format!("has no length; write for example \"{example}\"");
        move |field: &Field<'_>| or_false(field, &instead, Field::positive_span)
    };
    // What is read so, and the settings that are.
    macro_rules! options {
        ($($read:expr => $($name:ident),+;)+) => {
            $($(set(&mut tcp.$name, table.optional(stringify!($name), $read)?);)+)+
        };
    }
    options! {
        Field::flag => grow_unused, data_with_syn, adaptive_delay, delayed_syn_ack, timestamps,
            timestamps_end_back_off, limited_transmit, rack, count_packets, min_rto_beyond_srtt, timer_fix, min_rto_backs_off,
            back_off_to_maximum, fractional_halving, cut_once, careful, less_careful, first_packet_fix, forgives_syn, impatient,
            partial_deflation, full_ack_deflation, partial_ack;
        window => initial_window;
        |field| window(field).map(Some) => initial_ssthresh;
        count => quick_acks, push, linear_syn_timeouts;
        |field| field.whole(1, MOST_COUNT).map(|count| count as u32) => duplicate_threshold;
        |field| field.whole(1, MOST_BLOCKS as u64).map(|blocks| blocks as u32) => sack_blocks;
        |field| field.packet_bytes(0, 32) => sack_header;
        length("100 ms") => delayed_ack;
        length("50 us") => gro;
        |field| field.whole(2, MOST_COUNT).map(|count| count as u32) => ack_every;
        length("1 ms") => sack_compression;
        length("3 s") => rto_after_lost_syn;
        Field::span => read_delay, overhead, timer_tick, tick;
        |field| field.span().map(Some) => tick_phase;
        Field::positive_span => min_rto, max_rto, initial_rto;
        |field| field.choice(&Recovery::ALL) => recovery;
        |field| field.choice(&Halving::ALL) => halving;
        |field| field.choice(&Constants::ALL) => constants;
        |field| field.choice(&IdleRestart::ALL) => idle_restart;
        |field| field.choice(&EcnMode::ALL) => ecn;
        |field| field.choice(&EcnRule::ALL) => ecn_rule;
        hystart => hystart;
    }
    let burst = table.optional("max_burst", |field| {
        or_false(field, "has no size; write for example \"4 packets\"", window)
    })?;
    set(&mut tcp.max_burst, burst.map(|burst| burst.unwrap_or(u32::MAX)));
    let train =
        |field: &Field<'_>| match window(field)? {
            1 => Err(field
                .refused(format!("holds one packet of {payload} B; write \"2 packets\" at least, or false"))),
            packets => Ok(packets),
        };
    let gso =
        table.optional("gso", |field| or_false(field, "has no size; write for example \"64 KB\"", train))?;
    set(&mut tcp.gso, gso);
    let queue = |field: &Field<'_>| field.packet_bytes(1, MOST_QUEUE);
    let queue = |field: &Field<'_>| or_false(field, "has no size; write for example \"4 MB\"", queue);
    set(&mut tcp.tsq, table.optional("tsq", queue)?);
    let syn = |field: &Field<'_>| field.packet_bytes(1, MOST_PACKET);
    let syn = |field: &Field<'_>| or_false(field, "has no size; write for example \"40 B\"", syn);
    set(&mut tcp.syn, table.optional("syn", syn)?);
    for (name, tick) in [("tick", tcp.tick), ("timer_tick", tcp.timer_tick)] {
        if tick > Config::LONGEST_TICK {
            let longest = Config::LONGEST_TICK;
            let problem = format!("{tick} is above {longest}; write \"{longest}\" at most");
            return Err(ScenarioError::at(&table.path_of(name), problem));
        }
    }
    if tcp.variant.is_by_rate() && !tcp.rack {
        let problem = "BBR finds its losses by RACK; leave rack out";
        return Err(ScenarioError::at(&table.path_of("rack"), problem));
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

/// By its name; `true` is Linux's.
fn hystart(field: &Field<'_>) -> Result<HyStartMode> {
    match field.value().as_bool() {
        Some(is_on) => Ok(if is_on { HyStartMode::Linux } else { HyStartMode::Off }),
        None => field.choice(&HyStartMode::ALL),
    }
}
