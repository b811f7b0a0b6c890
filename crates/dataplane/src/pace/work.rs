//! The pacer at work: a thread for each direction, and one that waits for signals, for news of the interfaces, and for the
//! end of a thread.

use std::io::PipeReader;
use std::os::fd::AsFd;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use paceline_core::Span;
use serde_json::{Value, json};

use super::lane::Lane;
use super::life;
use super::ports::chunk_for;
use super::{PRIORITY, PaceError, SHOWN};
use crate::config::{Arguments, BackEnd, Config, ConfigError, DirectionConfig};
use crate::direction::Direction;
use crate::lane::LaneSpec;
use crate::metrics::{self, Listener, Told};
use crate::port::Port;
use crate::summary;
use crate::sys::capability::{self, NET_ADMIN};
use crate::sys::clock::Poll;
use crate::sys::links::Links;
use crate::sys::signal::{Held, Signal};
use crate::sys::{clock, thread};
use crate::top::Top;

/// What stays the same while it runs.
pub(super) struct Run<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) held: &'a Held,
    pub(super) links: &'a Links,
    pub(super) lanes: &'a [Lane; 2],
    /// The size of AF_XDP's chunks, bytes.
    pub(super) chunk: Option<u32>,
}

impl Run<'_> {
    /// Says what is no trouble.
    fn note(&self, say: &mut dyn FnMut(&str), what: &str) {
        if !self.arguments.quiet {
            say(what);
        }
    }

    /// Paces until a signal says stop: the summary.
    pub(super) fn work<P: Port + Send + 'static>(
        &self,
        mut config: Config,
        ports: Vec<P>,
        specs: [LaneSpec; 2],
        listener: Option<Listener>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Value, PaceError>
    where
        P::Handle: Send,
    {
        let _ = thread::lock_memory(); // pages are there already; without it they could only be swapped out
        let mut methods = specs.each_ref().map(|spec| spec.pacer.method.to_string());
        let mut threads: Vec<(JoinHandle<()>, PipeReader)> = Vec::new();
        let (granted, hear) = mpsc::channel();
        for ((lane, port), spec) in self.lanes.iter().zip(ports).zip(specs) {
            threads.push(start(lane, port, spec, &config, granted.clone())?);
        }
        drop(granted);
        if let Some(error) = hear.iter().find_map(Result::err) {
            say(&format!("without real-time priority ({error}): departures are later on a busy machine"));
        }
        if let Err(error) = capability::keep_only(Some(NET_ADMIN)) {
            say(&format!("capabilities could not be given up: {error}"));
        }
        let told: Vec<Told> = self.lanes.iter().map(Lane::told).collect();
        if let Some(listener) = listener {
            let address = metrics::serve(listener, told.clone())?;
            self.note(say, &format!("metrics: http://{address}/metrics"));
        }
        let started = clock::now();
        let names: Vec<&str> = self.lanes.iter().map(|lane| lane.from.name.as_str()).collect();
        self.note(
            say,
            &format!("ready: {} ({} one way, {} back)", names.join(" and "), methods[0], methods[1]),
        );

        let ends: Vec<&PipeReader> = threads.iter().map(|(_, end)| end).collect();
        let waited = self.wait(&mut config, &told, &mut methods, &ends, say);
        let join = || threads.into_iter().fold(false, |failed, (thread, _)| failed | thread.join().is_err());
        let problem = life::end(self.lanes, waited, join);
        let summary = summarise(&config, self.lanes, &methods, clock::now().since(started));
        match problem {
            None => Ok(summary),
            Some(problem) => Err(PaceError::Failed(problem, summary)),
        }
    }

    /// Waits, and does what it is told meanwhile, until a signal says stop; what is wrong, if that ends it.
    fn wait(
        &self,
        config: &mut Config,
        told: &[Told],
        methods: &mut [String; 2],
        ends: &[&PipeReader],
        say: &mut dyn FnMut(&str),
    ) -> Result<(), String> {
        let mut top = self.arguments.top.then(Top::default);
        let (mut drawn, mut kept) = (clock::now(), clock::now());
        let mut waits: Vec<_> = ends.iter().map(|end| (end.as_fd(), Poll::Readable)).collect();
        waits.extend([(self.held.as_fd(), Poll::Readable), (self.links.as_fd(), Poll::Readable)]);
        self.look(config)?; // before anything was said
        loop {
            let ready = clock::poll(&waits, SHOWN);
            if ready.iter().take(ends.len()).any(|ended| *ended) {
                return Err("a thread has failed; traffic goes past it".to_owned());
            }
            while let Some(signal) = self.held.next() {
                match signal {
                    Signal::Stop => return Ok(()),
                    Signal::Reload => self.reload(config, methods, say),
                    #[cfg(debug_assertions)]
                    Signal::Panic => self.panic(),
                }
            }
            let news = self.links.news();
            let mut lanes = self.lanes.iter();
            if let Some(lane) = lanes.find(|lane| news.gone.contains(&lane.from.index)) {
                return Err(gone(lane));
            }
            if news.changed || !news.gone.is_empty() {
                self.look(config)?;
            }
            let now = clock::now();
            if now.since(kept) >= SHOWN {
                self.lanes.iter().for_each(|lane| lane.keep(say));
                kept = now;
            }
            if let Some(top) = top.as_mut().filter(|_| now.since(drawn) >= SHOWN) {
                top.draw(told, methods);
                drawn = now;
            }
        }
    }

    /// What the interfaces are like now: how large frames may be follows them.
    fn look(&self, config: &Config) -> Result<(), String> {
        for lane in self.lanes {
            if !lane.from.is_there() {
                return Err(gone(lane));
            }
            let Ok(mtu) = lane.to.mtu() else { continue }; // it has just gone: the next news
            lane.follow(mtu);
            let chunk = chunk_for(mtu);
            if config.back_end != BackEnd::AfPacket && (chunk.is_none() || chunk > self.chunk) {
                return Err(format!(
                    "the MTU of {} is now {mtu}, and its memory was laid out for less; start it anew: traffic goes past it",
                    lane.to.name
                ));
            }
        }
        Ok(())
    }

    fn reload(&self, config: &mut Config, methods: &mut [String; 2], say: &mut dyn FnMut(&str)) {
        match settings(self.arguments, config, self.lanes) {
            Ok((changed, specs)) => {
                *methods = specs.each_ref().map(|spec| spec.pacer.method.to_string());
                for (lane, spec) in self.lanes.iter().zip(specs) {
                    lane.orders.change(spec);
                }
                *config = changed;
                self.note(say, &format!("settings read again: {} one way, {} back", methods[0], methods[1]));
            }
            Err(error) => say(&format!("{error}; the settings stay as they were")),
        }
    }

    /// Fails where a test wants it to.
    #[cfg(debug_assertions)]
    fn panic(&self) {
        let place = std::env::var("PACELINE_PANICS").unwrap_or_default();
        match self.lanes.iter().find(|lane| lane.name == place) {
            Some(lane) => lane.orders.panic(),
            None => unreachable!("a panic, as a test has asked for"),
        }
    }
}

