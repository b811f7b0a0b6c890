//! The program `paceline-pace`.

fn main() {
    std::process::exit(paceline_dataplane::command::run("paceline-pace", std::env::args_os().skip(1)));
}
