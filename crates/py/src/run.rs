//! `run`: one seed of one scenario, and the object that holds what it yields.

use crate::guard::guard;
use crate::trace::Trace;
use crate::{PyControl, RunError, input_error};
use numpy::IntoPyArray;
use paceline_capture::write::Form;
use paceline_sim::output::SeriesKind;
use paceline_sim::{Curve, Engine, Method, Network, RunOutput, Scenario};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// What one run yields.
#[pyclass(module = "paceline._core", frozen)]
pub(crate) struct Run {
    network: Network,
    output: RunOutput,
    cpu_s: f64,
    wall_s: f64,
}

/// Runs one seed of a scenario. Releases the GIL; `control` may cancel it from another thread; `trace` is called with
/// chunks of columns, or with bytes of a capture where `trace_as` is the name of one; `engine` is "auto", "reference" or "windowed"; `threads` is how many
/// the run may use. Raises InputError or RunError.
#[pyfunction]
#[pyo3(signature = (scenario_json, seed, control=None, trace=None, engine="auto", threads=1, trace_as=None))]
#[allow(clippy::too_many_arguments, reason = "a function of Python, where they have names")]
pub(crate) fn run(
    py: Python<'_>,
    scenario_json: &str,
    seed: u64,
    control: Option<&Bound<'_, PyControl>>,
    trace: Option<Py<PyAny>>,
    engine: &str,
    threads: usize,
    trace_as: Option<PathBuf>,
) -> PyResult<Run> {
    guard(|| {
        let method = Method::ALL.iter().find(|(name, _)| *name == engine).map(|(_, method)| *method);
        let names = Method::ALL.map(|(name, _)| name).join(", ");
        let method = method
            .ok_or_else(|| input_error(format!("engine: \"{engine}\" is unknown; write one of {names}")))?;
        let control = control.map_or_else(Default::default, |control| control.get().0.clone());
        let time = py.import("time")?;
        let clock = |name: &str| -> PyResult<f64> { time.call_method0(name)?.extract() };
        let cpu_clock = if threads > 1 { "process_time" } else { "thread_time" };
        let network = py
            .detach(|| Scenario::from_json(scenario_json).and_then(|scenario| scenario.network(seed)))
            .map_err(input_error)?;
        let form = trace_as.as_deref().and_then(Form::of_name);
        let mut sink = trace.map(|callback| Trace::new(callback, form, &network)).transpose()?;
        let (cpu, wall) = (clock(cpu_clock)?, clock("perf_counter")?);
        let output = py.detach(|| {
            let sink = sink.as_mut().map(Trace::sink);
            Engine::run_by(&network, method, threads, &control, sink)
        });
        let (cpu_s, wall_s) = (clock(cpu_clock)? - cpu, clock("perf_counter")? - wall);
        if let Some(sink) = sink {
            sink.finish(py)?;
        }
        let output = output.map_err(|error| RunError::new_err(error.to_string()))?;
        Ok(Run { network, output, cpu_s, wall_s })
    })
}

#[pymethods]
impl Run {
    /// The run object of the JSON contract, without its settings.
    fn summary(&self) -> PyResult<String> {
        guard(|| {
            let mut summary = serde_json::to_value(&self.output).map_err(input_error)?;
            summary["engine"] = serde_json::json!({
                "kind": "simulation",
                "method": self.output.method.name(),
                "threads": self.output.threads,
                "wall_s": self.wall_s,
                "cpu_s": self.cpu_s,
                "core_packets": self.output.core_packets,
            });
            Ok(summary.to_string())
        })
    }

