//! Words of a model, and how a model is run: `loom` goes through all orders in which two sides may see each other's stores.
//!
//! A model must be able to fail: what it proves with an ordering it must refute without it. So words can be weakened.
//!
//! One side is interrupted twice at most, which shows nearly all faults; three times with `PACELINE_FULL=1` (`make loom`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Word;

/// Accesses of the program under test that are made `Relaxed`, whatever it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weak {
    Nothing,
    Loads,
    Stores,
}

/// A word as the program sees it; the other side uses what is in it.
#[derive(Debug)]
pub(crate) struct Modelled<A> {
    pub(crate) inner: A,
    weak: Weak,
}

macro_rules! modelled {
    ($($atomic:ident: $number:ty),*) => {$(
        impl Modelled<loom::sync::atomic::$atomic> {
            pub(crate) fn new(value: $number, weak: Weak) -> Self {
                Modelled { inner: loom::sync::atomic::$atomic::new(value), weak }
            }
        }

        impl Word<$number> for Modelled<loom::sync::atomic::$atomic> {
            fn load(&self, order: Ordering) -> $number {
                self.inner.load(if self.weak == Weak::Loads { Ordering::Relaxed } else { order })
            }

            fn store(&self, value: $number, order: Ordering) {
                self.inner.store(value, if self.weak == Weak::Stores { Ordering::Relaxed } else { order });
            }
        }
    )*};
}

modelled!(AtomicU32: u32, AtomicU64: u64);

/// Whether what is said of a model is true in all orders. On a thread of its own, as loom does not outlive a failure.
pub(crate) fn holds(model: impl Fn() + Send + Sync + 'static) -> bool {
    let orders = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&orders);
    let run = move || {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(if std::env::var_os("PACELINE_FULL").is_some() { 3 } else { 2 });
        builder.check(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            model();
        });
    };
    let holds = std::thread::spawn(run).join().is_ok();
    let orders = orders.load(Ordering::Relaxed);
    eprintln!("{orders} orders, {}", if holds { "all right" } else { "the last one wrong" });
    assert!(!holds || orders > 5, "{orders} orders are none that prove anything");
    holds
}
