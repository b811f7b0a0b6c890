//! Buffers that threads share.

use std::sync::Mutex;

/// Buffers that no thread is using. Last in, first out: the one used last is still in the caches.
#[derive(Default)]
pub(crate) struct BufferPool<T>(Mutex<Vec<T>>);

impl<T: Default> BufferPool<T> {
    pub(crate) fn take(&self) -> T {
        self.0.lock().ok().and_then(|mut free| free.pop()).unwrap_or_default()
    }

    pub(crate) fn put_back(&self, room: T) {
        if let Ok(mut free) = self.0.lock() {
            free.push(room);
        }
    }
}
