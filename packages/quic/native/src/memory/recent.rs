//! A cache of the most recently used values.

use std::collections::VecDeque;

/// Holds at most `most` values; the least recently used one is dropped first.
pub struct Recent<K, V> {
    most: usize,
    kept: VecDeque<(K, V)>,
}

impl<K: PartialEq, V: Clone> Recent<K, V> {
    pub fn new(most: usize) -> Self {
        Recent {
            most,
            kept: VecDeque::new(),
        }
    }

    /// Drops the value of `key` if `useless` says so.
    pub fn forget_if(&mut self, key: &K, useless: impl FnOnce(&V) -> bool) {
        if let Some(at) = self.kept.iter().position(|(known, _)| known == key)
            && useless(&self.kept[at].1)
        {
            self.kept.remove(at);
        }
    }

    /// Returns the value of `key`; `make` makes a missing one.
    pub fn get<E>(&mut self, key: K, make: impl FnOnce(&K) -> Result<V, E>) -> Result<V, E> {
        let at = self.kept.iter().position(|(known, _)| *known == key);
        let entry = match at.and_then(|at| self.kept.remove(at)) {
            Some(entry) => entry,
            None => {
                let value = make(&key)?;
                (key, value)
            }
        };
        let value = entry.1.clone();
        self.kept.push_back(entry);
        if self.kept.len() > self.most {
            self.kept.pop_front();
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_made_once_until_others_have_taken_their_place() {
        let mut recent = Recent::new(2);
        let mut made = Vec::new();
        for key in ['a', 'b', 'a', 'c', 'a', 'b'] {
            let value = recent.get(key, |key| {
                made.push(*key);
                Ok::<_, ()>(key.to_ascii_uppercase())
            });
            assert_eq!(value, Ok(key.to_ascii_uppercase()));
        }
        assert_eq!(made, ['a', 'b', 'c', 'b']);
        recent.forget_if(&'b', |value| *value == 'A');
        recent.forget_if(&'x', |_| true);
        assert_eq!(recent.get('b', |_| Err(6)), Ok('B'));
        recent.forget_if(&'b', |value| *value == 'B');
        assert_eq!(recent.get('b', |_| Err(6)), Err(6));
        assert_eq!(recent.get('d', |_| Err(7)), Err(7));
        assert_eq!(recent.get('a', |_| Err(8)), Ok('A'));
    }
}
