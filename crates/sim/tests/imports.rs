//! The rooms of `src` lie one above the other, and files form no large circle of imports (docs/adr/0009-rooms-of-the-simulator.md).

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Folders of `src`, lowest first, and files at its root: each imports only what comes before it.
const ROOMS: [&str; 12] = [
    "ablation",
    "control",
    "kernel",
    "input",
    "workload",
    "instrument",
    "varying",
    "network",
    "model",
    "observe",
    "compile",
    "engine",
];
/// Imports against that order which stand today. Entries may go, and none may come.
const UPWARDS: [(&str, &str); 0] = [];
/// The most files that may import each other.
const CIRCLE: usize = 3;
/// Files of which more import each other today. Entries may go, and none may come.
const ENTANGLED: [&str; 0] = [];

type Module = Vec<String>;

/// The source of every module, by its path in the crate, without comments and tests.
fn modules(folder: &Path, path: &[String], found: &mut BTreeMap<Module, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let inner = [path, std::slice::from_ref(&name)].concat();
        if name == "tests" {
            continue;
        }
        if file.is_dir() {
            modules(&file, &inner, found);
            continue;
        }
        let module = if name == "mod" || name == "lib" { path.to_vec() } else { inner };
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let lines = code.lines().map(|line| line.split("//").next().unwrap());
        found.insert(module, lines.collect::<Vec<_>>().join(" "));
    }
}

/// The paths that a text after `crate::`, `super::` or `use ` begins with: one, or those of a group in braces.
fn paths(text: &str) -> Vec<Module> {
    let end = text.find(|one: char| !one.is_alphanumeric() && !"_:".contains(one)).unwrap_or(text.len());
    let path: Module = text[..end].split("::").map(str::to_owned).collect();
    let Some(group) = text[end..].strip_prefix('{').filter(|_| text[..end].ends_with("::") || end == 0)
    else {
        return vec![path];
    };
    let items = group.split('}').next().unwrap().split(',');
    let start = &path[..path.len() - 1];
    items
        .map(|item| [start, &[item.trim().split([':', '{', ' ']).next().unwrap().to_owned()]].concat())
        .collect()
}

/// The modules that a module imports.
fn imports(module: &[String], code: &str, all: &BTreeMap<Module, String>) -> BTreeSet<Module> {
    let mut imports = BTreeSet::new();
    for start in ["crate::", "super::", "self::", "use "] {
        for (place, _) in code.match_indices(start) {
            let mut rest = &code[place + start.len()..];
            let mut base = match start {
                "crate::" => &[][..],
                "super::" if code[..place].ends_with("super::") => continue,
                "super::" => &module[..module.len().saturating_sub(1)],
                _ => module,
            };
            while let Some(outer) = rest.strip_prefix("super::") {
                (rest, base) = (outer, &base[..base.len().saturating_sub(1)]);
            }
            for path in paths(rest) {
                let full = [base, &path].concat();
                // The longest part of the path that is a module; `use` of another crate is none.
                let found = (base.len()..=full.len()).rev().find(|end| all.contains_key(&full[..*end]));
                let found = found.filter(|end| start != "use " || *end > base.len());
                imports.extend(found.map(|end| full[..end].to_vec()));
            }
        }
    }
    // A file names those in its folder without a word before.
    for child in all.keys().filter(|other| other.len() == module.len() + 1 && other.starts_with(module)) {
        let start = format!("{}::", child[module.len()]);
        let is_named = |(place, _): (usize, &str)| {
            !code[..place].ends_with(|before: char| before.is_alphanumeric() || "_:".contains(before))
        };
        if code.match_indices(&start).any(is_named) {
            imports.insert(child.clone());
        }
    }
    imports.remove(module);
    imports
}

/// What every file of `src` imports.
fn graph() -> BTreeMap<Module, BTreeSet<Module>> {
    let mut all = BTreeMap::new();
    modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &[], &mut all);
    all.iter()
        .filter(|(module, _)| !module.is_empty())
        .map(|(module, code)| (module.clone(), imports(module, code, &all)))
        .collect()
}

fn name(module: &[String]) -> String {
    module.join("/")
}

#[test]
fn each_room_imports_only_those_below_it() {
    let graph = graph();
    assert!(graph.len() > 100);
    let place =
        |module: &Module| ROOMS.iter().position(|room| module.first().is_some_and(|name| name == room));
    let mut upwards = BTreeSet::new();
    for (module, imports) in &graph {
        let own = place(module).unwrap_or_else(|| panic!("{} is in no room", name(module)));
        for other in imports {
            // The root of the crate exports what users see.
            if place(other).is_none_or(|other| other > own) {
                upwards.insert((name(module), name(other)));
            }
        }
    }
    let known = UPWARDS.map(|(from, to)| (from.to_owned(), to.to_owned())).into();
    assert_eq!(upwards, known);
}

#[test]
fn files_form_no_large_circle() {
    let graph = graph();
    let reached = |from: &Module| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            open.extend(
                graph.get(module).into_iter().flatten().filter(|next| reached.insert((*next).clone())),
            );
        }
        reached
    };
    let reach: BTreeMap<_, _> = graph.keys().map(|module| (module, reached(module))).collect();
    let mut entangled = BTreeSet::new();
    for (module, reaches) in &reach {
        let circle: BTreeSet<_> = reaches
            .iter()
            .filter(|other| reach.get(other).is_some_and(|back| back.contains(*module)))
            .collect();
        if circle.len() > CIRCLE {
            entangled.extend(circle.into_iter().map(|module| name(module)));
        }
    }
    assert_eq!(entangled, ENTANGLED.map(str::to_owned).into());
}
