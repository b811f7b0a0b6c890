//! The applications of `paceline emulate`, which starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    match paceline_emulation::traffic::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("paceline-traffic: {what}");
            ExitCode::FAILURE
        }
    }
}
