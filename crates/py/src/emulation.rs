//! The programs of an emulation, for a process that Python starts and that is nothing else.

use crate::guard::guard;
use crate::{RunError, input_error};
use pyo3::prelude::*;

/// Runs `paceline-wires` or `paceline-traffic` to its end. Raises RunError, and InputError where there is no such program.
#[pyfunction]
pub(crate) fn emulation(py: Python<'_>, program: &str) -> PyResult<()> {
    guard(|| {
        let Some(run) = paceline_emulation::program(program) else {
            return Err(input_error(format!("{program}: there is no such program here")));
        };
        py.detach(run).map_err(RunError::new_err)
    })
}
