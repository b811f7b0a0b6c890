//! The files of `src` form no circle of imports: each can be read after those that it uses.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The source of every module, by the path of the module in the crate, without comments and tests.
fn modules(folder: &Path, path: &[String], found: &mut BTreeMap<Vec<String>, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let inner = [path, std::slice::from_ref(&name)].concat();
        if file.is_dir() {
            modules(&file, &inner, found);
        } else if name != "tests" {
            let module = if name == "mod" || name == "lib" { path.to_vec() } else { inner };
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let lines = code.lines().map(|line| line.split("//").next().unwrap());
            found.insert(module, lines.collect::<Vec<_>>().join(" "));
        }
    }
}

/// The paths that a text after `crate::`, `super::` or `use ` begins with: one, or those of a group in braces.
fn paths(text: &str) -> Vec<Vec<String>> {
    let end = text.find(|one: char| !one.is_alphanumeric() && !"_:".contains(one)).unwrap_or(text.len());
    let path: Vec<String> = text[..end].split("::").map(str::to_owned).collect();
    let Some(group) = text[end..].strip_prefix('{').filter(|_| text[..end].ends_with("::") || end == 0)
    else {
        return vec![path];
    };
    let items = group.split('}').next().unwrap().split(',');
    let start = &path[..path.len() - 1];
    items.map(|item| [start, &[item.trim().split([':', '{']).next().unwrap().to_owned()]].concat()).collect()
}

/// The modules that a module uses.
fn used(module: &[String], code: &str, all: &BTreeMap<Vec<String>, String>) -> BTreeSet<Vec<String>> {
    let parent = &module[..module.len().saturating_sub(1)];
    let mut used = BTreeSet::new();
    for (start, base) in [("crate::", &[][..]), ("super::", parent), ("use ", module)] {
        for (place, _) in code.match_indices(start) {
            for path in paths(&code[place + start.len()..]) {
                let full = [base, &path].concat();
                // The longest part of the path that is a module; `use` of another crate is none.
                let found = (base.len()..=full.len()).rev().find(|end| all.contains_key(&full[..*end]));
                used.extend(
                    found.filter(|end| start != "use " || *end > base.len()).map(|end| full[..end].to_vec()),
                );
            }
        }
    }
    used.remove(module);
    used
}

#[test]
fn no_files_use_each_other() {
    let mut all = BTreeMap::new();
    modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &[], &mut all);
    assert!(all.len() > 40);
    let uses: BTreeMap<_, _> = all.iter().map(|(module, code)| (module, used(module, code, &all))).collect();
    let state = vec!["state".to_owned()];
    assert!(uses[&vec!["recovery".to_owned(), "reno".to_owned()]].contains(&state), "{uses:?}");
    let reached = |from: &Vec<String>| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            open.extend(uses[module].iter().filter(|next| reached.insert((*next).clone())));
        }
        reached
    };
    let reach: BTreeMap<_, _> = all.keys().map(|module| (module, reached(module))).collect();
    for (module, reaches) in &reach {
        let circle: Vec<_> = reaches.iter().filter(|other| reach[other].contains(*module)).collect();
        assert!(circle.is_empty(), "{circle:?}");
    }
}
