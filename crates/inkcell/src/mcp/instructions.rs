//! What a model is told about this server before it calls anything.

use super::offer::filled;
use crate::exposure::Exposure;

pub(super) const TEXT: &str = include_str!("instructions.md");

/// The instructions, about the tools that are offered.
pub(super) fn of(exposure: &Exposure) -> String {
    filled(TEXT, exposure)
}
