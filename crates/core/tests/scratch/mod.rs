//! A scratch copy of a crate, into which the tests called `adding.rs` put something.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use std::fs;
use std::path::Path;

/// Copies a folder whole.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let file = entry.unwrap().path();
        let target = to.join(file.file_name().unwrap());
        if file.is_dir() { copy(&file, &target) } else { fs::copy(&file, &target).map(drop).unwrap() }
    }
}

/// Puts a line after the first line of a file that ends so.
pub(crate) fn insert(file: &Path, before: &str, line: &str) {
    let text = fs::read_to_string(file).unwrap();
    let place = text.find(before).unwrap() + before.len();
    fs::write(file, format!("{}{line}\n{}", &text[..place], &text[place..])).unwrap();
}
