//! The compiled module `paceline._core`: thin; a simulation runs without the GIL, and no panic crosses into Python.

mod analyse;
mod emulation;
mod explain;
mod guard;
mod pace;
mod run;
mod trace;

use guard::guard;
use paceline_core::units::parse;
use paceline_core::{pacer, queue};
use paceline_sim::{Control, Scenario};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::sync::Arc;

/// Asks Linux for huge pages: docs/adr/0011-allocator.md.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

create_exception!(
    paceline._core,
    InputError,
    PyValueError,
    "The input is wrong: one line, the key's path first."
);
create_exception!(paceline._core, RunError, PyRuntimeError, "A run failed or was cancelled.");

/// Shared with a running simulation, from any thread.
#[pyclass(name = "Control", module = "paceline._core", frozen)]
#[derive(Default)]
struct PyControl(Arc<Control>);

#[pymethods]
impl PyControl {
    #[new]
    fn new() -> PyResult<Self> {
        guard(|| Ok(PyControl::default()))
    }

    /// Asks the simulation to stop.
    fn cancel(&self) -> PyResult<()> {
        guard(|| {
            self.0.cancel();
            Ok(())
        })
    }

    /// How far it is, from 0 to 1.
    #[getter]
    fn fraction(&self) -> PyResult<f64> {
        guard(|| Ok(self.0.fraction()))
    }

    /// Whether it was asked to stop.
    #[getter]
    fn cancelled(&self) -> PyResult<bool> {
        guard(|| Ok(self.0.is_cancelled()))
    }
}

fn input_error(error: impl std::fmt::Display) -> PyErr {
    InputError::new_err(error.to_string())
}

/// Version of the core, for people.
#[pyfunction]
fn version() -> PyResult<String> {
    guard(|| Ok(version_text()))
}

/// Which core a result is of: its version, and a hash of the sources that it was built from.
#[pyfunction]
fn fingerprint() -> PyResult<String> {
    guard(|| Ok(format!("{}+{}", version_text(), paceline_sim::FINGERPRINT)))
}

fn version_text() -> String {
    let debug = if cfg!(debug_assertions) { "-debug" } else { "" };
    format!("{}{debug}", env!("CARGO_PKG_VERSION"))
}

/// Validates a scenario, routes included. What a run may take at most: bytes of memory, events, what takes most of the memory;
/// and how many flows there are. Raises InputError.
#[pyfunction]
fn check(py: Python<'_>, scenario_json: &str) -> PyResult<(u64, u64, String, usize)> {
    guard(|| {
        py.detach(|| {
            let scenario = Scenario::from_json(scenario_json)?;
            let network = scenario.network(scenario.seed())?;
            let estimate = network.estimate();
            Ok((estimate.memory_bytes, estimate.events, estimate.mostly, network.flows.len()))
        })
        .map_err(|error: paceline_sim::scenario::ScenarioError| input_error(error))
    })
}

/// The line of a TOML text, from 1, where a path of keys stands; None where it is not there.
#[pyfunction]
fn line_of(text: &str, keys: Vec<String>) -> PyResult<Option<usize>> {
    guard(|| Ok(paceline_sim::scenario::line_of(text, &keys)))
}

/// The network as a report draws it, JSON. Raises InputError.
#[pyfunction]
fn describe(py: Python<'_>, scenario_json: &str, seed: u64) -> PyResult<String> {
    guard(|| {
        let description =
            py.detach(|| Scenario::from_json(scenario_json)?.describe(seed)).map_err(input_error)?;
        serde_json::to_string(&description).map_err(input_error)
    })
}

/// The network resolved for one seed, every link and flow of it, JSON. Raises InputError.
#[pyfunction]
fn inspect(py: Python<'_>, scenario_json: &str, seed: u64) -> PyResult<String> {
    guard(|| {
        py.detach(|| {
            let inspection = Scenario::from_json(scenario_json)?.inspect(seed)?;
            Ok(serde_json::to_string(&inspection))
        })
        .map_err(|error: paceline_sim::scenario::ScenarioError| input_error(error))?
        .map_err(input_error)
    })
}

/// A quantity in base units: bit/s, nanoseconds or bytes. Raises InputError.
#[pyfunction]
fn quantity(kind: &str, text: &str) -> PyResult<f64> {
    guard(|| match kind {
        "rate" => parse::rate(text).map(|rate| rate.bits_per_second() as f64).map_err(input_error),
        "time" => parse::span(text).map(|span| span.as_nanos() as f64).map_err(input_error),
        "size" => parse::bytes(text).map(|bytes| bytes.count() as f64).map_err(input_error),
        _ => Err(input_error(format!("\"{kind}\" is not a kind of quantity; write rate, time or size"))),
    })
}

/// The pacing methods of links with their parameters, a Markdown table.
#[pyfunction]
fn pacers() -> PyResult<String> {
    guard(|| Ok(pacer::table()))
}

/// The queue disciplines with their parameters, a Markdown table.
#[pyfunction]
fn queues() -> PyResult<String> {
    guard(|| Ok(queue::table()))
}

/// A JSON Schema of scenarios, from the keys that are read.
#[pyfunction]
fn scenario_schema() -> PyResult<String> {
    guard(|| serde_json::to_string(&Scenario::schema()).map_err(input_error))
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add("RunError", module.py().get_type::<RunError>())?;
    module.add_class::<PyControl>()?;
    module.add_class::<run::Run>()?;
    for function in [
        wrap_pyfunction!(version, module)?,
        wrap_pyfunction!(fingerprint, module)?,
        wrap_pyfunction!(check, module)?,
        wrap_pyfunction!(line_of, module)?,
        wrap_pyfunction!(describe, module)?,
        wrap_pyfunction!(inspect, module)?,
        wrap_pyfunction!(quantity, module)?,
        wrap_pyfunction!(pacers, module)?,
        wrap_pyfunction!(queues, module)?,
        wrap_pyfunction!(scenario_schema, module)?,
        wrap_pyfunction!(explain::tcp_options, module)?,
        wrap_pyfunction!(pace::pace, module)?,
        wrap_pyfunction!(pace::pace_flags, module)?,
        wrap_pyfunction!(run::run, module)?,
        wrap_pyfunction!(emulation::emulation, module)?,
        wrap_pyfunction!(analyse::analyse, module)?,
        wrap_pyfunction!(analyse::connections, module)?,
        wrap_pyfunction!(analyse::shaper, module)?,
        wrap_pyfunction!(analyse::is_capture_name, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
