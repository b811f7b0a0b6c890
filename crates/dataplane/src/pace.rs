//! A pacer from its settings to its summary: it sets up two interfaces, runs a thread for each direction, and puts the
//! interfaces back.

mod ports;

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use paceline_core::Span;
use serde_json::{Value, json};

use crate::bypass::{Bypass, Leftover};
use crate::config::{Arguments, BackEnd, Config, ConfigError, DirectionConfig};
use crate::direction::{Direction, Orders};
use crate::meters::Meters;
use crate::metrics::{self, Told};
use crate::port::Port;
use crate::summary::{self, Bypassed};
use crate::sys::capability::{self, BPF, NET_ADMIN, NET_RAW};
use crate::sys::interface::{Changed, Interface};
use crate::sys::signal::{Held, Signal};
use crate::sys::use_of::use_of;
use crate::sys::{clock, thread};
use crate::top::Top;

/// Below what the kernel's own threads have.
const PRIORITY: u8 = 20;
/// How often what is shown is drawn again.
const SHOWN: Span = Span::from_millis(500);

/// Why a pacer ended without having paced.
#[derive(Debug)]
pub enum PaceError {
    /// It was told something wrong.
    Config(ConfigError),
    /// The system would not, in a line.
    System(String),
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

/// A direction as others see it.
#[derive(Debug)]
pub struct Lane {
    /// `forward` or `reverse`.
    pub name: &'static str,
    /// The interface that frames come from.
    pub from: Interface,
    /// What is measured.
    pub meters: Arc<Meters>,
    /// What lets traffic go past it.
    pub bypass: Option<Arc<Bypass>>,
    orders: Arc<Orders>,
    changed: Changed,
}

impl Lane {
    /// Puts the gate at `from`, open, and changes its settings.
    fn open(
        name: &'static str,
        from: Interface,
        to: &Interface,
        inherited: Changed,
        config: &Config,
    ) -> Result<Lane, String> {
        let bypass = match config.bypass {
            true => Some(Arc::new(Bypass::install(&from, to, config.patience)?)),
            false => None,
        };
        let settings = from.prepare().map_err(|error| format!("{}: settings: {error}", from.name))?;
        let changed = Changed(settings.0 | inherited.0);
        if let Some(bypass) = &bypass {
            bypass.note_changed(changed);
        }
        Ok(Lane { name, from, meters: Arc::default(), bypass, orders: Arc::default(), changed })
    }

    /// Puts everything back.
    fn close(&self, say: &mut dyn FnMut(&str)) {
        if let Some(bypass) = &self.bypass {
            bypass.remove();
        }
        if let Err(error) = self.from.restore(self.changed) {
            say(&format!("{}: its settings could not be put back: {error}", self.from.name));
        }
    }

    fn told(&self) -> Told {
        Told { name: self.name, meters: Arc::clone(&self.meters), bypass: self.bypass.clone() }
    }

