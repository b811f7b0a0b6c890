//! `[pacing]`: which method, with which parameters, where.

use paceline_core::Rate;
use paceline_core::pacer::{METHODS, PacerSpec, parameters_of, parse};
use paceline_tcp::config::PacingRule;
use serde_json::{Map, Value};

use super::names::NameList;
use crate::compile::parameters::Named;
use crate::input::keys::{Key, Kind, NAMES, Way, key, merged, names, needed, words};
use crate::input::{BufferSize, Field, Result, Table, any_of, suggestion};
use crate::network::PortPacing;

/// A method at work in a network.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pacing {
    /// Where it is written: `pacing` or `pacing[0]`.
    pub(crate) path: String,
    /// What it does.
    pub(crate) method: Method,
    /// Deployed on this share of the hosts or links.
    pub(crate) share: f64,
}

/// A pacing method.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Method {
    /// Packets leave as they come.
    None,
    /// TCP senders space their packets.
    Host {
        /// `None` is the rule of the flow's profile.
        rule: Option<PacingRule>,
        /// Times the rate of the rule.
        gain: f64,
        /// A fraction of the gap, to either side.
        jitter: f64,
        /// Packets that leave together; `None` is the rule's.
        quantum: Option<u32>,
        /// On these hosts; `None` is all that send TCP.
        at: Option<NameList>,
    },
    /// One gap for all flows of a host.
    Port {
        /// Each flow is host-paced too.
        per_flow: bool,
        /// Its rate.
        pacing: PortPacing,
        /// On these hosts; `None` is all that send TCP.
        at: Option<NameList>,
    },
    /// A pacer before a link.
    Link(LinkMethod),
}

/// A method that acts on links.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinkMethod {
    /// Its name and parameters.
    pub(crate) named: Named,
    /// On these links; `None` leaves it to the template.
    pub(crate) at: Option<NameList>,
    /// And on those that do the same for traffic the other way.
    pub(crate) acks: bool,
}

/// The methods that are not stages, and their parameters, the one that comes first in shorthand.
const HOST_KEYS: [Key; 4] = [
    key(
        "rule",
        Kind::Word(|| words(&PacingRule::ALL)),
        "how the rate follows the window; the TCP profile's unless given",
    ),
    key("gain", GAIN, "times the rate; 1 unless given"),
    key("jitter", Kind::Number(0.0, 1.0), "share of the gap that is drawn to either side; 0 unless given"),
    key("quantum", Kind::BytesOrPackets, "packets that leave together; the rule's unless given"),
];
const PORT_KEYS: [Key; 3] = [
    key("gain", GAIN, "times the sum of the flows' rates; 1 unless given"),
    key("cap", Kind::Rate, "which that sum does not exceed; none unless given"),
    key("per_flow", Kind::Flag, "flows are paced too, by their profile's rule; true unless given"),
];
const GAIN: Kind = Kind::Number(0.001, MOST_GAIN);
/// A gain beyond this is a slip of the pen.
const MOST_GAIN: f64 = 1000.0;
/// So is a quantum beyond this, packets.
const MOST_TOGETHER: u64 = 1000;

const METHOD: Key = needed("method", Kind::Spelt(method_names), "how packets are spaced");
const AT: Key = key(
    "at",
    NAMES,
    "links, or for host and port hosts: names, groups or wildcards; the template's unless given",
);
const SHARE: Key =
    key("share", Kind::Number(0.0, 1.0), "of the hosts or links, as the seed draws them; 1 unless given");
const ACKS: Key = key("acks", Kind::Flag, "traffic the other way is paced too; false unless given");

/// `[pacing]`, `[[pacing]]` or `pacing = "edge 10 ms"`.
pub(crate) const ALL: Kind =
    Kind::OneOrMany(&Kind::Either(&[Kind::Spelt(method_names), Kind::Ways("pacing", ways)]));

/// By method, with its parameters as keys, or in one text with it.
fn ways() -> Vec<Way> {
    let way = |name| {
        let summary = match name {
            "host" => "TCP senders space their packets by window and round trip",
            "port" => "one gap for all flows of a host",
            link => METHODS.iter().find(|row| row.name == link).map_or("", |row| row.summary),
        };
        Way::with(METHOD.name, Kind::Just(name, summary), keys_of(name))
    };
    let spelt_out = |name| Way::with(METHOD.name, Kind::SpeltOut(name), keys_of(name));
    let names = method_names();
    names.iter().copied().map(way).chain(names.iter().copied().map(spelt_out)).collect()
}

/// All that a table of this method may have.
fn keys_of(method: &str) -> Vec<Key> {
    let where_it_acts: &[Key] = match method {
        // Any method's, which it leaves alone, so that a sweep may change the method only.
        "none" => return any_methods_keys(),
        "host" | "port" => &[METHOD, AT, SHARE],
        _ => &[METHOD, AT, ACKS, SHARE],
    };
    [where_it_acts, &own_keys(method)].concat()
}

impl Pacing {
    /// Reads `[pacing]`, `[[pacing]]` or `pacing = "edge 10 ms"`.
    pub(crate) fn read_all(field: &Field<'_>) -> Result<Vec<Pacing>> {
        field.all_of(&field.one_or_many(), Pacing::read)
    }

