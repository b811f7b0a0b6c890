//! `pace`: the data plane's command, in this process.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

use crate::RunError;

/// Runs the pacer with these arguments, called `name` in what it says; its exit code. Releases the GIL; it is ended by
/// SIGINT or SIGTERM, which Python does not see meanwhile. Raises RunError.
#[pyfunction]
pub(crate) fn pace(py: Python<'_>, name: &str, arguments: Vec<OsString>) -> PyResult<i32> {
    py.detach(|| catch_unwind(AssertUnwindSafe(|| paceline_dataplane::command::run(name, arguments))))
        .map_err(|_| RunError::new_err("the pacer has failed; its interfaces are put back by --restore"))
}
