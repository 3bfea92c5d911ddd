//! Turns a program's bytes into text for people, without terminal commands.

pub(super) mod line;
pub(super) mod plain;
pub(super) mod sanitize;