fn gone(lane: &Lane) -> String {
    format!("{} is gone: nothing can pass there", lane.from.name)
}

/// Starts a direction's thread; the pipe comes to its end when it does.
fn start<P: Port + Send + 'static>(
    lane: &Lane,
    port: P,
    spec: LaneSpec,
    config: &Config,
    granted: mpsc::Sender<std::io::Result<()>>,
) -> Result<(JoinHandle<()>, PipeReader), String>
where
    P::Handle: Send,
{
    let explain = |error: std::io::Error| format!("a thread: {error}");
    let (end, open) = std::io::pipe().map_err(explain)?;
    let (meters, orders) = (Arc::clone(&lane.meters), Arc::clone(&lane.orders));
    let direction = Direction::new(port, spec, lane.shared(), meters, orders, config.spin);
    let realtime = config.realtime;
    let work = move || {
        let _open = open;
        thread::prompt_timers();
        let asked = if realtime { thread::realtime(PRIORITY) } else { Ok(()) };
        let realtime = realtime && asked.is_ok();
        let _ = granted.send(asked);
        drop(granted);
        let _ = capability::keep_only(None);
        direction.run(realtime);
    };
    let thread = std::thread::Builder::new().name(format!("pace-{}", lane.name)).spawn(work);
    Ok((thread.map_err(explain)?, end))
}

/// The new settings. What cannot be changed while frames pass must be as it was.
fn settings(
    arguments: &Arguments,
    running: &Config,
    lanes: &[Lane],
) -> Result<(Config, [LaneSpec; 2]), ConfigError> {
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
    let speed = |index: usize| lanes.get(index).and_then(|lane| lane.to.speed());
    let specs = [config.forward.spec(speed(0))?, config.reverse.spec(speed(1))?];
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
