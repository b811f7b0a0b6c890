//! The applications of `paceline emulate`, which starts it.

fn main() -> std::process::ExitCode {
    paceline_emulation::main_of("paceline-traffic")
}
