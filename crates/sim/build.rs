//! The fingerprint of the simulator: a hash of all sources that results come from, so that a store knows a rebuilt core.
//!
//! Those are this crate's and the crates' below it, and the versions of what they depend on (`Cargo.lock`). FNV-1a, 64 bits:
//! two builds must not be taken for one by accident, and there is nothing to gain by forging one.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Beside this crate, in the order of their names.
const CRATES: [&str; 4] = ["capture", "core", "sim", "tcp"];

fn main() -> io::Result<()> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let crates = own.join("..");
    let mut files = vec![crates.join("../Cargo.lock")];
    for name in CRATES {
        files.push(crates.join(name).join("Cargo.toml"));
        collect(&crates.join(name).join("src"), &mut files)?;
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for path in files.iter().filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.strip_prefix(&crates).unwrap_or(path).to_string_lossy().replace('\\', "/");
        let text = fs::read(path)?;
        let length = (text.len() as u64).to_le_bytes();
        for byte in name.bytes().chain(length).chain(text) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    for name in CRATES {
        println!("cargo::rerun-if-changed={}", crates.join(name).join("src").display());
    }
    println!("cargo::rustc-env=PACELINE_FINGERPRINT={hash:016x}");
    Ok(())
}

/// Every file of a folder and of the folders in it.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