    /// What went past it.
    pub fn bypassed(&self) -> Option<Bypassed> {
        use std::sync::atomic::Ordering::Relaxed;
        let state = self.bypass.as_ref()?.state();
        let (packets, bytes) = (state.bypassed.load(Relaxed), state.bypassed_bytes.load(Relaxed));
        Some(Bypassed { packets, bytes, trips: state.trips.load(Relaxed) })
    }
}

/// Paces until a signal says stop. The summary.
pub fn run(arguments: &Arguments, say: &mut dyn FnMut(&str)) -> Result<Value, PaceError> {
    let mut config = Config::read(arguments)?;
    let (input, output) = both(&config)?;
    thread::name("paceline-pace"); // what `Leftover` knows it by
    let needed: &[_] = if config.bypass { &[NET_RAW, NET_ADMIN, BPF] } else { &[NET_RAW, NET_ADMIN] };
    permitted(needed)?;
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
    let inherited = take_over(&interfaces, say)?;

    let held = Held::new();
    let [first, second] = interfaces;
    let to = [Interface::named(&second.name)?, Interface::named(&first.name)?];
    let mut lanes = Vec::new();
    for (((name, from), to), inherited) in
        ["forward", "reverse"].into_iter().zip([first, second]).zip(&to).zip(inherited)
    {
        match Lane::open(name, from, to, inherited, &config) {
            Ok(lane) => lanes.push(lane),
            Err(problem) => {
                lanes.iter().for_each(|lane: &Lane| lane.close(say));
                return Err(problem.into());
            }
        }
    }
    let run = Run { arguments, held, to: &to };
    let result = match config.back_end {
        BackEnd::AfPacket => ports::packet_ports(&config, &lanes, &to)
            .and_then(|ports| run.pace(&mut config, &lanes, ports, specs, say)),
        BackEnd::AfXdp | BackEnd::AfXdpZeroCopy => ports::xdp_ports(&config, &mut lanes, say)
            .and_then(|ports| run.pace(&mut config, &lanes, ports, specs, say)),
    };
    for lane in &lanes {
        lane.close(say);
    }
    result
}

/// Takes away what a killed pacer left.
pub fn restore(arguments: &Arguments, say: &mut dyn FnMut(&str)) -> Result<(), PaceError> {
    let config = Config::read(arguments)?;
    let (input, output) = both(&config)?;
    permitted(&[NET_ADMIN, BPF])?;
    let interfaces = [interface("--in", &input)?, interface("--out", &output)?];
    let changed = take_over(&interfaces, say)?;
    for (interface, changed) in interfaces.iter().zip(changed) {
        interface.restore(changed).map_err(|error| format!("{}: {error}", interface.name))?;
    }
    Ok(())
}

fn interface(flag: &str, name: &str) -> Result<Interface, ConfigError> {
    Interface::named(name).map_err(|problem| ConfigError(format!("{flag}: {problem}")))
}

fn both(config: &Config) -> Result<(String, String), ConfigError> {
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
fn refuse_what_is_used(flag: &str, interface: &Interface) -> Result<(), ConfigError> {
    let Some(used) = use_of(&interface.name) else { return Ok(()) };
    Err(ConfigError(format!(
        "{flag}: {} {used}, and would be cut off from this machine; name a bare interface, or write --force",
        interface.name
    )))
}

/// Says which capability is missing, and how to grant it.
fn permitted(needed: &[capability::Capability]) -> Result<(), String> {
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

/// Removes what an earlier run left on each interface: settings to put back.
fn take_over(interfaces: &[Interface; 2], say: &mut dyn FnMut(&str)) -> Result<[Changed; 2], PaceError> {
    let mut changed = [Changed::default(); 2];
    for (interface, changed) in interfaces.iter().zip(&mut changed) {
        for leftover in Leftover::on(interface) {
            if let Some(process) = leftover.running {
                return Err(format!(
                    "{}: a pacer is at work on it, process {process}; stop that first",
                    interface.name
                )
                .into());
            }
            say(&format!(
                "{}: an earlier pacer did not end as it should: {} packets were lost in its queue, {} have gone past it since",
                interface.name, leftover.lost, leftover.bypassed
            ));
            changed.0 |= leftover.changed.0;
            if changed.0 & Changed::XDP.0 != 0 {
                interface.restore(Changed::XDP).map_err(|error| format!("{}: {error}", interface.name))?;
                changed.0 &= !Changed::XDP.0;
            }
            leftover.remove(interface).map_err(|error| format!("{}: {error}", interface.name))?;
        }
    }
    Ok(changed)
}

/// What stays the same while it runs.
struct Run<'a> {
    arguments: &'a Arguments,
    held: Held,
    to: &'a [Interface; 2],
}

impl Run<'_> {
    fn pace<P: Port + Send + 'static>(
        &self,
        config: &mut Config,
        lanes: &[Lane],
        ports: Vec<P>,
        specs: [crate::lane::LaneSpec; 2],
        say: &mut dyn FnMut(&str),
    ) -> Result<Value, PaceError>
    where
        P::Handle: Send,
    {
        let told: Vec<Told> = lanes.iter().map(Lane::told).collect();
        if let Some(address) = config.metrics {
            say(&format!("metrics: http://{}/metrics", metrics::serve(address, told.clone())?));
        }
        let mut top = self.arguments.top.then(Top::default);
        let _ = thread::lock_memory(); // pages are there already; without it they could only be swapped out
        let methods = specs.each_ref().map(|spec| spec.pacer.method.to_string());
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        let (granted, hear) = mpsc::channel();
        for ((lane, port), spec) in lanes.iter().zip(ports).zip(specs) {
            let (meters, orders) = (Arc::clone(&lane.meters), Arc::clone(&lane.orders));
            let direction = Direction::new(port, spec, lane.bypass.clone(), meters, orders, config.spin);
            let (realtime, granted) = (config.realtime, granted.clone());
            let builder = std::thread::Builder::new().name(format!("pace-{}", lane.name));
            let thread = builder.spawn(move || {
                thread::prompt_timers();
                let asked = if realtime { thread::realtime(PRIORITY) } else { Ok(()) };
                let realtime = realtime && asked.is_ok();
                let _ = granted.send(asked);
                drop(granted);
                let _ = capability::keep_only(NET_ADMIN);
                direction.run(realtime);
            });
            threads.push(thread.map_err(|error| format!("a thread: {error}"))?);
        }
        drop(granted);
        if let Some(error) = hear.iter().find_map(Result::err) {
            say(&format!("without real-time priority ({error}): departures are later on a busy machine"));
        }
        if let Err(error) = capability::keep_only(NET_ADMIN) {
            say(&format!("capabilities could not be given up: {error}"));
        }
        let started = clock::now();
        let names: Vec<&str> = lanes.iter().map(|lane| lane.from.name.as_str()).collect();
        say(&format!("ready: {} ({} one way, {} back)", names.join(" and "), methods[0], methods[1]));

        let mut methods = methods;
        while threads.iter().all(|thread| !thread.is_finished()) {
            match self.held.wait(SHOWN) {
                Some(Signal::Stop) => break,
                Some(Signal::Reload) => match reload(self.arguments, config, self.to) {
                    Ok((changed, specs)) => {
                        methods = specs.each_ref().map(|spec| spec.pacer.method.to_string());
                        for (lane, spec) in lanes.iter().zip(specs) {
                            lane.orders.change(spec);
                        }
                        *config = changed;
                        say(&format!("settings read again: {} one way, {} back", methods[0], methods[1]));
                    }
                    Err(error) => say(&format!("{error}; the settings stay as they were")),
                },
                None => {
                    if let Some(top) = &mut top {
                        top.draw(&told, &methods);
                    }
                }
            }
        }
        for lane in lanes {
            lane.orders.stop();
        }
        let mut failed = false;
        for thread in threads {
            failed |= thread.join().is_err();
        }
        if failed {
            return Err(PaceError::System("a thread has failed; traffic went past it".to_owned()));
        }
        Ok(summarise(config, lanes, &methods, clock::now().since(started)))
    }
}

