//! The emulated network of `paceline emulate`, which starts it.

fn main() -> std::process::ExitCode {
    paceline_emulation::main_of("paceline-wires")
}
