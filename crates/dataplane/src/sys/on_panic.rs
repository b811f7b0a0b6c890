//! What is done at a panic, before anything else is.
//!
//! *Idea.* A panic is told before the stack unwinds: that takes a tenth of a second where a backtrace is asked for
//! (`RUST_BACKTRACE`), and a second where standard error is not read. Traffic cannot wait for it. So what lets it pass is done by
//! the panic hook, in the thread that panics, which goes on without its real-time priority. It is done again as the stack unwinds,
//! in case that another hook was put in this one's place. Reading a program's debug information kept what passes by the kernel waiting for
//! up to 64 ms on two processors, and the next process too (10 without): so there is a backtrace for `RUST_BACKTRACE=full` alone.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Once;

use super::{stderr, thread};

thread_local! {
    static ACTION: RefCell<Option<Rc<dyn Fn()>>> = const { RefCell::new(None) };
}

/// Does it if this thread panics, as long as this is not dropped.
pub(crate) struct OnPanic(Rc<dyn Fn()>);

impl OnPanic {
    /// Instead of what this thread would have done so far.
    pub(crate) fn new(action: impl Fn() + 'static) -> OnPanic {
        install();
        let action: Rc<dyn Fn()> = Rc::new(action);
        ACTION.set(Some(Rc::clone(&action)));
        OnPanic(action)
    }
}

impl Drop for OnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
        let _ = ACTION.try_with(|action| action.replace(None));
    }
}

/// Before the hook that there is.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let action = ACTION.try_with(|action| action.try_borrow().ok()?.clone());
            let Ok(Some(action)) = action else { return tell(panic) };
            action();
            thread::ordinary();
            if std::env::var_os("RUST_BACKTRACE").is_some_and(|asked| asked == "full") && stderr::is_read() {
                return tell(panic);
            }
            let thread = std::thread::current();
            stderr::say(&format!("thread '{}' {panic}", thread.name().unwrap_or("pacer")));
        }));
    });
}

#[cfg(test)]
#[allow(clippy::panic, reason = "on purpose")]
mod tests {
    use super::OnPanic;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn it_is_done_before_a_panic_is_told_and_as_it_unwinds_and_not_otherwise() {
        let count = Arc::new(AtomicU32::new(0));
        let add = |count: &Arc<AtomicU32>| {
            let count = Arc::clone(count);
            OnPanic::new(move || {
                count.fetch_add(1, Ordering::Relaxed);
            })
        };
        drop(add(&count));
        assert!(std::thread::spawn(|| panic!("none of its business")).join().is_err());
        assert_eq!(count.load(Ordering::Relaxed), 0);
        let panics = {
            let count = Arc::clone(&count);
            move || {
                let _guard = add(&count);
                panic!("on purpose");
            }
        };
        assert!(std::thread::spawn(panics).join().is_err());
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }
}
