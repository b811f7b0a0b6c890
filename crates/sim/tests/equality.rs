//! Both engines, on any number of threads, one result: on random scenarios of every family they agree to the byte in
//! statistics, flows, series, curves and traces.
//!
//! `PACELINE_CASES=N` sets how many scenarios (`make equality`: thousands; in `make test` a few hundred). One that fails
//! is shrunk and written to a TOML file, whose path is in the message. It belongs into `tests/equality/` once it is
//! mended: what is there is run every time. With the feature `ablation`, `PACELINE_WITHOUT=isolated-packets` leaves out a
//! fast path.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

mod random;

use paceline_sim::trace::TraceRow;
use paceline_sim::{Control, Engine, Method, Network, RunError, RunOutput, Scenario};
use proptest::strategy::BoxedStrategy;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use random::Family;
use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// Scenarios over all families, unless PACELINE_CASES says how many.
const CASES: u32 = 240;

#[test]
fn dumbbells() {
    assert!(equal_on_family(Family::Dumbbell).in_batches > 0);
}

#[test]
fn paths() {
    assert!(equal_on_family(Family::Path).in_batches > 0);
}

#[test]
fn tandems() {
    assert!(equal_on_family(Family::Tandem).in_batches > 0);
}

#[test]
fn parking_lots() {
    assert!(equal_on_family(Family::ParkingLot).in_batches > 0);
}

#[test]
fn rings() {
    assert!(equal_on_family(Family::Ring).in_batches > 0);
}

#[test]
fn one_way_rings() {
    assert!(equal_on_family(Family::OneWayRing).in_batches > 0);
}

#[test]
fn switches() {
    // ports by events, beside other links by epochs
    assert!(equal_on_family(Family::Switch).in_batches > 0);
}

#[test]
fn circuits() {
    let ran = equal_on_family(Family::Circuit);
    // Where a link without delay has its rate from a trace, nothing says how soon a packet is at its far end.
    let unexplained: Vec<&String> =
        ran.by_events.iter().filter(|text| !text.contains("rate.trace")).collect();
    assert!(unexplained.is_empty(), "{unexplained:?}");
    assert_eq!(ran.on_threads, 0);
}

#[test]
fn trunks() {
    assert!(equal_on_family(Family::Trunk).in_batches > 0);
}

#[test]
fn separate_flows() {
    let ran = equal_on("separate-flows", random::of_separate_flows());
    assert!(ran.on_threads > ran.scenarios / 16, "few ran on threads");
}

#[test]
fn shared_hosts() {
    let ran = equal_on("shared-hosts", random::of_shared_hosts());
    assert!(ran.in_batches > 0, "none ran in windows");
}

#[test]
fn fast_links() {
    let ran = equal_on("fast-links", random::fast::of_fast_links());
    assert!(ran.in_batches > 0, "none ran in windows");
}

#[test]
fn what_was_once_unequal() {
    leave_out();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/equality");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let network = network(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(compare(&network).err(), None, "{}", path.display());
        count += 1;
    }
    assert!(count >= 2, "{count}");
}

/// How many scenarios ran.
struct Ran {
    scenarios: u32,
    in_batches: u32,
    on_threads: u32,
    /// Those that ran by events.
    by_events: Vec<String>,
}

/// A share of the cases on one family; where one fails, its file.
fn equal_on_family(family: Family) -> Ran {
    let name = Family::ALL.iter().find(|(_, one)| *one == family).unwrap().0;
    equal_on(name, random::scenario(family))
}

/// The fast path that is not to be used.
fn leave_out() {
    #[cfg(feature = "ablation")]
    if let Ok(without) = std::env::var("PACELINE_WITHOUT") {
        let mut all = paceline_sim::ablation::FastPath::ALL.into_iter();
        all.find(|(known, _)| *known == without).unwrap().1.leave_out();
    }
}

