//! What must be so before anything is changed: interfaces that are there, bare and up, and the capabilities that are needed.

use crate::config::{Config, ConfigError};
use crate::sys::capability;
use crate::sys::interface::Interface;
use crate::sys::system::System;
use crate::sys::use_of::use_of;

pub(super) fn interface<S: System>(system: &S, flag: &str, name: &str) -> Result<Interface<S>, ConfigError> {
    Interface::of(system, name).map_err(|problem| ConfigError(format!("{flag}: {problem}")))
}

pub(super) fn both(config: &Config) -> Result<(String, String), ConfigError> {
    match (&config.input, &config.output) {
        (Some(input), Some(output)) if input == output => {
            Err(ConfigError(format!("--out: is {output}, as --in is; write two interfaces")))
        }
        (Some(input), Some(output)) => Ok((input.clone(), output.clone())),
        (None, _) => {
            Err(ConfigError("--in: names no interface; write for example --in eth1 --out eth2".to_owned()))
        }
        (_, None) => {
            Err(ConfigError("--out: names no interface; write for example --in eth1 --out eth2".to_owned()))
        }
    }
}

/// Frames to an interface that is paced pass on by the other one: what the machine itself uses it for would end.
pub(super) fn refuse_what_is_used(flag: &str, interface: &Interface) -> Result<(), ConfigError> {
    let Some(used) = use_of(&interface.name) else { return Ok(()) };
    Err(ConfigError(format!(
        "{flag}: {} {used}, and would be cut off from this machine; name a bare interface, or write --force",
        interface.name
    )))
}

/// Says which capability is missing, and how to grant it.
pub(super) fn permitted(needed: &[capability::Capability]) -> Result<(), String> {
    let Some(missing) = capability::missing(needed) else { return Ok(()) };
    let grant = how_to_grant(std::env::current_exe().ok().as_deref());
    Err(format!("lacks {} {}; {grant}", missing.name, missing.purpose))
}

/// A file's capabilities are those of all that it runs: they are for the program that only paces, never for the Python
/// interpreter, where every script would have them.
fn how_to_grant(running: Option<&std::path::Path>) -> String {
    let name = "paceline-pace";
    let itself = running.filter(|path| path.file_name().is_some_and(|file| file == name));
    let program = itself.map_or_else(|| format!("/usr/local/bin/{name}"), |path| path.display().to_string());
    let grant =
        format!("sudo setcap cap_net_raw,cap_net_admin,cap_bpf,cap_sys_nice,cap_ipc_lock+ep {program}");
    match itself {
        Some(_) => format!("run it as root, or grant it: {grant}"),
        None => format!(
            "run it as root, or as the service {name}, or grant it to the compiled program {name} alone \
             (docs/dataplane.md): {grant}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::how_to_grant;
    use std::path::Path;

    #[test]
    fn capabilities_are_never_advised_for_an_interpreter() {
        for running in [Some("/usr/bin/python3.11"), Some("/opt/venv/bin/python"), None] {
            let advice = how_to_grant(running.map(Path::new));
            assert!(!advice.contains("python"), "{advice}");
            assert!(advice.ends_with(" /usr/local/bin/paceline-pace"), "{advice}");
        }
        assert!(how_to_grant(Some(Path::new("/opt/paceline-pace"))).ends_with(" /opt/paceline-pace"));
    }
}
