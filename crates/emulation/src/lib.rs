//! What `paceline emulate` runs beside the kernel.
//!
//! `paceline-wires` is the network: every link of a scenario in one process and in virtual time, between TUN devices
//! behind which Linux's own TCP works. `paceline-traffic` is the applications: sockets in these network namespaces. Both
//! are started by `python/paceline/emulate`, which makes the namespaces and devices and hands their descriptors over:
//! a line of JSON on standard input says what to do, `ready` on standard output that it is set up, `start` and a time
//! of the monotonic clock when to begin, and a line of JSON on standard output what was found.

#[cfg(target_os = "linux")]
mod dialogue;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
mod traffic;
#[cfg(target_os = "linux")]
pub mod wires;

/// A program's whole work; a line for people if it fails.
pub type Program = fn() -> Result<(), String>;

/// The program of that name, where it can run.
///
/// ```
/// assert!(paceline_emulation::program("paceline-rockets").is_none());
/// assert_eq!(paceline_emulation::program("paceline-wires").is_some(), cfg!(target_os = "linux"));
/// ```
#[must_use]
pub fn program(name: &str) -> Option<Program> {
    #[cfg(target_os = "linux")]
    match name {
        "paceline-wires" => return Some(wires::run),
        "paceline-traffic" => return Some(traffic::run),
        _ => {}
    }
    let _ = name;
    None
}

/// `main` of the program of that name.
#[must_use]
pub fn main_of(name: &str) -> std::process::ExitCode {
    let done = program(name).map_or_else(|| Err("needs Linux".to_owned()), |run| run());
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("{name}: {what}");
            std::process::ExitCode::FAILURE
        }
    }
}
