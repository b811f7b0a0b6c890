//! Finding links and hosts by name, by group or by wildcard: a star stands for any characters but dots.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::compile::layout::{Laid, Layout};
use crate::input::{Field, Result, ScenarioError, matches, shortened, suggestion};
use crate::network::{HostId, LinkId, Name};

/// Positions by name. They are listed when the first one is asked for: most large networks name nothing.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    layout: &'a Layout,
    links: OnceCell<HashMap<&'a str, LinkId>>,
    hosts: OnceCell<HashMap<&'a str, HostId>>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(layout: &'a Layout) -> Self {
        Names { layout, links: OnceCell::new(), hosts: OnceCell::new() }
    }

    fn all_links(&self) -> &HashMap<&'a str, LinkId> {
        let all = || self.layout.links.iter().zip(0..).map(|(link, i)| (link.name.as_str(), i)).collect();
        self.links.get_or_init(all)
    }

    fn all_hosts(&self) -> &HashMap<&'a str, HostId> {
        self.hosts
            .get_or_init(|| self.layout.hosts.iter().zip(0..).map(|(host, i)| (host.as_str(), i)).collect())
    }

    /// One link.
    pub(crate) fn link(&self, path: &str, name: &str) -> Result<LinkId> {
        self.all_links().get(name).copied().ok_or_else(|| {
            let known = self.layout.links.iter().map(|link| link.name.as_str());
            let meant = suggestion(name, known, || self.some_links());
            unknown(path, name, "link", &meant)
        })
    }

    /// A link of each kind, for errors.
    fn some_links(&self) -> String {
        let mut seen = vec![false; self.layout.stages.len()];
        let first = |link: &&Laid| !std::mem::replace(&mut seen[link.stage as usize], true);
        some(self.layout.links.iter().filter(first).map(|link| link.name.as_str()))
    }

    /// Groups and a few hosts, for errors.
    fn some_hosts(&self) -> String {
        let groups = self.layout.groups.iter().map(|(group, _)| group.as_str());
        some(groups.chain(self.layout.hosts.iter().map(Name::as_str)))
    }

    /// Links by name or wildcard, each once, in the order in which they are named.
    pub(crate) fn links(&self, named: &NameList) -> Result<Vec<LinkId>> {
        let mut found = Vec::new();
        for name in &named.names {
            if name.contains('*') {
                let all = self.layout.links.iter().enumerate();
                let matching = all.filter(|(_, link)| matches(name, &link.name)).map(|(i, _)| i as LinkId);
                let before = found.len();
                found.extend(matching);
                if found.len() == before {
                    return Err(unmatched(&named.path, name, "link", &self.some_links()));
                }
            } else {
                found.push(self.link(&named.path, name)?);
            }
        }
        Ok(each_once(found, self.layout.links.len()))
    }

    /// Hosts by name, group or wildcard, each once, in the order in which they are named.
    pub(crate) fn hosts(&self, named: &NameList) -> Result<Vec<HostId>> {
        let mut found: Vec<HostId> = Vec::new();
        for name in &named.names {
            if let Some((_, group)) = self.layout.groups.iter().find(|(group, _)| group == name) {
                found.extend(group.clone());
            } else if let Some(host) = self.all_hosts().get(name.as_str()) {
                found.push(*host);
            } else if name.contains('*') {
                let all = self.layout.hosts.iter().enumerate();
                let before = found.len();
                found.extend(all.filter(|(_, host)| matches(name, host)).map(|(i, _)| i as HostId));
                if found.len() == before {
                    return Err(unmatched(&named.path, name, "host", &self.some_hosts()));
                }
            } else {
                let groups = self.layout.groups.iter().map(|(group, _)| group.as_str());
                let known = groups.chain(self.layout.hosts.iter().map(Name::as_str));
                let meant = suggestion(name, known, || self.some_hosts());
                return Err(unknown(&named.path, name, "host or group", &meant));
            }
        }
        Ok(each_once(found, self.layout.hosts.len()))
    }
}

/// Links by name or wildcard, or hosts by name, group or wildcard.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NameList {
    /// Where they are written.
    pub(crate) path: String,
    /// As they are written.
    pub(crate) names: Vec<String>,
}

impl NameList {
    /// A name, or a list of names.
    pub(crate) fn read(field: &Field<'_>) -> Result<NameList> {
        let names = field.one_or_many();
        let names: Vec<String> =
            names.iter().map(|name| name.text().map(str::to_owned)).collect::<Result<_>>()?;
        if names.is_empty() {
            return Err(field.wrong("an empty list; write at least one name"));
        }
        Ok(NameList { path: field.path().to_owned(), names })
    }
}

fn some<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.take(5).collect();
    format!("there are for example {}", names.join(", "))
}

fn unknown(path: &str, name: &str, what: &str, meant: &str) -> ScenarioError {
    ScenarioError::at(path, format!("\"{}\" is no {what} here; {meant}", shortened(name)))
}

fn unmatched(path: &str, name: &str, what: &str, some: &str) -> ScenarioError {
    let name = shortened(name);
    let problem = format!("\"{name}\" matches no {what} (a star stands for any characters but dots); {some}");
    ScenarioError::at(path, problem)
}

fn each_once(found: Vec<u32>, of: usize) -> Vec<u32> {
    let mut seen = vec![false; of];
    found.into_iter().filter(|&id| !std::mem::replace(&mut seen[id as usize], true)).collect()
}
