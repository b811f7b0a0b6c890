//! Cold state: state that few of many connections have, or have for a short time. Until it is written it takes one pointer.
//!
//! *Idea.* A read before the first write reads a shared blank value. The first write allocates, and [`Sparse::clear`] frees. The
//! allocator reuses what was freed last, so that the few that are in use stay in the caches.

use std::ops::{Deref, DerefMut};

/// A type with a shared blank value, which is read where nothing was written.
pub trait Blank: Default + 'static {
    /// Equal to the default.
    fn blank() -> &'static Self;
}

/// A [`Blank`], or allocated state.
///
/// ```
/// use paceline_tcp::{Blank, Sparse};
///
/// #[derive(Default)]
/// struct Count(u32);
/// impl Blank for Count {
///     fn blank() -> &'static Self {
///         &Count(0)
///     }
/// }
///
/// let mut count = Sparse::<Count>::BLANK;
/// assert_eq!((count.0, count.is_blank()), (0, true));
/// count.0 = 5; // allocates
/// assert_eq!(count.get().map(|one| one.0), Some(5));
/// count.clear();
/// assert!(count.written().is_none());
/// ```
#[derive(Debug, Clone)]
pub struct Sparse<T>(Option<Box<T>>);

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Sparse(None)
    }
}

impl<T> Sparse<T> {
    /// Nothing was written.
    pub const BLANK: Sparse<T> = Sparse(None);

    /// Nothing was written.
    #[inline(always)]
    pub fn is_blank(&self) -> bool {
        self.0.is_none()
    }

    /// The allocated state, if there is one.
    #[inline(always)]
    pub fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// [`Sparse::get`], mutable.
    #[inline(always)]
    pub fn written(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// Makes it blank.
    #[inline]
    pub fn clear(&mut self) {
        self.0 = None;
    }
}

impl<T: Blank> Deref for Sparse<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or_else(|| T::blank())
    }
}

impl<T: Blank> DerefMut for Sparse<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Clone, Copy, PartialEq)]
    struct Count(u32);

    impl Blank for Count {
        fn blank() -> &'static Self {
            static BLANK: Count = Count(0);
            &BLANK
        }
    }

    #[test]
    fn only_a_write_makes_it() {
        let mut count: Sparse<Count> = Sparse::default();
        assert_eq!((*count, count.is_blank()), (Count(0), true));
        *count = Count(2);
        assert_eq!((*count, count.is_blank()), (Count(2), false));
        count.clear();
        assert_eq!((*count, count.is_blank()), (Count(0), true));
    }
}