    fn read(field: &Field<'_>) -> Result<Pacing> {
        if let Value::String(text) = field.value() {
            let spelt_out = spell_out(field, text, &Map::new())?;
            return Pacing::read(&field.standing_for(&spelt_out));
        }
        let table = field.open()?;
        if let (Some(method), Value::Object(beside)) = (table.get("method"), field.value())
            && let Some(text) = method.value().as_str()
            && text.trim().contains(char::is_whitespace)
        {
            let spelt_out = spell_out(&method, text, beside)?;
            return Pacing::read(&field.standing_for(&spelt_out));
        }
        let method = table.required("method", "\"edge\"")?;
        let name = known_method(&method)?;
        let share = |table: &Table<'_>| {
            let share = table.optional("share", |field| field.number("a fraction", 0.0, 1.0))?;
            Ok(share.unwrap_or(1.0))
        };
        let at_hosts = |table: &Table<'_>| table.optional("at", NameList::read);
        let gain = |table: &Table<'_>| -> Result<f64> {
            let gain = table.optional("gain", |field| field.number("a factor", 0.001, MOST_GAIN))?;
            Ok(gain.unwrap_or(1.0))
        };
        let method = match name {
            "none" => {
                table.only(&keys_of(name))?;
                Method::None
            }
            "host" => {
                table.only(&keys_of(name))?;
                Method::Host {
                    rule: table.optional("rule", |field| field.choice(&PacingRule::ALL))?,
                    gain: gain(&table)?,
                    jitter: table
                        .optional("jitter", |field| field.number("a fraction", 0.0, 1.0))?
                        .unwrap_or(0.0),
                    quantum: table.optional("quantum", packets_together)?,
                    at: at_hosts(&table)?,
                }
            }
            "port" => {
                table.only(&keys_of(name))?;
                Method::Port {
                    per_flow: table.optional("per_flow", Field::flag)?.unwrap_or(true),
                    pacing: PortPacing { gain: gain(&table)?, cap: table.optional("cap", Field::one_of)? },
                    at: at_hosts(&table)?,
                }
            }
            name => Method::Link(LinkMethod::read(name, &table)?),
        };
        Ok(Pacing { path: field.path().to_owned(), method, share: share(&table)? })
    }
}

impl LinkMethod {
    fn read(name: &str, table: &Table<'_>) -> Result<LinkMethod> {
        table.only(&keys_of(name))?;
        let named = Named::read(name, &names(&own_keys(name)), table)?;
        named.check(table, parse)?;
        Ok(LinkMethod {
            named,
            at: table.optional("at", NameList::read)?,
            acks: table.optional("acks", Field::flag)?.unwrap_or(false),
        })
    }

    /// The pacer for a link of this rate; `path` is where the method is written.
    pub(crate) fn pacer(&self, path: &str, link_rate: Rate) -> Result<PacerSpec> {
        self.named.on_link(|| path.to_owned(), link_rate, parse)
    }
}

/// How many packets leave together.
fn packets_together(field: &Field<'_>) -> Result<u32> {
    match field.buffer()? {
        BufferSize::Packets(packets) if (1..=MOST_TOGETHER).contains(&packets) => Ok(packets as u32),
        _ => {
            Err(field
                .refused(format!("is no quantum; write from \"1 packets\" to \"{MOST_TOGETHER} packets\"")))
        }
    }
}

/// `edge 10 ms` as a table: a method and its first parameter, or `qlbp load = 0.9, max_delay = 10 ms`; with the keys
/// that the table has beside it.
fn spell_out(field: &Field<'_>, text: &str, beside: &Map<String, Value>) -> Result<Value> {
    let (method, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let rest = rest.trim();
    let mut map = beside.clone();
    map.insert("method".to_owned(), Value::from(method));
    let mut add = |key: &str, value: &str| match map.insert(key.to_owned(), plain_value(value)) {
        Some(_) => Err(field.refused(format!("gives {key} a second time; write it once"))),
        None => Ok(()),
    };
    if rest.contains('=') {
        for setting in rest.split(',') {
            let Some((key, value)) = setting.split_once('=') else {
                return Err(
                    field.refused("has a setting without a value; write \"method key = value, key = value\"")
                );
            };
            add(key.trim(), value.trim())?;
        }
    } else if !rest.is_empty() {
        let Some(first) = own_keys(method).first().map(|key| key.name) else {
            let all = method_names();
            if !all.contains(&method) {
                let names = || all.iter().copied();
                let what = suggestion(text.trim(), names(), || {
                    suggestion(method, names(), || format!("write {}", any_of(names())))
                });
                return Err(field.refused(format!("is no pacing method; {what}")));
            }
            let what = format!("says more than a method; \"{method}\" has no parameter to give this way");
            return Err(field.refused(what));
        };
        add(first, rest)?;
    }
    Ok(Value::Object(map))
}

/// A number or a truth value where the text is one.
fn plain_value(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => Value::from(text),
    }
}

fn known_method(field: &Field<'_>) -> Result<&'static str> {
    let name = field.text()?;
    let all = method_names();
    all.iter().copied().find(|known| *known == name).ok_or_else(|| {
        let names = || all.iter().copied();
        let what = suggestion(name, names(), || format!("write {}", any_of(names())));
        field.refused(format!("is no pacing method; {what}"))
    })
}

/// The parameters of a method, the one that comes first in shorthand.
fn own_keys(method: &str) -> Vec<Key> {
    match method {
        "host" => HOST_KEYS.to_vec(),
        "port" => PORT_KEYS.to_vec(),
        link => parameters_of(link).unwrap_or_default().iter().map(Key::from).collect(),
    }
}

/// What any method takes.
fn any_methods_keys() -> Vec<Key> {
    let own = merged(method_names().into_iter().flat_map(own_keys), Kind::Any);
    [&[METHOD, Key { kind: Kind::Any, ..AT }, Key { kind: Kind::Any, ..ACKS }, SHARE], own.as_slice()]
        .concat()
}

fn method_names() -> Vec<&'static str> {
    METHODS.iter().map(|row| row.name).chain(["host", "port"]).collect()
}