/// The same on a share of the cases.
fn equal_on(name: &str, scenarios: BoxedStrategy<String>) -> Ran {
    leave_out();
    let all = std::env::var("PACELINE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let cases = all.div_ceil(Family::ALL.len() as u32);
    let config = Config {
        cases,
        max_global_rejects: cases / 10 + 5, // of what is drawn, little may be refused
        max_local_rejects: u32::MAX, // what draws again for itself does so a few times a case, whatever their number
        max_shrink_iters: 4096,
        failure_persistence: None,
        ..Config::default()
    };
    let (done, windowed, threaded) = (Cell::new(0_u32), Cell::new(0_u32), Cell::new(0_u32));
    let (refusals, by_events) = (RefCell::new(String::new()), RefCell::new(Vec::new()));
    let result = TestRunner::new(config).run(&scenarios, |text| {
        let network = network(&text).map_err(|error| {
            *refusals.borrow_mut() += &format!("{error}\n");
            TestCaseError::reject(error)
        })?;
        done.set(done.get() + 1);
        let found = compare(&network).map_err(TestCaseError::fail)?;
        windowed.set(windowed.get() + u32::from(found.in_batches));
        by_events.borrow_mut().extend((!found.in_batches).then(|| text.clone()));
        threaded.set(threaded.get() + u32::from(found.on_threads));
        if done.get().is_multiple_of(500) {
            eprintln!("{name}: {} scenarios of {cases}", done.get());
        }
        Ok(())
    });
    match result {
        Ok(()) => eprintln!(
            "{name}: {} scenarios, {} of them in windows, {} on threads",
            done.get(),
            windowed.get(),
            threaded.get()
        ),
        Err(TestError::Abort(reason)) => panic!("{name}: {reason}\n{}", refusals.borrow()),
        Err(TestError::Fail(found, text)) => {
            let path = keep(name, &text);
            let path = path.display();
            panic!(
                "{name}: the engines differ in {found}; the scenario is in {path}\n\
                 paceline run {path} --engine windowed --json\n\
                 paceline run {path} --engine reference --json\n{text}"
            );
        }
    }
    Ran {
        scenarios: done.get(),
        in_batches: windowed.get(),
        on_threads: threaded.get(),
        by_events: by_events.into_inner(),
    }
}

/// The network of a scenario, by its own seed; or why it is refused.
fn network(text: &str) -> Result<Network, String> {
    let scenario = Scenario::from_toml(text).map_err(|error| error.to_string())?;
    scenario.network(scenario.seed()).map_err(|error| error.to_string())
}

fn run(network: &Network, method: Method, trace: Option<&mut Vec<TraceRow>>) -> Result<RunOutput, RunError> {
    let sink = trace.map(|rows| rows as &mut dyn paceline_sim::trace::TraceSink);
    Engine::run_by(network, method, 1, &Control::default(), sink)
}

/// How a network ran for which the batched engine was asked.
#[derive(Default)]
struct Ways {
    in_batches: bool,
    on_threads: bool,
}

/// Or what differs between the engines, and between a run that is traced and one that is not.
fn compare(network: &Network) -> Result<Ways, String> {
    let plain = Texts::of(&run(network, Method::Reference, None).unwrap());
    let mut rows = Vec::new();
    let traced = run(network, Method::Reference, Some(&mut rows)).unwrap();
    plain.same(&traced, "of the reference engine, traced or not")?;
    let mut ways = Ways::default();
    for method in [Method::Windowed, Method::Auto] {
        let Some(untraced) = by_if_it_can(network, method, None) else { continue };
        plain.same(&untraced, &format!("asked for {}", method.name()))?;
        if method == Method::Auto && (ways.in_batches || untraced.method == Method::Reference) {
            continue; // that is one of those before
        }
        let on_threads = Engine::run_by(network, method, 3, &Control::default(), None).unwrap();
        plain.same(&on_threads, &format!("asked for {} on threads", method.name()))?;
        ways.on_threads |= on_threads.threads > 1;
        let mut others = Vec::with_capacity(rows.len());
        let traced = by_if_it_can(network, method, Some(&mut others)).unwrap();
        if traced.method != untraced.method {
            return Err(format!("how it ran, traced or not, asked for {}", method.name()));
        }
        plain.same(&traced, &format!("traced, asked for {}", method.name()))?;
        if let Some(found) = in_order(&rows, &others) {
            return Err(format!("{found}, traced, asked for {}", method.name()));
        }
        ways.in_batches |= traced.method == Method::Windowed;
    }
    Ok(ways)
}

/// A run, unless the batched engine is asked for by name and cannot run this network.
fn by_if_it_can(network: &Network, method: Method, trace: Option<&mut Vec<TraceRow>>) -> Option<RunOutput> {
    match run(network, method, trace) {
        Ok(output) => Some(output),
        Err(error) => {
            assert_eq!(error, RunError::NoBatchedEngine);
            None
        }
    }
}

/// An output as text: that tells 0 from -0, and holds NaN equal to itself.
struct Texts {
    summary: String,
    core_packets: u64,
    /// By kind: its name, and its rows.
    rows: [(&'static str, Vec<String>); 3],
}

impl Texts {
    fn of(output: &RunOutput) -> Self {
        Texts {
            summary: serde_json::to_string(output).unwrap(),
            core_packets: output.core_packets,
            rows: [
                ("flow", texts(&output.flow_rows)),
                ("sample", texts(&output.series)),
                ("curve", texts(&output.curves)),
            ],
        }
    }

    /// Or where another output differs, with which it is.
    fn same(&self, other: &RunOutput, what: &str) -> Result<(), String> {
        self.first_of(&Texts::of(other)).map_or(Ok(()), |found| Err(format!("{found}, {what}")))
    }

    /// The first part that differs.
    fn first_of(&self, other: &Texts) -> Option<String> {
        if self.summary != other.summary {
            return Some("the summary".to_owned());
        }
        if self.core_packets != other.core_packets {
            return Some("the core's packets".to_owned());
        }
        let mut kinds = self.rows.iter().zip(&other.rows);
        kinds.find_map(|((what, one), (_, other))| first_row(what, one, other))
    }
}

fn texts<T: Debug>(rows: &[T]) -> Vec<String> {
    rows.iter().map(|row| format!("{row:?}")).collect()
}

/// The first row that differs.
fn first_row(what: &str, one: &[String], other: &[String]) -> Option<String> {
    let text = |row: Option<&String>| row.map_or("nothing".to_owned(), String::clone);
    let at = (0..one.len().max(other.len())).find(|at| one.get(*at) != other.get(*at))?;
    Some(format!("{what} {at}:\n  {}\n  {}\n", text(one.get(at)), text(other.get(at))))
}

/// Of traces, bit by bit first: most are equal, and long.
fn in_order(one: &[TraceRow], other: &[TraceRow]) -> Option<String> {
    let same = |(a, b): (&TraceRow, &TraceRow)| {
        let bits = |row: &TraceRow| {
            (
                row.time_ns,
                row.event,
                row.place,
                row.flow,
                row.is_ack,
                row.seq,
                row.bytes,
                row.cwnd.to_bits(),
                row.cause,
            )
        };
        bits(a) == bits(b)
    };
    if one.len() == other.len() && one.iter().zip(other).all(same) {
        return None;
    }
    first_row("trace row", &texts(one), &texts(other))
}

/// Writes a scenario that failed.
fn keep(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("unequal-{name}.toml"));
    std::fs::write(&path, text).unwrap();
    path
}