    /// One row a flow, as columns.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let rows = &self.output.flow_rows;
            let flows = &self.network.flows;
            let columns = PyDict::new(py);
            columns.set_item("flow", (0..rows.len() as u32).collect::<Vec<_>>().into_pyarray(py))?;
            columns.set_item("name", flows.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>())?;
            let host = |id: u32| self.network.hosts[id as usize].name.as_str();
            columns.set_item("source", flows.iter().map(|flow| host(flow.source)).collect::<Vec<_>>())?;
            columns.set_item("sink", flows.iter().map(|flow| host(flow.sink)).collect::<Vec<_>>())?;
            columns
                .set_item("paced", rows.iter().map(|row| row.paced).collect::<Vec<_>>().into_pyarray(py))?;
            let base_rtt = |links: &[u32]| {
                links.iter().map(|&id| self.network.links[id as usize].delay.as_seconds()).sum::<f64>()
            };
            let rtt = flows.iter().map(|flow| base_rtt(&flow.forward) + base_rtt(&flow.reverse));
            columns.set_item("base_rtt_s", rtt.collect::<Vec<f64>>().into_pyarray(py))?;
            columns.set_item(
                "start_s",
                flows.iter().map(|flow| flow.start.as_seconds()).collect::<Vec<_>>().into_pyarray(py),
            )?;
            let count = |name: &str, of: &dyn Fn(usize) -> u64| {
                columns.set_item(name, (0..rows.len()).map(of).collect::<Vec<u64>>().into_pyarray(py))
            };
            count("sent_packets", &|row| rows[row].sent_packets)?;
            count("delivered_packets", &|row| rows[row].delivered_packets)?;
            count("received_packets", &|row| rows[row].received_packets)?;
            count("retransmits", &|row| rows[row].retransmits)?;
            count("timeouts", &|row| rows[row].timeouts)?;
            count("window_cuts", &|row| rows[row].window_cuts)?;
            count("transfers", &|row| rows[row].transfers.len() as u64)?;
            let number = |name: &str, of: &dyn Fn(usize) -> f64| {
                columns.set_item(name, (0..rows.len()).map(of).collect::<Vec<f64>>().into_pyarray(py))
            };
            let mean_s =
                |sum: u64, count: u64| if count == 0 { f64::NAN } else { sum as f64 / count as f64 * 1e-9 };
            number("goodput_bps", &|row| rows[row].goodput_bps)?;
            number("delay_mean_s", &|row| mean_s(rows[row].delay_sum_ns, rows[row].delivered_packets))?;
            number("network_delay_mean_s", &|row| {
                mean_s(rows[row].network_delay_sum_ns, rows[row].received_packets)
            })?;
            let took_ns =
                |row: usize| rows[row].transfers.iter().map(|transfer| transfer.took.as_nanos()).sum::<u64>();
            number("fct_s", &|row| mean_s(took_ns(row), rows[row].transfers.len() as u64))?;
            Ok(columns)
        })
    }

    /// What probes recorded, as columns.
    fn series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let rows = &self.output.series;
            let columns = PyDict::new(py);
            let link = |id: u32| self.network.links[id as usize].name.as_str();
            columns.set_item("link", rows.iter().map(|row| link(row.link)).collect::<Vec<_>>())?;
            let kind = |kind: SeriesKind| match kind {
                SeriesKind::Queue => "queue",
                SeriesKind::Departure => "departure",
            };
            columns.set_item("kind", rows.iter().map(|row| kind(row.kind)).collect::<Vec<_>>())?;
            columns.set_item(
                "time_ns",
                rows.iter().map(|row| row.time_ns).collect::<Vec<_>>().into_pyarray(py),
            )?;
            columns.set_item("flow", rows.iter().map(|row| row.flow).collect::<Vec<_>>().into_pyarray(py))?;
            columns
                .set_item("bytes", rows.iter().map(|row| row.bytes).collect::<Vec<_>>().into_pyarray(py))?;
            Ok(columns)
        })
    }

    /// What instruments found, as columns: one row a point.
    fn instruments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let curves = &self.output.curves;
            let columns = PyDict::new(py);
            let text = |name: &str, of: &dyn Fn(&Curve) -> &str| {
                let named = curves.iter().flat_map(|curve| {
                    let value = of(curve);
                    std::iter::repeat_n((!value.is_empty()).then_some(value), curve.points.len())
                });
                columns.set_item(name, named.collect::<Vec<Option<&str>>>())
            };
            text("instrument", &|curve| curve.instrument)?;
            text("link", &|curve| &curve.link)?;
            text("flow", &|curve| &curve.flow)?;
            text("next", &|curve| &curve.next)?;
            let points = || curves.iter().flat_map(|curve| &curve.points);
            columns.set_item("x", points().map(|point| point.x).collect::<Vec<f64>>().into_pyarray(py))?;
            columns.set_item("y", points().map(|point| point.y).collect::<Vec<f64>>().into_pyarray(py))?;
            columns.set_item(
                "count",
                points().map(|point| point.count).collect::<Vec<u64>>().into_pyarray(py),
            )?;
            text("x_unit", &|curve| curve.x_unit)?;
            text("y_unit", &|curve| curve.y_unit)?;
            Ok(columns)
        })
    }
}
