//! The one place where a panic stops: every function and method that Python can call runs inside [`guard`].
//!
//! PyO3 would turn a panic into `PanicException`, which is no `Exception`, passes every handler and ends a sweep or a
//! Dask worker. Here it becomes a `RunError` that says where it happened. `tests/test_guard.py` holds every entry point to it.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use pyo3::prelude::*;

use crate::RunError;

thread_local! {
    /// How many guards this thread is inside of: `run` may call Python, which may call back.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Where the last panic under a guard of this thread happened, and what it said.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs the body of an entry point; a panic in it becomes a `RunError`.
pub(crate) fn guard<T>(body: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    note_where_panics_happen();
    DEPTH.set(DEPTH.get() + 1);
    let outcome = catch_unwind(AssertUnwindSafe(body));
    DEPTH.set(DEPTH.get() - 1);
    outcome.unwrap_or_else(|payload| {
        let what = LAST.take().unwrap_or_else(|| said(payload.as_ref()));
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        Err(RunError::new_err(format!("internal error, please report it: {what}")))
    })
}

/// Panics under a guard are kept for its error; all others are printed as before.
fn note_where_panics_happen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if DEPTH.try_with(Cell::get).unwrap_or(0) == 0 {
                return print(panic);
            }
            let place = panic.location().map(|place| format!(" ({}:{})", place.file(), place.line()));
            let what = format!("{}{}", said(panic.payload()), place.unwrap_or_default());
            let _ = LAST.try_with(|last| last.replace(Some(what)));
        }));
    });
}

/// The text of a panic.
fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a text")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::panic, clippy::unwrap_used, reason = "on purpose")]
    fn a_panic_becomes_an_error_that_says_where() {
        Python::initialize();
        let error = |body: fn() -> PyResult<()>| guard(body).unwrap_err().to_string();
        let said = error(|| panic!("on\npurpose"));
        assert!(
            said.starts_with(
                "RunError: internal error, please report it: on purpose (crates/py/src/guard.rs:"
            ),
            "{said}"
        );
        // one on another thread has no place, and what a thread outside says stays out
        let said = error(|| {
            std::thread::spawn(|| panic!("elsewhere"))
                .join()
                .map_err(|payload| std::panic::resume_unwind(payload))
        });
        assert_eq!(said, "RunError: internal error, please report it: elsewhere");
        let nested = error(|| guard(|| panic!("inner")));
        assert!(nested.contains("inner"), "{nested}");
        assert!(guard(|| Ok(())).is_ok());
    }
}
