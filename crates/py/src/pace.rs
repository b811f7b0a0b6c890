//! `pace`: the data plane's command, in this process.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::guard::guard;

/// Runs the pacer with these arguments, called `name` in what it says; its exit code. Releases the GIL; it is ended by
/// SIGINT or SIGTERM, which Python does not see meanwhile. Raises RunError.
#[pyfunction]
pub(crate) fn pace(py: Python<'_>, name: &str, arguments: Vec<OsString>) -> PyResult<i32> {
    guard(|| Ok(py.detach(|| paceline_dataplane::command::run(name, arguments))))
}
