//! Settings read as the types code works with.
//!
//! Owns nothing but the step from a [`Value`] to a number, word or list. Defaults are the table's, which a test
//! holds to be valid, so that what is not there means that the setting says so: off, never, none.

use std::time::Duration;

use super::resolve::Resolved;
use super::table::{Key, Profile};
use super::value::{Address, Secret, Value};

/// The settings of one profile.
pub(super) struct Read<'a> {
    pub(super) resolved: &'a Resolved,
    pub(super) profile: Profile,
}

impl Read<'_> {
    fn value(&self, key: Key) -> Value {
        self.resolved.value_in(key, self.profile)
    }

    /// The word that was chosen.
    pub(super) fn word(&self, key: Key) -> &'static str {
        match self.value(key) {
            Value::Choice(word) => word,
            _ => "",
        }
    }

    pub(super) fn is_on(&self, key: Key) -> bool {
        self.word(key) == "on"
    }

    pub(super) fn text(&self, key: Key) -> Option<String> {
        match self.value(key) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn secret(&self, key: Key) -> Option<Secret> {
        match self.value(key) {
            Value::Secret(secret) => Some(secret),
            _ => None,
        }
    }

    pub(super) fn address(&self, key: Key) -> Option<Address> {
        match self.value(key) {
            Value::Address(address) => Some(address),
            _ => None,
        }
    }

    pub(super) fn list(&self, key: Key) -> Vec<String> {
        match self.value(key) {
            Value::List(words) => words,
            _ => Vec::new(),
        }
    }

    pub(super) fn time(&self, key: Key) -> Option<Duration> {
        match self.value(key) {
            Value::Seconds(time) => Some(time),
            _ => None,
        }
    }

    pub(super) fn bytes(&self, key: Key) -> Option<u64> {
        match self.value(key) {
            Value::Bytes(size) => Some(size),
            _ => None,
        }
    }

    /// Bytes of something held in memory.
    pub(super) fn size(&self, key: Key) -> Option<usize> {
        self.bytes(key).map(|size| usize::try_from(size).unwrap_or(usize::MAX))
    }

    /// How many; none where that was said instead of a number.
    pub(super) fn count(&self, key: Key) -> usize {
        match self.value(key) {
            Value::Count(count) => usize::try_from(count).unwrap_or(usize::MAX),
            _ => 0,
        }
    }
}
