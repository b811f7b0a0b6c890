//! The emulated network of `paceline emulate`, which starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    match paceline_emulation::wires::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("paceline-wires: {what}");
            ExitCode::FAILURE
        }
    }
}
