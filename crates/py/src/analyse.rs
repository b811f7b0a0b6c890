//! `analyse`: what a capture's traffic is like, and what pacers would make of it.

use crate::guard::guard;
use crate::{PyControl, RunError, input_error};
use paceline_analysis::connections::connections as connections_of;
use paceline_analysis::shaper::Shaper;
use paceline_analysis::{AnalysisError, Options, analyse as analyse_capture};
use paceline_capture::write::{Form, Writer};
use paceline_capture::{Capture, CaptureError, Format, open};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A pacer as it is understood, JSON: its name, method with parameters, and the link behind it. Raises InputError.
#[pyfunction]
pub(crate) fn shaper(text: &str) -> PyResult<String> {
    guard(|| {
        let shaper = Shaper::parse(text).map_err(input_error)?;
        let limit = |limit: Option<paceline_core::queue::Limit>| limit.map(|limit| limit.to_string());
        Ok(serde_json::json!({
            "name": shaper.name,
            "method": shaper.method().name(),
            "parameters": shaper.method().to_string(),
            "link_bps": shaper.link.map(|rate| rate.bits_per_second()),
            "buffer": limit(shaper.buffer.limit),
            "pacer_buffer": limit(shaper.pacer.limit),
        })
        .to_string())
    })
}

/// Whether a file's name says which form of capture is to be written: `.pcap`, `.pcapng`, and `.gz` or `.zst` after that.
#[pyfunction]
pub(crate) fn is_capture_name(name: PathBuf) -> PyResult<bool> {
    guard(|| Ok(Form::of_name(&name).is_some()))
}

/// Analyses a capture, JSON; standard input where `path` is None. Releases the GIL; `control` may cancel it from another
/// thread. `write` gets what the first pacer lets go, in the form that the name `write_as` says. Raises InputError or RunError.
#[pyfunction]
#[pyo3(signature = (path, by_flow, top, burst_gap_ns, pacers, write=None, write_as=None, control=None))]
#[allow(clippy::too_many_arguments, reason = "a function of Python, where they have names")]
pub(crate) fn analyse(
    py: Python<'_>,
    path: Option<PathBuf>,
    by_flow: bool,
    top: usize,
    burst_gap_ns: u64,
    pacers: Vec<String>,
    write: Option<PathBuf>,
    write_as: Option<PathBuf>,
    control: Option<&Bound<'_, PyControl>>,
) -> PyResult<String> {
    guard(|| {
        let control = control.map_or_else(Default::default, |control| control.get().0.clone());
        let shapers =
            pacers.iter().map(|text| Shaper::parse(text)).collect::<Result<_, _>>().map_err(input_error)?;
        let options = Options { by_flow, top, burst_gap_ns, shapers };
        let work = || -> Result<_, AnalysisError> {
            let (capture, bytes) = opened(path).map_err(AnalysisError::Capture)?;
            let form = write_as.as_deref().and_then(Form::of_name).unwrap_or(Form::plain(Format::Pcap));
            let writer = write.map(|path| Writer::create(&path, form)).transpose();
            analyse_capture(capture, &options, writer.map_err(AnalysisError::Write)?, |read| {
                control.report(read, bytes);
                !control.is_cancelled()
            })
        };
        let analysis = py.detach(work).map_err(|error| match error {
            AnalysisError::Capture(error) => input_error(error),
            AnalysisError::Write(_) | AnalysisError::Cancelled => RunError::new_err(error.to_string()),
        })?;
        serde_json::to_string(&analysis).map_err(input_error)
    })
}

/// The TCP connections of a capture, JSON. Releases the GIL; `control` may cancel it from another thread. Raises InputError or RunError.
#[pyfunction]
#[pyo3(signature = (path, control=None))]
pub(crate) fn connections(
    py: Python<'_>,
    path: Option<PathBuf>,
    control: Option<&Bound<'_, PyControl>>,
) -> PyResult<String> {
    guard(|| {
        let control = control.map_or_else(Default::default, |control| control.get().0.clone());
        let work = || -> Result<_, AnalysisError> {
            let (capture, bytes) = opened(path).map_err(AnalysisError::Capture)?;
            connections_of(capture, |read| {
                control.report(read, bytes);
                !control.is_cancelled()
            })
        };
        let found = py.detach(work).map_err(|error| match error {
            AnalysisError::Capture(error) => input_error(error),
            AnalysisError::Write(_) | AnalysisError::Cancelled => RunError::new_err(error.to_string()),
        })?;
        serde_json::to_string(&found).map_err(input_error)
    })
}

/// The capture, and how many bytes it has; 0 for what has no length, as a pipe.
fn opened(path: Option<PathBuf>) -> Result<(Capture, u64), CaptureError> {
    match path {
        None => Ok((Capture::read_from(Box::new(std::io::stdin()))?, 0)),
        Some(path) => {
            let capture = open(&path)?;
            Ok((capture, path.metadata().map_or(0, |metadata| metadata.len())))
        }
    }
}
