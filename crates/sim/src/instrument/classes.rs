//! Which flows an instrument observes, and how they are put into classes.

use serde_json::Value;

use crate::input::keys::{Key, Kind, NAMES, key, words};
use crate::input::{Field, Result, ScenarioError, Table, matches, shortened, suggestion};
use crate::kernel::ids::FlowId;

/// A larger matrix is no picture, and more classes of delays no memory.
const MOST_CLASSES: usize = 64;

/// A flow as instruments choose it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedFlow<'a> {
    pub(crate) name: &'a str,
    /// Of its traffic.
    pub(crate) traffic: &'a str,
    /// A pacing method acts on it.
    pub(crate) is_paced: bool,
    /// It is TCP's.
    pub(crate) has_window: bool,
}

/// Flows put into classes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Classes {
    /// The class of each flow, a position in `names`; [`Classes::NONE`] for those left out.
    pub(crate) of: Vec<u32>,
    /// What the classes are called.
    pub(crate) names: Vec<String>,
    /// Every class is one flow.
    pub(crate) are_flows: bool,
}

impl Classes {
    /// The class of a flow that is in none.
    pub(crate) const NONE: u32 = u32::MAX;

    /// The class of a flow, if it is in one.
    pub(crate) fn class(&self, flow: FlowId) -> Option<usize> {
        self.of.get(flow as usize).filter(|class| **class != Classes::NONE).map(|class| *class as usize)
    }
}

impl Classes {
    /// Each flow that is in a class, with that.
    pub(crate) fn members(&self) -> impl Iterator<Item = (FlowId, usize)> {
        (0..)
            .zip(&self.of)
            .filter(|(_, class)| **class != Classes::NONE)
            .map(|(flow, class)| (flow, *class as usize))
    }
}

/// Flows, and how they are put into classes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct By {
    /// All of them unless named.
    flows: Option<FlowNames>,
    rule: Rule,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    All,
    Flow,
    Traffic,
    Pacing,
}

/// Flows by number, name, wildcard, or their traffic's name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FlowNames {
    pub(crate) path: String,
    names: Vec<FlowName>,
}

/// A flow by number, name, wildcard, or its traffic's name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FlowName {
    Number(u64),
    Name(String),
}

/// Ways to put flows into classes.
const RULES: [(&str, Rule); 4] =
    [("all", Rule::All), ("flow", Rule::Flow), ("traffic", Rule::Traffic), ("pacing", Rule::Pacing)];
/// Keys of the tables.
pub(crate) const BY: Key = key("by", Kind::Word(|| words(&RULES)), "puts flows into classes");
pub(crate) const FLOWS: Key = key(
    "flows",
    FLOW_NAMES,
    "numbers, names, wildcards or a traffic's name, one or a list; all unless given",
);
/// A flow by its number or its name.
pub(crate) const FLOW: Kind = Kind::Either(&[Kind::Text, Kind::Whole(0, FlowId::MAX as u64)]);
const FLOW_NAMES: Kind = Kind::OneOrMany(&FLOW);
/// Of tables that stand on links.
pub(crate) const LINKS: Key = key("links", NAMES, "names or wildcards, one or a list; the core unless given");

impl By {
    pub(crate) fn read(own: &Table<'_>, default: Rule) -> Result<By> {
        Ok(By {
            flows: own.optional("flows", FlowNames::read)?,
            rule: own.optional("by", |field| field.choice(&RULES))?.unwrap_or(default),
        })
    }

    /// The class of each flow; errors name the table at `path`.
    pub(crate) fn classes(&self, flows: &[NamedFlow<'_>], path: &str) -> Result<Classes> {
        let mut classes = Classes {
            of: vec![Classes::NONE; flows.len()],
            names: Vec::new(),
            are_flows: self.rule == Rule::Flow,
        };
        for flow in chosen(self.flows.as_ref(), flows)? {
            let spec = &flows[flow as usize];
            let name = match self.rule {
                Rule::All => "all",
                Rule::Flow => spec.name,
                Rule::Traffic => spec.traffic,
                Rule::Pacing if spec.is_paced => "paced",
                Rule::Pacing => "unpaced",
            };
            let known = match self.rule {
                Rule::Flow => None,
                _ => classes.names.iter().position(|known| known == name),
            };
            let class = known.unwrap_or(classes.names.len());
            if class == classes.names.len() {
                if class == MOST_CLASSES {
                    let problem = format!(
                        "more than {MOST_CLASSES} classes; name fewer in flows, or write by = \"traffic\""
                    );
                    return Err(ScenarioError::at(path, problem));
                }
                classes.names.push(name.to_owned());
            }
            classes.of[flow as usize] = class as u32;
        }
        Ok(classes)
    }
}

pub(crate) fn chosen(named: Option<&FlowNames>, flows: &[NamedFlow<'_>]) -> Result<Vec<FlowId>> {
    match named {
        Some(named) => named.find(flows),
        None => Ok((0..flows.len() as FlowId).collect()),
    }
}

impl FlowName {
    pub(crate) fn read(field: &Field<'_>) -> Result<FlowName> {
        match field.value() {
            Value::String(name) => Ok(FlowName::Name(name.clone())),
            _ => field.whole(0, u64::from(FlowId::MAX)).map(FlowName::Number),
        }
    }
}

impl FlowNames {
    pub(crate) fn read(field: &Field<'_>) -> Result<FlowNames> {
        let names = field.one_or_many().iter().map(FlowName::read).collect::<Result<Vec<_>>>()?;
        if names.is_empty() {
            return Err(field.wrong("an empty list; write for example [\"bulk.0\"]"));
        }
        Ok(FlowNames { path: field.path().to_owned(), names })
    }

    /// Each once, in the order of their numbers.
    pub(crate) fn find(&self, flows: &[NamedFlow<'_>]) -> Result<Vec<FlowId>> {
        let mut found = vec![false; flows.len()];
        for name in &self.names {
            let mut any = false;
            for (id, flow) in flows.iter().enumerate() {
                let named = match name {
                    FlowName::Number(number) => *number == id as u64,
                    FlowName::Name(name) if name.contains('*') => matches(name, flow.name),
                    FlowName::Name(name) => flow.name == *name || flow.traffic == name,
                };
                found[id] |= named;
                any |= named;
            }
            if !any {
                return Err(self.unknown(name, flows));
            }
        }
        Ok((0..flows.len() as FlowId).filter(|flow| found[*flow as usize]).collect())
    }

    fn unknown(&self, name: &FlowName, flows: &[NamedFlow<'_>]) -> ScenarioError {
        let problem = match name {
            FlowName::Number(number) => format!("{number} is no flow; write 0 to {}", flows.len() - 1),
            FlowName::Name(name) => {
                let known = flows.iter().flat_map(|flow| [flow.name, flow.traffic]);
                let meant = suggestion(name, known, || format!("the first flow is \"{}\"", flows[0].name));
                format!("\"{}\" is no flow here; {meant}", shortened(name))
            }
        };
        ScenarioError::at(&self.path, problem)
    }
}
