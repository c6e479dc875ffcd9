//! `Committed<T>`: the proof that a value is durable. Only this crate can make one, so an effect that asks for it can't run
//! before its barrier.

use std::ops::Deref;

/// A value that was read back from, or written to, the journal. There is no way to make one outside this crate:
///
/// ```compile_fail
/// let forged = mainstay_journal::Committed::new(1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed<T>(T);

impl<T> Committed<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(value)
    }

    /// The value.
    pub fn get(&self) -> &T {
        &self.0
    }

    /// The value without its proof.
    pub fn into_inner(self) -> T {
        self.0
    }

    /// What follows from committed state alone is committed too. A function pointer, not a closure: it captures nothing, so
    /// nothing that is not committed gets in.
    pub fn project<U>(&self, derive: fn(&T) -> U) -> Committed<U> {
        Committed(derive(&self.0))
    }

    /// Like [`project`](Self::project), and gives up the value.
    pub fn map<U>(self, derive: fn(T) -> U) -> Committed<U> {
        Committed(derive(self.0))
    }
}

impl<T> Committed<Option<T>> {
    /// The proof of what is there, if anything is.
    pub fn transpose(self) -> Option<Committed<T>> {
        self.0.map(Committed)
    }
}

impl<T: IntoIterator> Committed<T> {
    /// The proof of each.
    pub fn into_each(self) -> impl Iterator<Item = Committed<T::Item>> {
        self.0.into_iter().map(Committed)
    }
}

impl<T> Deref for Committed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_derived_from_committed_state_is_committed() {
        let pair = Committed::new((1, Some("a")));
        assert_eq!(pair.project(|pair| pair.0 + 1), Committed::new(2));
        assert_eq!(pair.map(|pair| pair.1).transpose(), Some(Committed::new("a")));
        let each: Vec<_> = Committed::new(vec![1, 2]).into_each().map(Committed::into_inner).collect();
        assert_eq!(each, [1, 2]);
    }
}
