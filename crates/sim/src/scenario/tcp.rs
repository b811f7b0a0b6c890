//! `tcp = { … }`: the settings of a TCP connection, a profile's and what is changed of them.

use paceline_tcp::config::{Config, Halving, Profile, Variant};

use super::error::ScenarioError;
use super::reader::Field;

type Result<T> = std::result::Result<T, ScenarioError>;

/// The largest packet of the Internet Protocol, bytes.
pub(crate) const MOST_PACKET: u32 = 65_535;
/// More packets than any window or transfer holds.
const MOST_WINDOW: u64 = 1_000_000_000;

const KEYS: [&str; 19] = [
    "variant",
    "profile",
    "payload",
    "header",
    "ack",
    "max_window",
    "initial_window",
    "initial_ssthresh",
    "limited_transmit",
    "tick",
    "tick_phase",
    "min_rto",
    "max_rto",
    "initial_rto",
    "halving",
    "fractional_halving",
    "impatient",
    "partial_deflation",
    "syn",
];

/// A profile's settings, and what the table changes of them.
pub(crate) fn read(field: &Field<'_>) -> Result<(Config, Profile)> {
    let table = field.table(&KEYS)?;
    let profile = table.optional("profile", |field| field.choice(&Profile::ALL))?.unwrap_or(Profile::Rfc);
    let mut tcp = Config::new(profile);
    set(&mut tcp.variant, table.optional("variant", |field| field.choice(&Variant::ALL))?);
    set(&mut tcp.payload, table.optional("payload", |field| field.packet_bytes(1, MOST_PACKET))?);
    set(&mut tcp.header, table.optional("header", |field| field.packet_bytes(0, MOST_PACKET))?);
    set(&mut tcp.ack, table.optional("ack", |field| field.packet_bytes(1, MOST_PACKET))?);
    let payload = tcp.payload;
    let window = |field: &Field<'_>| field.packets(payload, false, MOST_WINDOW).map(|packets| packets as u32);
    set(&mut tcp.max_window, table.optional("max_window", window)?);
    set(&mut tcp.initial_window, table.optional("initial_window", window)?);
    set(&mut tcp.initial_ssthresh, table.optional("initial_ssthresh", window)?.map(Some));
    set(&mut tcp.limited_transmit, table.optional("limited_transmit", Field::flag)?);
    set(&mut tcp.tick, table.optional("tick", Field::span)?);
    set(&mut tcp.tick_phase, table.optional("tick_phase", Field::span)?.map(Some));
    set(&mut tcp.min_rto, table.optional("min_rto", Field::positive_span)?);
    set(&mut tcp.max_rto, table.optional("max_rto", Field::positive_span)?);
    set(&mut tcp.initial_rto, table.optional("initial_rto", Field::positive_span)?);
    set(&mut tcp.halving, table.optional("halving", |field| field.choice(&Halving::ALL))?);
    set(&mut tcp.fractional_halving, table.optional("fractional_halving", Field::flag)?);
    set(&mut tcp.impatient, table.optional("impatient", Field::flag)?);
    set(&mut tcp.partial_deflation, table.optional("partial_deflation", Field::flag)?);
    set(
        &mut tcp.syn,
        table.optional("syn", |field| match field.value().as_bool() {
            Some(false) => Ok(None),
            Some(true) => Err(field.refused("has no size; write for example \"40 B\", or false")),
            None => field.packet_bytes(1, MOST_PACKET).map(Some),
        })?,
    );
    if tcp.max_rto < tcp.min_rto {
        let problem =
            format!("min_rto {} is above max_rto {}; write the lesser first", tcp.min_rto, tcp.max_rto);
        return Err(ScenarioError::at(table.path(), problem));
    }
    if tcp.payload + tcp.header > MOST_PACKET {
        let problem =
            format!("payload and header make {} B; write {MOST_PACKET} B at most", tcp.data_bytes());
        return Err(ScenarioError::at(table.path(), problem));
    }
    Ok((tcp, profile))
}

fn set<T>(setting: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *setting = value;
    }
}