/// The new settings. What cannot be changed while frames pass must be as it was.
fn reload(
    arguments: &Arguments,
    running: &Config,
    to: &[Interface; 2],
) -> Result<(Config, [crate::lane::LaneSpec; 2]), ConfigError> {
    let config = Config::read(arguments)?;
    let same =
        Config { forward: running.forward.clone(), reverse: running.reverse.clone(), ..config.clone() };
    if same != *running {
        let problem = "only [forward] and [reverse] can change while it runs; start it anew for the rest";
        return Err(ConfigError(problem.to_owned()));
    }
    let grown = |new: &DirectionConfig, old: &DirectionConfig| new.places() > old.places();
    if grown(&config.forward, &running.forward) || grown(&config.reverse, &running.reverse) {
        return Err(ConfigError("buffer: cannot grow while it runs; start it anew".to_owned()));
    }
    let [back, forth] = to;
    let specs = [config.forward.spec(back.speed())?, config.reverse.spec(forth.speed())?];
    Ok((config, specs))
}

fn summarise(config: &Config, lanes: &[Lane], methods: &[String; 2], ran: Span) -> Value {
    let mut summary = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "in": config.input,
        "out": config.output,
        "back_end": config.back_end.name(),
        "duration_s": ran.as_seconds(),
    });
    for (lane, method) in lanes.iter().zip(methods) {
        let direction = summary::direction(method, &lane.meters, lane.bypassed(), ran.as_seconds());
        if let Some(all) = summary.as_object_mut() {
            all.insert(lane.name.to_owned(), direction);
        }
    }
    summary
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
