//! A pacer from its settings to its summary: it sets up two interfaces, runs a thread for each direction, and puts the
//! interfaces back. Where it fails it leaves them so that traffic passes by itself.

mod checks;
mod lane;
mod ports;
mod take_over;
mod work;

use paceline_core::Span;
use serde_json::Value;

use crate::config::{Arguments, BackEnd, Config, ConfigError};
use crate::metrics;
use crate::sys::capability::{BPF, NET_ADMIN, NET_RAW};
use crate::sys::interface::Interface;
use crate::sys::links::Links;
use crate::sys::signal::Held;
use crate::sys::thread;
use checks::{both, interface, permitted, refuse_what_is_used};
pub use lane::Lane;
use take_over::{Leftovers, lock};
use work::Run;

/// Below what the kernel's own threads have.
const PRIORITY: u8 = 20;
/// How often what is shown is drawn again, and its programs are looked after.
const SHOWN: Span = Span::from_millis(500);

/// Why a pacer ended without having paced, or before it was told to.
#[derive(Debug)]
pub enum PaceError {
    /// It was told something wrong.
    Config(ConfigError),
    /// The system would not, in a line.
    System(String),
    /// It has paced and then failed, in a line; what it has paced.
    Failed(String, Value),
}

impl From<ConfigError> for PaceError {
    fn from(error: ConfigError) -> Self {
        PaceError::Config(error)
    }
}

impl From<String> for PaceError {
    fn from(problem: String) -> Self {
        PaceError::System(problem)
    }
}

/// Paces until a signal says stop. The summary.
pub fn run(arguments: &Arguments, say: &mut dyn FnMut(&str)) -> Result<Value, PaceError> {
    let config = Config::read(arguments)?;
    let (input, output) = both(&config)?;
    thread::name("paceline-pace");
    let needed: &[_] = if config.bypass { &[NET_RAW, NET_ADMIN, BPF] } else { &[NET_RAW, NET_ADMIN] };
    permitted(needed)?;
    let explain = |error: std::io::Error| format!("news of the interfaces: {error}");
    let links = Links::watch().map_err(explain)?; // before they are looked at
    let interfaces = [interface("--in", &input)?, interface("--out", &output)?];
    for interface in &interfaces {
        if !interface.is_up().map_err(|error| format!("{}: {error}", interface.name))? {
            return Err(format!("{0} is down; say: ip link set {0} up", interface.name).into());
        }
    }
    if !arguments.force {
        refuse_what_is_used("--in", &interfaces[0])?;
        refuse_what_is_used("--out", &interfaces[1])?;
    }
    let [from, to] = &interfaces;
    let specs = [config.forward.spec(to.speed())?, config.reverse.spec(from.speed())?];
    let listener = config.metrics.map(metrics::listen).transpose()?;
    let _locks = lock(&interfaces)?;
    let leftovers = Leftovers::on(&interfaces)?;
    let [inherited, inherited_back] = leftovers.changed();

    let held = Held::new().map_err(|error| format!("signals: {error}"))?;
    let [first, second] = interfaces;
    let back = [Interface::named(&second.name)?, Interface::named(&first.name)?];
    let forward = Lane::open("forward", [first, second], inherited, &config)?;
    let reverse = Lane::open("reverse", back, inherited_back, &config).inspect_err(|_| forward.undo(say))?;
    let lanes = [forward, reverse];
    let chunk = lanes.iter().filter_map(|lane| ports::chunk_for(lane.to.mtu().ok()?)).max();
    let run = Run { arguments, held: &held, links: &links, lanes: &lanes, leftovers: &leftovers, chunk };
    let result = match config.back_end {
        BackEnd::AfPacket => ports::packet_ports(&config, &lanes)
            .and_then(|ports| run.pace(config, ports, specs, listener, say)),
        BackEnd::AfXdp | BackEnd::AfXdpZeroCopy => ports::xdp_ports(&config, &lanes, say)
            .and_then(|ports| run.pace(config, ports, specs, listener, say)),
    };
    match &result {
        Ok(_) => lanes.iter().for_each(|lane| lane.close(say)),
        Err(PaceError::Failed(..)) => {} // traffic passes by what is there
        Err(_) => lanes.iter().for_each(|lane| lane.undo(say)),
    }
    result
}

/// Takes away what a killed pacer left.
pub fn restore(arguments: &Arguments, say: &mut dyn FnMut(&str)) -> Result<(), PaceError> {
    let config = Config::read(arguments)?;
    let (input, output) = both(&config)?;
    permitted(&[NET_RAW, NET_ADMIN, BPF])?;
    let interfaces = [interface("--in", &input)?, interface("--out", &output)?];
    let _locks = lock(&interfaces)?;
    let leftovers = Leftovers::on(&interfaces)?;
    let changed = leftovers.changed();
    leftovers.remove(interfaces.each_ref(), say)?;
    for (interface, changed) in interfaces.iter().zip(changed) {
        interface.restore(changed).map_err(|error| format!("{}: {error}", interface.name))?;
    }
    Ok(())
}
