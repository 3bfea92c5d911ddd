//! Settings as the types that code works with.
//!
//! Owns only the step from a [`Value`] to a number, word or list. A test keeps the defaults of the table valid, so
//! an absent value means that the setting says so: off, never, none.

use std::time::Duration;

use super::resolve::ResolvedSettings;
use super::table::{Key, Profile};
use super::value::{Address, Secret, Value};

/// The settings of one profile.
pub(super) struct SettingsReader<'a> {
    pub(super) resolved: &'a ResolvedSettings,
    pub(super) profile: Profile,
}

impl SettingsReader<'_> {
    fn value(&self, key: Key) -> Value {
        self.resolved.value_in(key, self.profile)
    }

    /// The chosen word of a setting.
    pub(super) fn choice(&self, key: Key) -> &'static str {
        match self.value(key) {
            Value::Choice(word) => word,
            _ => "",
        }
    }

    pub(super) fn is_on(&self, key: Key) -> bool {
        self.choice(key) == "on"
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

    /// A size in bytes in memory.
    pub(super) fn size(&self, key: Key) -> Option<usize> {
        self.bytes(key).map(|size| usize::try_from(size).unwrap_or(usize::MAX))
    }

    /// A count; 0 if the setting says none.
    pub(super) fn count(&self, key: Key) -> usize {
        match self.value(key) {
            Value::Count(count) => usize::try_from(count).unwrap_or(usize::MAX),
            _ => 0,
        }
    }
}
