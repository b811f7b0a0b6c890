//! A pacer from its settings to its summary: it sets up two interfaces, runs a thread for each direction, and puts the
//! interfaces back. Where it fails it leaves them so that traffic passes by itself.

mod checks;
mod lane;
pub(crate) mod life;
mod ports;
mod take_over;
mod work;

use paceline_core::Span;
use serde_json::Value;

use crate::config::{Arguments, BackEnd, Config, ConfigError};
use crate::lane::LaneSpec;
use crate::metrics::{self, Listener};
use crate::port::Port;
use crate::sys::capability::{BPF, NET_ADMIN, NET_RAW};
use crate::sys::interface::Interface;
use crate::sys::kernel::Linux;
use crate::sys::links::Links;
use crate::sys::signal::Held;
use crate::sys::thread;
use checks::{both, interface, permitted, refuse_what_is_used};
pub use lane::Lane;
use life::{Say, live};
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
    let interfaces = [interface(&Linux, "--in", &input)?, interface(&Linux, "--out", &output)?];
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
    let pacer = Pacer { arguments, config: &config, links: &links, specs, listener };
    match config.back_end {
        BackEnd::AfPacket => {
            let ports = |lanes: &[Lane; 2], _: Say<'_>| {
                ports::packet_ports(&config, lanes).map(|ports| (None, ports))
            };
            pacer.live(interfaces, ports, say)
        }
        BackEnd::AfXdp | BackEnd::AfXdpZeroCopy => {
            let ports = |lanes: &[Lane; 2], say: Say<'_>| {
                let chunk = lanes.iter().filter_map(|lane| ports::chunk_for(lane.to.mtu().ok()?)).max();
                ports::xdp_ports(&config, lanes, say).map(|ports| (chunk, ports))
            };
            pacer.live(interfaces, ports, say)
        }
    }
}

/// What it paces by, whatever its ports are.
struct Pacer<'a> {
    arguments: &'a Arguments,
    config: &'a Config,
    links: &'a Links,
    specs: [LaneSpec; 2],
    listener: Option<Listener>,
}

impl Pacer<'_> {
    /// Its life with such ports, and with chunks of that size for AF_XDP.
    fn live<P: Port + Send + 'static>(
        self,
        interfaces: [Interface; 2],
        ports: impl FnOnce(&[Lane; 2], Say<'_>) -> Result<(Option<u32>, Vec<P>), PaceError>,
        say: Say<'_>,
    ) -> Result<Value, PaceError>
    where
        P::Handle: Send,
    {
        let Pacer { arguments, config, links, specs, listener } = self;
        let begin = || Held::new().map_err(|error| format!("signals: {error}"));
        let work = |lanes: &_, held: &_, (chunk, ports), say: Say<'_>| {
            Run { arguments, held, links, lanes, chunk }.work(config.clone(), ports, specs, listener, say)
        };
        live(interfaces, config, say, begin, ports, work)
    }
}

/// Takes away what a killed pacer left.
pub fn restore(arguments: &Arguments, say: &mut dyn FnMut(&str)) -> Result<(), PaceError> {
    let config = Config::read(arguments)?;
    let (input, output) = both(&config)?;
    permitted(&[NET_RAW, NET_ADMIN, BPF])?;
    life::restore(&Linux, [&input, &output], say)
}
