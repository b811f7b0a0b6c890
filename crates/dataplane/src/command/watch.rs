//! The end of a process at a signal, also while it waits for its input: what is written in part does not stay.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};

use paceline_core::Span;

use super::{INTERRUPTED, partial, say};
use crate::sys::clock::{Poll, poll};
use crate::sys::signal::Held;

/// Looked at again so often, whatever comes.
const LOOK: Span = Span::from_millis(10_000);

/// A thread that waits for signals until this is dropped: then they do what they did before.
pub(super) struct Watch {
    /// Closed when it is over.
    over: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Of a program that is called `name` in what it says.
    pub(super) fn start(name: &str) -> std::io::Result<Self> {
        let (end, over) = std::io::pipe()?;
        let (begun, hear) = mpsc::channel();
        let name = name.to_owned();
        let watch = move || match Held::new() {
            Ok(held) => {
                let _ = begun.send(Ok(()));
                if is_told(&held, &end) {
                    let partial = partial();
                    partial.iter().for_each(|path| drop(std::fs::remove_file(path)));
                    say(&format!("{name}: interrupted"));
                    std::process::exit(INTERRUPTED);
                }
            }
            Err(error) => drop(begun.send(Err(error))),
        };
        let thread = Builder::new().name("pace-signals".to_owned()).spawn(watch)?;
        hear.recv().unwrap_or_else(|_| Err(std::io::Error::other("a thread has failed")))?;
        Ok(Watch { over: Some(over), thread: Some(thread) })
    }
}

/// Waits for a signal, or for the end of the pipe: whether a signal came first.
fn is_told(held: &Held, end: &PipeReader) -> bool {
    let waits = [(held.as_fd(), Poll::Readable), (end.as_fd(), Poll::Readable)];
    loop {
        match *poll(&waits, LOOK) {
            [_, true] => return false,
            [true, _] if held.next().is_some() => return true,
            _ => {}
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
