//! Trace sinks that hand columns, or a capture's bytes, to a Python callable, a chunk at a time.

use numpy::IntoPyArray;
use paceline_capture::write::{Form, Writer};
use paceline_sim::Network;
use paceline_sim::trace::{PacketTrace, TraceRow, TraceSink};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// Rows to a chunk.
const CHUNK: usize = 1 << 16;

/// Of rows that have none.
const NO_CAUSE: u8 = u8::MAX;

/// What a run's events become.
pub(crate) enum Trace {
    Columns(ChunkedTrace),
    Capture(PacketTrace<'static>, RaisedError),
}

/// What the callable raised, if it did.
type RaisedError = Arc<Mutex<Option<PyErr>>>;

impl Trace {
    /// A capture, where a form is given; else columns.
    pub(crate) fn new(callback: Py<PyAny>, form: Option<Form>, network: &Network) -> PyResult<Trace> {
        let Some(form) = form else { return Ok(Trace::Columns(ChunkedTrace::new(callback, network))) };
        let raised = RaisedError::default();
        let file = PythonFile { callback, raised: Arc::clone(&raised) };
        let writer = Writer::new(Box::new(file), form).map_err(crate::RunError::new_err)?;
        Ok(Trace::Capture(PacketTrace::new(writer, network), raised))
    }

    pub(crate) fn sink(&mut self) -> &mut dyn TraceSink {
        match self {
            Trace::Columns(trace) => trace,
            Trace::Capture(trace, _) => trace,
        }
    }

    /// Hands over what is left; raises what the callable raised.
    pub(crate) fn finish(self, py: Python<'_>) -> PyResult<()> {
        match self {
            Trace::Columns(trace) => trace.finish(py),
            Trace::Capture(trace, raised) => {
                let done = py.detach(|| trace.finish());
                match raised.lock().ok().and_then(|mut raised| raised.take()) {
                    Some(error) => Err(error),
                    None => done.map_err(crate::RunError::new_err),
                }
            }
        }
    }
}

/// A callable that takes bytes, as a file.
struct PythonFile {
    callback: Py<PyAny>,
    raised: RaisedError,
}

impl Write for PythonFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = Python::attach(|py| self.callback.call1(py, (PyBytes::new(py, bytes),)).map(drop));
        done.map(|()| bytes.len()).map_err(|error| {
            if let Ok(mut raised) = self.raised.lock() {
                raised.get_or_insert(error);
            }
            io::Error::other("the trace cannot be written")
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Collects rows and hands them over; remembers the first error that the callable raised.
pub(crate) struct ChunkedTrace {
    callback: Py<PyAny>,
    /// Names of places, given with the first chunk.
    places: Option<Vec<String>>,
    rows: Vec<TraceRow>,
    error: Option<PyErr>,
}

impl ChunkedTrace {
    pub(crate) fn new(callback: Py<PyAny>, network: &Network) -> Self {
        let links = network.links.iter().map(|link| link.name.to_string());
        let hosts = network.hosts.iter().map(|host| host.name.to_string());
        let places = Some(links.chain(hosts).collect());
        ChunkedTrace { callback, places, rows: Vec::with_capacity(CHUNK), error: None }
    }

    /// Hands over what is left; raises what the callable raised.
    pub(crate) fn finish(mut self, py: Python<'_>) -> PyResult<()> {
        if self.error.is_none() {
            self.hand_over(py)?;
        }
        self.error.map_or(Ok(()), Err)
    }

    fn hand_over(&mut self, py: Python<'_>) -> PyResult<()> {
        let rows = std::mem::take(&mut self.rows);
        let columns = PyDict::new(py);
        if let Some(places) = self.places.take() {
            columns.set_item("places", places)?;
        }
        columns
            .set_item("time_ns", rows.iter().map(|row| row.time_ns).collect::<Vec<_>>().into_pyarray(py))?;
        columns
            .set_item("event", rows.iter().map(|row| row.event as u8).collect::<Vec<_>>().into_pyarray(py))?;
        columns.set_item("place", rows.iter().map(|row| row.place).collect::<Vec<_>>().into_pyarray(py))?;
        columns.set_item("flow", rows.iter().map(|row| row.flow).collect::<Vec<_>>().into_pyarray(py))?;
        columns.set_item(
            "kind",
            rows.iter().map(|row| u8::from(row.is_ack)).collect::<Vec<_>>().into_pyarray(py),
        )?;
        columns.set_item("seq", rows.iter().map(|row| row.seq).collect::<Vec<_>>().into_pyarray(py))?;
        columns.set_item("bytes", rows.iter().map(|row| row.bytes).collect::<Vec<_>>().into_pyarray(py))?;
        let causes = rows.iter().map(|row| row.cause.map_or(NO_CAUSE, |cause| cause as u8));
        columns.set_item("cause", causes.collect::<Vec<_>>().into_pyarray(py))?;
        columns.set_item("cwnd", rows.iter().map(|row| row.cwnd).collect::<Vec<_>>().into_pyarray(py))?;
        self.callback.call1(py, (columns,))?;
        Ok(())
    }
}

impl TraceSink for ChunkedTrace {
    fn row(&mut self, row: &TraceRow) -> bool {
        self.rows.push(*row);
        if self.rows.len() >= CHUNK {
            self.error = Python::attach(|py| self.hand_over(py)).err();
        }
        self.error.is_none()
    }
}
